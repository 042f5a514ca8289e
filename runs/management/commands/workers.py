"""`manage.py workers`: the processes that perform steps; none outlives the others' parent."""

from typing import Any

from django_q.management.commands.qcluster import Command as Cluster

from hermes_workflow.leash import leash_forks


class Command(Cluster):
    """django-q2's cluster, with every process it forks tied to the one that forked it."""

    help = "Run the worker processes."

    def handle(self, *args: Any, **options: Any) -> None:
        """Until SIGTERM or Ctrl-C."""
        leash_forks()
        super().handle(*args, **options)
