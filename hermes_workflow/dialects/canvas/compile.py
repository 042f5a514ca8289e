"""From a canvas to the plan its runner follows: agent steps, several at once, each after all that lead to it."""

from collections.abc import Iterator
from typing import Any

from hermes_workflow.core.plan import Edge, Plan, Policy, Step
from hermes_workflow.core.text import shorten
from hermes_workflow.dialects.canvas.nodes import Canvas, Node, agent_of, read
from hermes_workflow.dialects.design.nodes import nfc
from hermes_workflow.dialects.order import ordered

AT_ONCE = 8


def build_canvas_plan(document: Any, profile: str = "") -> Plan:
    """The plan of `{nodes, edges}`, performed by `profile`. Assumes a valid canvas, yet raises ValueError for what no runner could
    follow: what is no list of objects, ids that are missing, repeated or unknown, a cycle."""
    canvas = _canvas(document)
    edges = tuple(_edges(canvas))
    order = ordered([node.name for node in canvas.nodes], ((edge.source, edge.target) for edge in edges))
    steps = tuple(_step(canvas.by_id[nfc(name)], profile) for name in order)
    return Plan("canvas", steps, edges, policy=Policy(concurrency=AT_ONCE))


def _canvas(document: Any) -> Canvas:
    nodes, edges = (document.get("nodes"), document.get("edges") or []) if isinstance(document, dict) else (None, [])
    if not isinstance(nodes, list) or not isinstance(edges, list):
        raise ValueError("a canvas is an object whose nodes and edges are lists")
    canvas = read(nodes, edges)
    if canvas.strays:
        raise ValueError(f"nodes and edges are objects, got {shorten(canvas.strays[0][2])}")
    for node in canvas.nodes:
        if not node.usable:
            raise ValueError(f"node {node.name} has no id: it must be text, got {shorten(node.raw.get('id'))}")
        if canvas.by_id[nfc(node.name)] is not node:
            raise ValueError(f"duplicate id {shorten(node.name)}")
    return canvas


def _edges(canvas: Canvas) -> Iterator[Edge]:
    """Each connection once, in the order of the document: it is the order of the results that a step is given."""
    seen: set[tuple[str, str]] = set()
    for link in canvas.links:
        if not link.source or not link.target:
            raise ValueError(f"connection {shorten(link.name)} does not lead from a node to a node")
        if (link.source, link.target) not in seen:
            yield Edge(canvas.by_id[link.source].name, canvas.by_id[link.target].name)
        seen.add((link.source, link.target))


def _step(node: Node, profile: str) -> Step:
    data = node.data
    spec = {
        "prompt": _text(data, "input"),
        "title": _text(data, "title"),
        "profile": profile,
        "agent": agent_of(data),
        "provider": _text(data, "provider"),
        "model": _text(data, "model"),
        "api_mode": _text(data, "apiMode"),
        "skills": _texts(data, "skills"),
        "images": _texts(data, "images"),
        "timeout_minutes": data.get("timeoutMinutes"),
    }
    return Step(node.name, "agent", spec)


def _text(data: dict[str, Any], key: str) -> str:
    value = data.get(key)
    return value if isinstance(value, str) else ""


def _texts(data: dict[str, Any], key: str) -> list[str]:
    value = data.get(key)
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
