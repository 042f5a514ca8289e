"""`manage.py workers`: the processes that perform steps; none outlives the others' parent."""

import signal
import sys
from typing import Any

from django_q.management.commands.qcluster import Command as Cluster
from django_q.signals import post_spawn

from hermes_workflow.leash import leash_forks


class Command(Cluster):
    """django-q2's cluster, with every process it forks tied to the one that forked it."""

    help = "Run the worker processes."

    def handle(self, *args: Any, **options: Any) -> None:
        """Until SIGTERM or Ctrl-C."""
        leash_forks()
        post_spawn.connect(end_in_order)
        super().handle(*args, **options)


def end_in_order(**_: Any) -> None:
    """A worker that is asked to end by itself lets go of the task queue and hands its steps back, instead of dying where it stands."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
