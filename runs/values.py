"""The output of one node by itself: what the run document only refers to when it is large."""

from typing import Any

from hermes_workflow.core.errors import NotFound
from hermes_workflow.core.outputs import has_output
from hermes_workflow.rights import Principal
from runs import engine, selectors


def output_value(*, principal: Principal, run_id: str, node_id: str) -> Any:
    """The value as it was given. Raises NotFound, also for a node that has none."""
    run = selectors.run_for(principal, run_id)
    with engine.glance(run.pk) as turn:
        if node_id not in turn.plan.step or not has_output(turn.history, node_id):
            raise NotFound("there is no output of such a node in this run")
        return turn.values([node_id])[node_id]
