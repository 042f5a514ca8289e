"""A defect: what a rulebook finds, as plain data that every door can show beside its node and field."""

from typing import Any, TypedDict

from hermes_workflow.core.text import shorten


class Defect(TypedDict):
    """`node` is an id, `#<index>` for a node without a usable id, or empty for the graph; `msg` says what is accepted and what was got."""

    node: str
    field: str
    msg: str


def defect(node: str, field: str, accepted: str, *got: Any) -> Defect:
    """A defect saying what is accepted and, if given, what was got instead (escaped, at most 80 characters)."""
    return {"node": node, "field": field, "msg": f"{accepted}, got {shorten(got[0])}" if got else accepted}
