"""A scratch database of the configured kind, in which the echo performer does every step."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.contrib.auth.models import User
from django.db import connection

from hermes_workflow.models import Profile
from hermes_workflow.rights import Principal
from runs import assignments, performers, warm
from runs.seams.base import Assignment, Performed, Say, unheard

ECHO = "echo"


class EchoPerformer:
    """Answers with the number of its try, in process: what is left is the engine."""

    keeps_transcript = False

    def perform(self, assignment: Assignment, *, cancelled: Callable[[], bool], say: Say = unheard) -> Performed:
        """Answer at once."""
        return Performed({"n": assignment.number}, structured=True)


@contextmanager
def scratch() -> Iterator[Principal]:
    """An empty database of the configured kind, with an admin and the echo profile; removed afterwards."""
    suffix = f"bench{os.getpid()}"
    connection.settings_dict["TEST"]["NAME"] = f"{connection.settings_dict['TEST']['NAME']}{suffix}"
    original = connection.settings_dict["NAME"]
    connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    assignments.PERFORMERS[ECHO] = EchoPerformer()
    try:
        warm.forget()
        performers.forget()
        Profile.objects.update_or_create(name="default", defaults={"performer": ECHO, "is_open": True})
        yield Principal(User.objects.create_superuser("bench"))
    finally:
        del assignments.PERFORMERS[ECHO]
        connection.creation.destroy_test_db(original, verbosity=0)
