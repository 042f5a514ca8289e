"""From a graph to the plan its runner follows: trigger and notes dropped, defaults filled in, steps in a stable order."""

from collections.abc import Callable, Iterable
from typing import Any

from hermes_workflow.core.expressions import parse
from hermes_workflow.core.plan import Edge, Plan, Policy, Step
from hermes_workflow.core.text import shorten
from hermes_workflow.dialects.design.nodes import DEFAULT_OPTIONS, KINDS, STEPS, Node, nfc
from hermes_workflow.dialects.order import ordered

Named = dict[str, Node]


def build_run_plan(graph: Any) -> Plan:
    """The plan of `graph`. Assumes a valid graph, yet raises ValueError for what no runner could follow: ids that are missing,
    repeated or unknown, unknown kinds, a second trigger, a condition that cannot be read, a cycle."""
    nodes = _nodes(graph)
    named = _by_id(nodes)
    trigger = next((node["id"] for node in named.values() if node["type"] == "trigger"), "")
    steps = [node for node in nodes if node["type"] in STEPS]
    edges = tuple(edge for node in steps for edge in _edges(node, named))
    order = ordered([node["id"] for node in steps], ((edge.source, edge.target) for edge in edges if edge.source != trigger))
    place = {node["id"]: node for node in steps}
    return Plan("design", tuple(_step(place[id_], named) for id_ in order), edges, trigger, Policy(concurrency=1))


def _nodes(graph: Any) -> list[Node]:
    nodes = graph.get("nodes") if isinstance(graph, dict) else None
    if not isinstance(nodes, list) or not all(isinstance(node, dict) for node in nodes):
        raise ValueError("a design is an object whose nodes is a list of objects")
    for node in nodes:
        if not isinstance(node.get("type"), str) or node["type"] not in KINDS:
            raise ValueError(f"unknown kind {shorten(node.get('type'))}: use one of {', '.join(KINDS)}")
    if sum(node["type"] == "trigger" for node in nodes) > 1:
        raise ValueError("a design has one trigger")
    return nodes


def _by_id(nodes: list[Node]) -> Named:
    named: Named = {}
    for index, node in enumerate(nodes):
        id_ = node.get("id")
        if not isinstance(id_, str) or not id_:
            if node["type"] == "note":
                continue
            raise ValueError(f"node {index} has no id: it must be text, got {shorten(id_)}")
        if nfc(id_) in named:
            raise ValueError(f"duplicate id {shorten(id_)}")
        named[nfc(id_)] = node
    return named


def _edges(node: Node, named: Named) -> Iterable[Edge]:
    after = node.get("after")
    if after is None:
        return
    if not isinstance(after, list) or not all(isinstance(item, str) for item in after):
        raise ValueError(f"after of {shorten(node['id'])} must be a list of ids")
    for item in dict.fromkeys(map(nfc, after)):
        parent = named.get(item)
        if parent is None:
            raise ValueError(f"{shorten(node['id'])} comes after {shorten(item)}, and there is no such node")
        if parent["type"] != "note":
            yield Edge(parent["id"], node["id"])


def _step(node: Node, named: Named) -> Step:
    return Step(node["id"], node["type"], _SPECS[node["type"]](node, named), _value(node, "join", "all"))


def _value(node: Node, key: str, default: Any) -> Any:
    """null means absent."""
    value = node.get(key)
    return default if value is None else value


def _filled(defaults: dict[str, Any]) -> Callable[[Node, Named], dict[str, Any]]:
    def spec(node: Node, named: Named) -> dict[str, Any]:
        return {key: _value(node, key, default) for key, default in defaults.items()}

    return spec


def _approval(node: Node, named: Named) -> dict[str, Any]:
    lists = {"options": DEFAULT_OPTIONS, "assignees": (), "stop_on": ()}
    return _gate(node, named) | {key: _list(node, key, default) for key, default in lists.items()}


def _list(node: Node, key: str, default: tuple[str, ...]) -> list[Any]:
    value = _value(node, key, list(default))
    if not isinstance(value, list):
        raise ValueError(f"{key} of {shorten(node['id'])} must be a list, got {shorten(value)}")
    return list(value)


def _condition(node: Node, named: Named) -> dict[str, Any]:
    text = node.get("expression")
    reads = parse(text).node
    return {"expression": text, "reads": named[reads]["id"] if reads in named else reads}


_gate = _filled({"question": "", "timeout_minutes": None, "on_timeout": "reject", "escalate_to": "", "quorum": 1, "relay": True})
_SPECS: dict[str, Callable[[Node, Named], dict[str, Any]]] = {
    "agent": _filled({"prompt": "", "profile": "", "model": "", "retries": 0, "timeout_minutes": None, "schema": None}),
    "condition": _condition,
    "approval": _approval,
    "output": _filled({"deliver": "", "target": ""}),
}
