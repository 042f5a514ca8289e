"""Where the nodes and edges of a workflow are drawn: layers from left to right, few crossings, straight chains; pure."""

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any
from unicodedata import east_asian_width

NODE_WIDTH, NODE_HEIGHT = 136.0, 46.0
LAYER_GAP, ROW_GAP, BEND_HEIGHT, MARGIN = 36.0, 14.0, 4.0, 4.0
ARROW, BACK_DEPTH = 7.0, 24.0
NAME_ROOM, SUB_ROOM = 8.3, 9.8
NARROW, WIDE = frozenset("iljtfrI.,:;|!'()[] "), frozenset("mwMWOQ@%")
SWEEPS = 6
MOST_BENDS = 4000

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class NodeBox:
    """A node's rectangle, in pixels from the top left corner."""

    id: str
    x: float
    y: float
    w: float = NODE_WIDTH
    h: float = NODE_HEIGHT


@dataclass(frozen=True, slots=True)
class EdgePath:
    """An edge as the `d` of an SVG path; it stops where its arrow head begins."""

    source: str
    target: str
    d: str


@dataclass(frozen=True, slots=True)
class Layout:
    """A drawing: its size, its boxes in the order of the nodes given, its paths in the order of the edges given."""

    width: float
    height: float
    nodes: tuple[NodeBox, ...]
    edges: tuple[EdgePath, ...]


@dataclass(slots=True, eq=False)
class _Slot:
    """A place in a layer: a node, or a bend of an edge that passes through; `y` is its middle."""

    layer: int
    height: float
    y: float = 0.0
    left: list["_Slot"] = field(default_factory=list)
    right: list["_Slot"] = field(default_factory=list)

    @property
    def x(self) -> float:
        """The left edge of its layer."""
        return MARGIN + self.layer * (NODE_WIDTH + LAYER_GAP)


def layout(nodes: Sequence[str], edges: Sequence[Pair]) -> Layout:
    """Lay out any graph; edges of unknown nodes and of a node to itself are left out, edges that close a cycle run back."""
    known = dict.fromkeys(nodes)
    pairs = [(source, target) for source, target in dict.fromkeys(edges) if source in known and target in known and source != target]
    forward = _without_cycles(known, pairs)
    depth = _depths(known, forward)
    slots = {node: _Slot(layer, NODE_HEIGHT) for node, layer in depth.items()}
    chains = _connect(slots, forward)
    places = [*slots.values(), *(slot for chain in chains.values() for slot in chain[1:-1])]
    _arrange(places)
    bottom = max((slot.y + slot.height / 2 for slot in places), default=NODE_HEIGHT / 2) + MARGIN
    paths = [_path(chains[pair]) if pair in chains else _way_back(slots[pair[0]], slots[pair[1]], bottom) for pair in pairs]
    return Layout(
        width=max((slot.x for slot in slots.values()), default=0.0) + NODE_WIDTH + MARGIN,
        height=bottom + (BACK_DEPTH if len(chains) < len(pairs) else 0),
        nodes=tuple(NodeBox(node, slot.x, slot.y - NODE_HEIGHT / 2) for node, slot in slots.items()),
        edges=tuple(EdgePath(*pair, d) for pair, d in zip(pairs, paths, strict=True)),
    )


def _without_cycles(nodes: Iterable[str], pairs: Sequence[Pair]) -> list[Pair]:
    """The edges that are left when each edge that closes a cycle is taken out, depth first, without recursion."""
    children: dict[str, list[str]] = {node: [] for node in nodes}
    for source, target in pairs:
        children[source].append(target)
    closing: set[Pair] = set()
    colour: dict[str, int] = {}
    for root in children:
        stack = [(root, iter(children[root]))] if root not in colour else []
        colour.setdefault(root, 1)
        while stack:
            node, rest = stack[-1]
            child = next(rest, None)
            if child is None:
                colour[node] = 2
                stack.pop()
            elif colour.get(child) == 1:
                closing.add((node, child))
            elif child not in colour:
                colour[child] = 1
                stack.append((child, iter(children[child])))
    return [pair for pair in pairs if pair not in closing]


def _depths(nodes: Iterable[str], pairs: Sequence[Pair]) -> dict[str, int]:
    """The longest path from any start to each node."""
    depth = dict.fromkeys(nodes, 0)
    missing = dict.fromkeys(depth, 0)
    children: dict[str, list[str]] = {node: [] for node in depth}
    for source, target in pairs:
        missing[target] += 1
        children[source].append(target)
    ready = deque(node for node, count in missing.items() if not count)
    while ready:
        node = ready.popleft()
        for target in children[node]:
            depth[target] = max(depth[target], depth[node] + 1)
            missing[target] -= 1
            if not missing[target]:
                ready.append(target)
    return depth


def _connect(slots: Mapping[str, _Slot], pairs: Sequence[Pair]) -> dict[Pair, list[_Slot]]:
    """Each edge as a chain from source to target with a bend in every layer it passes; a vast graph gets no bends."""
    passed = sum(slots[target].layer - slots[source].layer - 1 for source, target in pairs)
    chains: dict[Pair, list[_Slot]] = {}
    for source, target in pairs:
        inner = range(slots[source].layer + 1, slots[target].layer) if passed <= MOST_BENDS else range(0)
        chain = [slots[source], *(_Slot(layer, BEND_HEIGHT) for layer in inner), slots[target]]
        for one, other in pairwise(chain):
            one.right.append(other)
            other.left.append(one)
        chains[source, target] = chain
    return chains


def _arrange(slots: Iterable[_Slot]) -> None:
    """Give every slot its `y`: sweep both ways, ordering by the neighbours' middle, then pulling towards it."""
    found: dict[int, list[_Slot]] = defaultdict(list)
    for slot in slots:
        found[slot.layer].append(slot)
    layers = [found[layer] for layer in sorted(found)]
    for layer in layers:
        _spread(layer, [0.0] * len(layer))
    for _ in range(SWEEPS):
        _sweep(layers, "left", order=True)
        _sweep(layers[::-1], "right", order=True)
    for _ in range(SWEEPS):
        _sweep(layers[::-1], "right", order=False)
        _sweep(layers, "left", order=False)
    top = min((slot.y - slot.height / 2 for layer in layers for slot in layer), default=0.0)
    for slot in (slot for layer in layers for slot in layer):
        slot.y = round(slot.y - top + MARGIN, 1)


def _sweep(layers: Sequence[list[_Slot]], side: str, *, order: bool) -> None:
    for layer in layers:
        wanted = {id(slot): _middle(getattr(slot, side), slot.y) for slot in layer}
        if order:
            layer.sort(key=lambda slot: wanted[id(slot)])
        _spread(layer, [wanted[id(slot)] for slot in layer])


def _middle(neighbours: Sequence[_Slot], fallback: float) -> float:
    return sum(slot.y for slot in neighbours) / len(neighbours) if neighbours else fallback


def _spread(layer: Sequence[_Slot], wanted: Sequence[float]) -> None:
    """Put a layer's slots, in order and without overlap, as near as possible (least squares) to where they want to be."""
    offsets = [0.0]
    for one, other in pairwise(layer):
        offsets.append(offsets[-1] + (one.height + other.height) / 2 + ROW_GAP)
    blocks: list[tuple[float, int]] = []
    for want, offset in zip(wanted, offsets, strict=False):
        mean, count = want - offset, 1
        while blocks and blocks[-1][0] > mean:
            before, size = blocks.pop()
            mean, count = (mean * count + before * size) / (count + size), count + size
        blocks.append((mean, count))
    places = (mean for mean, count in blocks for _ in range(count))
    for slot, place, offset in zip(layer, places, offsets, strict=False):
        slot.y = place + offset


def _path(chain: Sequence[_Slot]) -> str:
    """A smooth line from the source's right side through the bends to the arrow at the target's left side."""
    x, y = chain[0].x + NODE_WIDTH, chain[0].y
    parts = [f"M{x:g} {y:g}"]
    for slot in chain[1:]:
        end = slot.x - (ARROW if slot is chain[-1] else 0)
        half = (x + end) / 2
        parts.append(f"H{end:g}" if y == slot.y else f"C{half:g} {y:g} {half:g} {slot.y:g} {end:g} {slot.y:g}")
        x, y = end, slot.y
        if slot is not chain[-1]:
            x += NODE_WIDTH
            parts.append(f"H{x:g}")
    return "".join(parts)


def _way_back(source: _Slot, target: _Slot, bottom: float) -> str:
    """A line under everything, from the source's foot to the arrow at the target's foot."""
    start, end = source.x + NODE_WIDTH * 0.6, target.x + NODE_WIDTH * 0.4
    foot, under = NODE_HEIGHT / 2, bottom + BACK_DEPTH / 2
    return f"M{start:g} {source.y + foot:g}V{under:g}H{end:g}V{target.y + foot + ARROW:g}"


def fitted(text: str, room: float) -> str:
    """`text`, or its beginning and an ellipsis, in at most about `room` em: SVG cuts a text through a letter and never says so."""
    widths = [_em(char) for char in text]
    if sum(widths) <= room:
        return text
    kept, left = 0, room - 1
    while kept < len(widths) and widths[kept] <= left:
        left -= widths[kept]
        kept += 1
    return f"{text[:kept].rstrip()}…"


def _em(char: str) -> float:
    """About how wide a bold letter is; no browser is here to ask."""
    if char in NARROW:
        return 0.42
    if char in WIDE or east_asian_width(char) in "WF":
        return 1.1
    return 0.78 if char.isupper() else 0.66


def drawn(nodes: Sequence[Mapping[str, Any]], edges: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What `components/graph.html` draws: nodes `{id, state, sub?, icon?}` and edges `{source, target, state}`, now with places."""
    plan = layout([node["id"] for node in nodes], [(edge["source"], edge["target"]) for edge in edges])
    boxes = {box.id: box for box in plan.nodes}
    states = {(edge["source"], edge["target"]): edge.get("state", "pending") for edge in edges}
    return {
        "width": plan.width,
        "height": plan.height,
        "nodes": [{**node, **_words(node), **_place(boxes[node["id"]])} for node in nodes],
        "edges": [
            {"d": path.d, "source": path.source, "target": path.target, "state": states[path.source, path.target]} for path in plan.edges
        ],
    }


def _words(node: Mapping[str, Any]) -> dict[str, str]:
    return {"short_id": fitted(node["id"], NAME_ROOM), "short_sub": fitted(node.get("sub") or "", SUB_ROOM)}


def _place(box: NodeBox) -> dict[str, float]:
    return {"x": box.x, "y": box.y, "w": box.w, "h": box.h}
