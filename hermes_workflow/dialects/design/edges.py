"""Rules about how nodes hang together: edges, cycles, and what a condition may read."""

from collections.abc import Iterator
from typing import Any

from hermes_workflow.core.expressions import Expression, parse
from hermes_workflow.core.text import shorten
from hermes_workflow.dialects.defects import Defect, defect
from hermes_workflow.dialects.design.nodes import STEPS, Above, Graph, nfc
from hermes_workflow.dialects.design.slips import Slips, meant, slips


def edges(graph: Graph) -> Iterator[Defect]:
    """A step's after is a list of ids, never its own and never a note's; a trigger has no parents; a note's after is ignored."""
    for name, node in graph.of["trigger"]:
        if node.get("after") not in (None, []):
            yield defect(name, "after", "must be absent: a trigger comes after nothing", node["after"])
    known = slips(graph) if graph.late else {}
    for name, node in graph.late:
        after = node.get("after")
        if isinstance(after, list):
            yield from (defect(name, "after", fault) for item in after if (fault := _fault(graph, known, name, item)))
        elif after is not None:
            yield defect(name, "after", "must be a list of ids", after)


def _fault(graph: Graph, known: Slips, name: str, item: Any) -> str:
    if not isinstance(item, str):
        return f"must be a list of ids, got {shorten(item)} in it"
    parent = graph.by_id.get(nfc(item))
    if parent is None:
        return f"must name nodes of this graph: there is no {shorten(item)}{meant(item, known)}"
    if parent[0] == name:
        return "must not name the node itself"
    return f"must not name a note: {shorten(item)} is one" if parent[1].get("type") == "note" else ""


def acyclic(graph: Graph) -> Iterator[Defect]:
    """Following the edges never leads back; each cycle is shown as its path in run order."""
    if not graph.late:
        return
    settled = set(graph.settled)
    left = _unordered(graph.above, settled)
    while left:
        cycle = _a_cycle(left)
        names = [graph.by_id[key][0] for key in (*cycle, cycle[0])]
        yield defect(names[0], "after", f"must not lead back, got a cycle: {' -> '.join(shorten(name)[1:-1] for name in names)}")
        settled.update(cycle)
        left = _unordered(left, settled)


def _unordered(above: Above, settled: set[str]) -> Above:
    """What is left once every node whose parents are all settled is settled too: the cycles and what is below them.

    Sweeps go forth and back, as most documents are written in one of these orders."""
    left = [key for key in above if key not in settled]
    while left:
        for key in left:
            if settled.issuperset(above[key]):
                settled.add(key)
        rest = [key for key in reversed(left) if key not in settled]
        if len(rest) == len(left):
            break
        left = rest
    return {key: above[key] for key in above if key not in settled} if left else {}


def _a_cycle(left: Above) -> list[str]:
    """Walk up from the first node until one comes again; the lowest of the cycle in the document leads."""
    order = {key: at for at, key in enumerate(left)}
    walked: list[str] = []
    key = next(iter(left))
    while key not in walked:
        walked.append(key)
        key = next(parent for parent in left[key] if parent in left)
    cycle = walked[walked.index(key) :][::-1]
    lowest = cycle.index(min(cycle, key=order.__getitem__))
    return cycle[lowest:] + cycle[:lowest]


def conditions(graph: Graph) -> Iterator[Defect]:
    """A condition is `out.<node>.<path> <op> <literal>` and reads the trigger or a node upstream; an id that holds a dot cannot be read."""
    above = graph.above
    for name, node in graph.of["condition"]:
        text: Any = node.get("expression")
        try:
            expression = parse(text)
        except ValueError as error:
            if isinstance(text, str) and text.strip():  # else another rule says that it is required
                yield defect(name, "expression", str(error))
            continue
        if expression.node not in above.get(name, ()) and (fault := _unreadable(graph, name, expression)):
            yield defect(name, "expression", f"column {text.index('out.') + 5}: {fault}")


def _unreadable(graph: Graph, name: str, expression: Expression) -> str:
    found, shown = graph.by_id.get(expression.node), shorten(expression.node)
    if found is None:
        whole = ".".join((expression.node, *expression.path)) + "."
        dotted = next((key for key in graph.by_id if "." in key and whole.startswith(key + ".")), "")
        if dotted:
            return f"an id that holds a dot cannot be read: rename {shorten(dotted)}"
        return f"there is no node {shown}{meant(expression.node, slips(graph))}"
    if found[0] == name:
        return "a condition cannot read itself"
    kind = str(found[1].get("type"))
    if kind == "note":
        return f"{shown} is a note and has no output"
    if kind in STEPS and not _upstream(graph.above, nfc(name), expression.node):
        return f"a condition reads the trigger or a node upstream, and {shown} is not upstream of this one"
    return ""


def _upstream(above: Above, below: str, wanted: str) -> bool:
    reached = list(above.get(below, ()))
    for key in reached:  # grows while it is read
        reached.extend(parent for parent in above.get(key, ()) if parent not in reached)
    return wanted in reached
