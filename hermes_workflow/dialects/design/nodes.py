"""What a design is made of: its kinds, its limits, and the nodes of a graph grouped once for every rule."""

from dataclasses import dataclass
from typing import Any
from unicodedata import normalize

from hermes_workflow.core.text import hides_something

KINDS = ("trigger", "agent", "condition", "approval", "output", "note")
STEPS = frozenset({"agent", "condition", "approval", "output"})
MAX_NODES = 50
MAX_ID = 128
DEFAULT_OPTIONS = ("approve", "reject")

Node = dict[str, Any]
Named = tuple[str, Node]
Above = dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes with the name a defect calls them by. Ids are compared in NFC; of nodes that share an id the first counts.

    `above` maps the id of a step to its parents; where nothing is wrong it is the document's own list, not to be changed.
    `settled` are the ids that come after settled ones only; a `late` step is in a cycle, below one, or has a fault in its `after`."""

    strays: list[tuple[str, Any]]
    all: list[Named]
    nameless: list[Named]
    by_id: dict[str, Named]
    of: dict[str, list[Named]]
    steps: list[Named]
    above: Above
    settled: set[str]
    late: list[Named]


def group(nodes: list[Any]) -> Graph:
    """Group nodes by what they are. A valid graph spends half its time here, so what can be asked of all at once is."""
    graph = Graph([], [], [], {}, {kind: [] for kind in KINDS}, [], {}, set(), [])
    _name(graph, nodes)
    of, steps = graph.of, graph.steps
    for named in graph.all:
        kind: Any = named[1].get("type")
        try:
            of[kind].append(named)
        except (KeyError, TypeError):  # unknown, or not even a key
            continue
        if kind in STEPS:
            steps.append(named)
    _settle(graph)
    if len(graph.above) < len(graph.steps):
        _link(graph)
    return graph


def _name(graph: Graph, nodes: list[Any]) -> None:
    ids: list[Any] = [node.get("id") for node in nodes if isinstance(node, dict)]
    if len(ids) == len(nodes) and _plain(ids):
        graph.all.extend(zip(ids, nodes, strict=True))
        graph.by_id.update(zip(reversed(ids), reversed(graph.all), strict=True))
        return
    for index, node in enumerate(nodes):
        if not isinstance(node, dict):
            graph.strays.append((f"#{index}", node))
            continue
        id_: Any = node.get("id")
        usable = usable_id(id_)
        named = (id_ if usable else f"#{index}", node)
        graph.all.append(named)
        if usable:
            graph.by_id.setdefault(nfc(id_), named)
        else:
            graph.nameless.append(named)


def _plain(ids: list[Any]) -> bool:
    """Whether all ids are usable, and so simple that it is seen at once."""
    try:
        text = "".join(ids)
    except TypeError:
        return False
    return text.isascii() and text.isprintable() and " " not in text and all(ids) and max(map(len, ids)) <= MAX_ID


def _settle(graph: Graph) -> None:
    """Settle every step whose parents are settled. Sweeps go forth and back, as most documents are written in one of these orders."""
    above, settled, by_id = graph.above, graph.settled, graph.by_id
    settled.update(named[0] for named in graph.of["trigger"] if by_id.get(named[0]) is named)
    rest = graph.steps
    if len(by_id) < len(graph.all) or not "".join(by_id).isascii():
        rest = [named for named in rest if by_id.get(named[0]) is named]
    covers = settled.issuperset
    while rest:
        late = []
        for named in rest:
            name, node = named
            after: Any = node.get("after")
            try:
                clean = isinstance(after, list) and covers(after)
            except TypeError:  # something in it cannot be a key
                clean = False
            if clean:
                above[name] = after
                settled.add(name)
            else:
                late.append(named)
        if len(late) == len(rest):
            break
        rest = late[::-1]


def _link(graph: Graph) -> None:
    """Find the late steps, and give those that own their id the steps and triggers they name, themselves left out."""
    graph.late.extend(named for named in graph.steps if graph.by_id.get(named[0]) is not named or named[0] not in graph.settled)
    owners = {nfc(named[0]): named[1] for named in graph.late if graph.by_id.get(nfc(named[0])) is named}
    known = graph.settled | owners.keys()
    for key, node in owners.items():
        after = node.get("after")
        items = (nfc(item) for item in after if isinstance(item, str)) if isinstance(after, list) else ()
        graph.above[key] = [item for item in items if item in known and item != key]


def usable_id(value: Any) -> bool:
    """Text of 1-128 characters, not blank, no surrounding space, nothing invisible in it."""
    if not isinstance(value, str) or not 0 < len(value) <= MAX_ID:
        return False
    if value.isascii():
        return value.isprintable() and value[0] != " " != value[-1]
    return value == value.strip() and not hides_something(value)


def nfc(text: str) -> str:
    """Ids that look the same are the same."""
    return text if text.isascii() else normalize("NFC", text)
