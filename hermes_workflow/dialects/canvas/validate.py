"""The rulebook of a canvas: one pure function that says all that is wrong with its nodes and connections."""

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

from hermes_workflow.core.text import shorten
from hermes_workflow.dialects.canvas import fields, links
from hermes_workflow.dialects.canvas.issues import CODES, Issue, issue
from hermes_workflow.dialects.canvas.nodes import MAX_EDGES, MAX_NODES, Canvas, read
from hermes_workflow.dialects.defects import Defect, defect

Rule = Callable[[Canvas], Iterator[Issue]]
RULES: tuple[Rule, ...] = (
    fields.named,
    fields.unique,
    fields.filled_in,
    fields.api_modes,
    fields.extras,
    links.objects,
    links.ends,
    links.handles,
    links.once,
    links.connected,
    links.one_flow,
    links.acyclic,
)


def validate_canvas(nodes: Any, edges: Any) -> list[Issue]:
    """Every issue at once; an empty list means that the canvas may run. Never raises, never changes what it is given."""
    try:
        wrong = list(shape(nodes, edges))
        return wrong or _issues(read(nodes, [] if edges is None else edges))
    except Exception as error:
        # Only a Python object that misbehaves when it is looked at comes here, and what cannot be read may not run.
        return [issue("shape", f"must be plain JSON values; reading them failed with {shorten(type(error).__name__)}")]


def _issues(canvas: Canvas) -> list[Issue]:
    return list(chain.from_iterable(rule(canvas) for rule in RULES))


def shape(nodes: Any, edges: Any) -> Iterator[Issue]:
    """`no_nodes`, `shape`: 1-200 nodes in a list, at most 2000 connections in another; nothing else is looked at before this holds."""
    if not isinstance(nodes, list):
        yield issue("no_nodes", "nodes must be a list of at least one node", nodes)
    elif not nodes:
        yield issue("no_nodes", "at least one node is needed")
    elif len(nodes) > MAX_NODES:
        yield issue("shape", f"at most {MAX_NODES} nodes, got {len(nodes)}")
    if edges is not None and not isinstance(edges, list):
        yield issue("shape", "edges must be a list", edges)
    elif edges and len(edges) > MAX_EDGES:
        yield issue("shape", f"at most {MAX_EDGES} connections, got {len(edges)}")


def defects_of_canvas(document: Any) -> list[Defect]:
    """The issues of a document `{nodes, edges}`, in the one shape of all rulebooks."""
    if not isinstance(document, dict):
        return [defect("", "", "a canvas must be an object with nodes and edges", document)]
    return [as_defect(found) for found in validate_canvas(document.get("nodes"), document.get("edges"))]


def as_defect(found: Issue) -> Defect:
    """An issue as a defect; what is wrong with a connection names it in words."""
    edge = found.get("edge_id")
    if edge is not None:
        return {"node": "", "field": "edges", "msg": f"connection {shorten(edge)}: {found['msg']}"}
    return {"node": found.get("node_id", ""), "field": CODES[found["code"]], "msg": found["msg"]}


def rules_table() -> str:
    """The rules as Markdown, one row per code and rule in the order they are looked at."""
    rows = (tuple((rule.__doc__ or "").strip().split(": ", 1)) for rule in (shape, *RULES))
    return "\n".join(("| code | what holds |", "|---|---|", *(f"| {codes} | {holds[0].upper()}{holds[1:]} |" for codes, holds in rows), ""))
