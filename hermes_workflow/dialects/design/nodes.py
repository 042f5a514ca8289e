"""What a design is made of: its kinds, its limits, and the nodes of a graph grouped once for every rule."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from unicodedata import normalize

from hermes_workflow.core.text import hides_something

KINDS = ("trigger", "agent", "condition", "approval", "output", "note")
STEPS = frozenset({"agent", "condition", "approval", "output"})
MAX_NODES = 50
MAX_ID = 128
MAX_LINE = 200
MAX_RETRIES = 3
MAX_MINUTES = 4320
DEFAULT_OPTIONS = ("approve", "reject")
SLUG = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}\Z")

Node = dict[str, Any]
Named = tuple[str, Node]


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes with the name a defect calls them by: all of them, by kind, the steps, and the first node of each id (in NFC)."""

    all: list[Named]
    of: Mapping[str, list[Named]]
    steps: list[Named]
    by_id: dict[str, Named]


def group(nodes: list[Any]) -> Graph:
    """Group the nodes that are objects; the rest is left to the rule about them."""
    graph = Graph([], {kind: [] for kind in KINDS}, [], {})
    for index, node in enumerate(nodes):
        if not isinstance(node, dict):
            continue
        id_ = node.get("id")
        usable = usable_id(id_)
        named = (id_ if usable else f"#{index}", node)
        graph.all.append(named)
        kind = node.get("type")
        if isinstance(kind, str) and kind in graph.of:
            graph.of[kind].append(named)
            if kind in STEPS:
                graph.steps.append(named)
        if usable:
            graph.by_id.setdefault(nfc(id_), named)
    return graph


def usable_id(value: Any) -> bool:
    """Text of 1-128 characters, not blank, no surrounding space, nothing invisible in it."""
    return isinstance(value, str) and 0 < len(value) <= MAX_ID and value == value.strip() and not hides_something(value)


def nfc(text: str) -> str:
    """Ids that look the same are the same."""
    return text if text.isascii() else normalize("NFC", text)


def whole_number(value: Any, low: int, high: int) -> bool:
    """A real integer in range: no bool, 2.5, 2.0 or "2"."""
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def parents(node: Node) -> list[str]:
    """The distinct ids in `after`, in order; what is not a list of strings counts as absent."""
    after = node.get("after")
    if not isinstance(after, list):
        return []
    return list(dict.fromkeys(nfc(item) for item in after if isinstance(item, str)))
