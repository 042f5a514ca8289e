"""Going back to a step of a run that has ended: it, or only what is below it, is done again in the same run."""

from hermes_workflow.core import events as e
from hermes_workflow.core.events import Event
from hermes_workflow.core.reentry import again_from
from hermes_workflow.rights import Principal
from runs import engine, selectors, sending
from runs.engine import Turn


def rerun_from_node(*, principal: Principal, run_id: str, node_id: str, preserve_start_node: bool = False, confirm: bool = False) -> None:
    """Do `node_id` and all below it again; with `preserve_start_node` it keeps its output. Attempts and transcripts so far stay.

    `confirm` is as for a start. Raises Forbidden, NotFound, Conflict, Malformed (see `core.reentry`), ConfirmationRequired.
    """
    selectors.run_for(principal, run_id)
    principal.require("operate")

    def take_in(turn: Turn) -> None:
        keys = again_from(turn.history, node_id, keep=preserve_start_node)
        sending.require(principal, turn.plan, confirmed=confirm)
        turn.record(Event(e.RUN_REOPENED, "", {"why": "rerun", "by": principal.name, "keys": keys, "from": node_id}))

    engine.turn(run_id, take_in)
