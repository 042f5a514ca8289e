"""Ids of runs as addresses hold them: what can be no id is not found, like what one may not see."""

import re

from hermes_workflow.core.errors import NotFound
from hermes_workflow.rights import Asking
from runs.models import Run
from runs.selectors import run_for
from runs.services import honour_deadline

RUN_ID = re.compile(r"[a-f0-9]{6,32}\Z")


def run_at(asking: Asking, run_id: str) -> Run:
    """The run of an address, its deadline honoured. Raises NotFound."""
    if not RUN_ID.match(run_id):
        raise NotFound("there is no such run")
    run = run_for(asking.principal, run_id)
    honour_deadline(run)
    return run
