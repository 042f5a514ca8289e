"""Going back to a step of a run that has ended: which steps are done again, and when that is refused."""

from hermes_workflow.core.errors import Conflict, Malformed, NotFound
from hermes_workflow.core.history import History
from hermes_workflow.core.reach import below
from hermes_workflow.core.states import FAILED, PASSED


def again_from(history: History, node: str, *, keep: bool) -> list[str]:
    """The steps to do again from `node` on, in plan order; with `keep` it keeps its output and only what is below is done again.

    Whatever else failed is tried again as well, so that a run that is done has no failed step. Raises NotFound (no such step),
    Conflict (the run is at work, `node` has no output to keep, or what it needs from elsewhere did not pass), Malformed (nothing is
    below).
    """
    history.require_known()
    if node not in history.plan.step:
        raise NotFound(f"there is no step {node} in this run")
    if not history.ended:
        raise Conflict("the run is at work; stop it first, or wait until it has ended")
    region = below(history.plan, [node])
    if keep:
        region -= {node}
        if history.outcome(node) != PASSED:
            raise Conflict(f"{node} has no output that could be kept")
        if not region:
            raise Malformed(f"nothing comes after {node}")
    _require_sources(history, region)
    return [step.id for step in history.plan.steps if step.id in region or history.outcome(step.id) == FAILED]


def _require_sources(history: History, region: set[str]) -> None:
    for key in (step.id for step in history.plan.steps if step.id in region):
        for edge in history.plan.parents[key]:
            if edge.source not in region and not edge.loop and not history.settled(edge.source):
                raise Conflict(f"{key} needs {edge.source}, which has not passed")
            if edge.source not in region and history.outcome(edge.source) == FAILED:
                raise Conflict(f"{key} needs {edge.source}, which has failed")
