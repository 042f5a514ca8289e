"""An issue: what the rulebook of a canvas finds, as plain data, with a code that a page can translate."""

from typing import Any, NotRequired, TypedDict

from hermes_workflow.core.text import shorten

CODES = {
    "no_nodes": "nodes",
    "title": "title",
    "provider": "provider",
    "model": "model",
    "api_mode": "apiMode",
    "input": "input",
    "edge_node": "edges",
    "edge_handle": "edges",
    "disconnected": "edges",
    "islands": "edges",
    "cycle": "edges",
    "shape": "data",
    "duplicate": "id",
}
"""Every code, and the field of a defect that it stands for."""


class Issue(TypedDict):
    """`node_id` or `edge_id` is the id, or `#<index>` where there is no usable one; neither is there for the canvas as a whole."""

    code: str
    msg: str
    node_id: NotRequired[str]
    edge_id: NotRequired[str]


def node_issue(code: str, name: str, accepted: str, *got: Any) -> Issue:
    """Something wrong with a node: what is accepted and, if given, what was got instead."""
    return {"code": code, "msg": _said(accepted, got), "node_id": name}


def edge_issue(code: str, name: str, accepted: str, *got: Any) -> Issue:
    """Something wrong with a connection."""
    return {"code": code, "msg": _said(accepted, got), "edge_id": name}


def issue(code: str, accepted: str, *got: Any) -> Issue:
    """Something wrong with the canvas as a whole."""
    return {"code": code, "msg": _said(accepted, got)}


def _said(accepted: str, got: tuple[Any, ...]) -> str:
    return f"{accepted}, got {shorten(got[0])}" if got else accepted
