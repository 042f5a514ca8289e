"""What each step gave, told apart by whose words they are: an agent's for its box, the server's facts for a plain one."""

from collections.abc import Iterator, Mapping
from typing import Any

from hermes_workflow.core.plan import Plan
from hermes_workflow.markdown import render_value


def results_of(plan: Plan, outputs: Mapping[str, Any]) -> list[dict[str, Any]]:
    """`{node_id, kind, agent, parts: [{node_id, agent, html}]}` per output, or with `href` where one is too large for a page."""
    return [_result(plan, key, value) for key, value in outputs.items()]


def _result(plan: Plan, key: str, value: Any) -> dict[str, Any]:
    kind = kind_of(plan, key)
    found = {"node_id": key, "kind": kind, "agent": kind == "agent"}
    if isinstance(value, dict) and value.keys() == {"$ref"}:
        return found | {"href": value["$ref"]}
    return found | {"parts": list(_parts(plan, key, value))}


def _parts(plan: Plan, key: str, value: Any) -> Iterator[dict[str, Any]]:
    """The value itself; of an output node, what it holds of the steps above it."""
    if kind_of(plan, key) == "output" and isinstance(value, dict):
        for parent, inner in value.items():
            yield from _parts(plan, parent, inner)
    else:
        yield {"node_id": key, "agent": kind_of(plan, key) == "agent", "html": render_value(value)}


def kind_of(plan: Plan, key: str) -> str:
    """The kind of a node; what is no step is the trigger."""
    step = plan.step.get(key)
    return step.kind if step else "trigger"
