"""What a canvas is made of: its agents, its limits, and nodes and connections read once for every rule."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from hermes_workflow.dialects.design.nodes import nfc, usable_id

AGENTS = ("hermes", "claude-code", "codex")
API_MODES = ("chat_completions", "codex_responses", "anthropic_messages")
OUTPUT, INPUT = "output", "input"
MAX_NODES = 200
MAX_EDGES = 2000
MAX_ITEMS = 50
MAX_MINUTES = 4320

Data = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Node:
    """An agent node. `name` is its id, or `#<index>` without a usable one; `data` is what the person filled in."""

    name: str
    raw: Data
    data: Data
    usable: bool


@dataclass(frozen=True, slots=True)
class Link:
    """A connection. `source` and `target` are ids of nodes of this canvas, normalised, or empty; `drawn` says that it goes from output
    to input."""

    name: str
    raw: Data
    source: str
    target: str
    drawn: bool


@dataclass(frozen=True, slots=True)
class Canvas:
    """Nodes and connections; of nodes that share an id the first counts. What is no object is a stray."""

    nodes: list[Node] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    by_id: dict[str, Node] = field(default_factory=dict)
    strays: list[tuple[str, str, Any]] = field(default_factory=list)

    @property
    def joined(self) -> Iterator[Link]:
        """Connections between two different nodes, whatever their handles."""
        return (link for link in self.links if link.source and link.target and link.source != link.target)

    @property
    def parents(self) -> dict[str, list[str]]:
        """Each node's sources by connections from output to input."""
        found: dict[str, list[str]] = {key: [] for key in self.by_id}
        for link in self.links:
            if link.source and link.target and link.drawn:
                found[link.target].append(link.source)
        return found


def read(nodes: list[Any], edges: list[Any]) -> Canvas:
    """The canvas of two lists, whatever is in them."""
    canvas = Canvas()
    for index, raw in enumerate(nodes):
        if not isinstance(raw, dict):
            canvas.strays.append(("node_id", f"#{index}", raw))
            continue
        id_, data = raw.get("id"), raw.get("data")
        usable = usable_id(id_)
        node = Node(str(id_) if usable else f"#{index}", raw, data if isinstance(data, dict) else {}, usable)
        canvas.nodes.append(node)
        if usable:
            canvas.by_id.setdefault(nfc(node.name), node)
    for index, raw in enumerate(edges):
        if not isinstance(raw, dict):
            canvas.strays.append(("edge_id", f"#{index}", raw))
            continue
        canvas.links.append(_link(canvas, index, raw))
    return canvas


def _link(canvas: Canvas, index: int, raw: Data) -> Link:
    id_ = raw.get("id")
    drawn = _handle(raw, "sourceHandle", OUTPUT) == OUTPUT and _handle(raw, "targetHandle", INPUT) == INPUT
    name = str(id_) if usable_id(id_) else f"#{index}"
    return Link(name, raw, _end(canvas, raw.get("source")), _end(canvas, raw.get("target")), drawn)


def _end(canvas: Canvas, id_: Any) -> str:
    return nfc(id_) if isinstance(id_, str) and nfc(id_) in canvas.by_id else ""


def _handle(raw: Data, key: str, default: str) -> Any:
    """A connection that was stored without handles has the only two there are."""
    value = raw.get(key)
    return default if value is None else value


def agent_of(data: Data) -> str:
    """Who the node asks for; a name that is not known stands for hermes."""
    agent = data.get("agent")
    return agent if isinstance(agent, str) and agent in AGENTS else AGENTS[0]
