"""What the editor shows: one card per node with its fields, and every defect beside the field it is about."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hermes_workflow.admin.draft import RAW, WHOLE_NODE, shown
from hermes_workflow.admin.looks import ABSENT, is_blank
from hermes_workflow.admin.node_fields import MAIN, NodeField, fields_of
from hermes_workflow.dialects.defects import Defect
from hermes_workflow.dialects.design.nodes import DEFAULT_OPTIONS, STEPS
from hermes_workflow.graph_layout import drawn
from hermes_workflow.icons import KIND_ICONS

NOT_OFFERED = "not offered"
NOBODY_MORE = "Nobody is named: once the time is over nobody more is asked, and the question stays open."
MOST_ROWS = 16


@dataclass(frozen=True, slots=True)
class Box:
    """One field of a card. `boxes` are the check boxes of a set: value, whether it is checked, a remark."""

    name: str
    field: NodeField
    look: str
    value: str = ""
    choices: tuple[tuple[str, str], ...] = ()
    boxes: tuple[tuple[str, bool, str], ...] = ()
    hints: tuple[str, ...] = ()
    remark: str = ""
    errors: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """How high a text is shown."""
        lines = sum(1 + len(line) // 110 for line in self.value.split("\n"))
        return min(max(lines, 2), MOST_ROWS)


@dataclass(frozen=True, slots=True)
class Card:
    """One node."""

    index: int
    id: str
    kind: str
    icon: str
    line: str
    boxes: tuple[Box, ...]
    kept: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    defects: int = 0


@dataclass(frozen=True, slots=True)
class Offer:
    """What exists here and can be chosen."""

    profiles: tuple[str, ...] = ()
    default_profile: str = ""
    people: tuple[tuple[str, str], ...] = ()
    models: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Sheet:
    """The whole editor: its cards, its defects each with the anchor of its field, and the picture."""

    cards: tuple[Card, ...] = ()
    summary: tuple[dict[str, Any], ...] = ()
    graph: Mapping[str, Any] = field(default_factory=dict)


def sheet(document: Mapping[str, Any], defects: Sequence[Defect], offer: Offer) -> Sheet:
    """The editor of a document that has fields."""
    nodes: list[Any] = document["nodes"]
    places = sorted(_places(nodes, defects), key=lambda place: place[0])
    cards = tuple(_card(nodes, index, offer, [defect for at, defect in places if at == index]) for index in range(len(nodes)))
    summary = tuple({**defect, **_where(cards, at, defect["field"])} for at, defect in places)
    return Sheet(cards, summary, _picture(nodes, cards))


def _places(nodes: list[Any], defects: Sequence[Defect]) -> list[tuple[int, Defect]]:
    """The index of each defect's node, -1 for the graph; of nodes that share an id the last, which has to change."""
    index = {f"#{at}": at for at in range(len(nodes))}
    index |= {node["id"]: at for at, node in enumerate(nodes) if isinstance(node, dict) and isinstance(node.get("id"), str)}
    return [(index.get(defect["node"], -1) if defect["node"] else -1, defect) for defect in defects]


def _where(cards: tuple[Card, ...], at: int, name: str) -> dict[str, str]:
    """The anchor of a field, and the words that stand beside it."""
    if at < 0:
        return {"anchor": ""}
    found = next((box for box in cards[at].boxes if box.field.name == name), None)
    return {"anchor": f"f-{found.name}", "label": found.field.label} if found else {"anchor": f"node-{at}"}


def _card(nodes: list[Any], index: int, offer: Offer, defects: list[Defect]) -> Card:
    node = nodes[index]
    if not isinstance(node, dict):
        box = _box(NodeField(WHOLE_NODE, "Node", "json", wide=True, mono=True), index, node, [])
        return Card(index, f"#{index}", "", "dots", "", (box,), errors=_said(defects), defects=len(defects))
    kind = node.get("type")
    fields = fields_of(kind, after="after" in node)
    boxes = tuple(_filled(nodes, index, field, offer, defects) for field in fields)
    named = {field.name for field in fields}
    return Card(
        index,
        str(node.get("id") or f"#{index}")[:80],
        kind if isinstance(kind, str) else "",
        KIND_ICONS.get(kind, "dots") if isinstance(kind, str) else "dots",
        _line(node),
        boxes,
        tuple(key for key in node if key not in named),
        _said([defect for defect in defects if defect["field"] not in named]),
        len(defects),
    )


def _said(defects: Iterable[Defect]) -> tuple[str, ...]:
    return tuple(f"{defect['field']}: {defect['msg']}" if defect["field"] else defect["msg"] for defect in defects)


def _line(node: Mapping[str, Any]) -> str:
    kind = node.get("type")
    text = node.get(MAIN.get(kind, "")) if isinstance(kind, str) else None
    return text[:120] if isinstance(text, str) else ""


def _box(field: NodeField, index: int, value: Any, errors: list[str]) -> Box:
    look, content = shown(field, value)
    name = f"n{index}-{field.name}" + (RAW if look != field.look else "")
    text = content if isinstance(content, str) else ""
    return Box(name, field, look, text, field.choices, errors=tuple(errors))


def _filled(nodes: list[Any], index: int, field: NodeField, offer: Offer, defects: list[Defect]) -> Box:
    value = nodes[index].get(field.name, ABSENT)
    box = _box(field, index, value, [defect["msg"] for defect in defects if defect["field"] == field.name])
    if box.look == "set":
        chosen = [] if is_blank(value) else list(value)
        return replace(box, boxes=_check_boxes(field, nodes, index, chosen))
    if field.name == "profile" and box.look == "choice":
        box = replace(box, choices=(("", f"the default profile ({offer.default_profile})"), *((name, name) for name in offer.profiles)))
    if box.look in ("choice", "flag") and box.value not in [choice for choice, _ in box.choices]:
        box = replace(box, choices=(*box.choices, (box.value, f"{box.value} ({NOT_OFFERED})")))
    if field.name == "escalate_to" and is_blank(value) and nodes[index].get("on_timeout") == "escalate":
        return replace(box, remark=NOBODY_MORE)
    return replace(box, hints=_readable(nodes, index)) if field.name == "expression" else box


def _check_boxes(field: NodeField, nodes: list[Any], index: int, chosen: list[str]) -> tuple[tuple[str, bool, str], ...]:
    left = list(chosen)
    found = []
    for name, remark in _offered(field, nodes, index):
        found.append((name, name in left, remark))
        if name in left:
            left.remove(name)
    remark = "" if field.people else NOT_OFFERED
    return (*found, *((name, True, remark) for name in left))


def _offered(field: NodeField, nodes: list[Any], index: int) -> list[tuple[str, str]]:
    if field.name == "after":
        ids = [node.get("id") for at, node in enumerate(nodes) if at != index and isinstance(node, dict) and node.get("type") != "note"]
        return [(id_, "") for id_ in dict.fromkeys(ids) if isinstance(id_, str) and id_.strip() and not {"\n", "\r"} & set(id_)]
    if field.name == "stop_on":
        options = nodes[index].get("options")
        texts = DEFAULT_OPTIONS if is_blank(options) else options if isinstance(options, list) else ()
        return [(text, "") for text in dict.fromkeys(text for text in texts if isinstance(text, str) and text.strip())]
    return []


def _readable(nodes: list[Any], index: int) -> tuple[str, ...]:
    """What a condition may read, nearest first: the beginnings of its expression."""
    by_id = {node["id"]: node for node in nodes if isinstance(node, dict) and isinstance(node.get("id"), str)}
    reached: list[str] = []
    waiting = _parents(nodes[index])
    while waiting:
        name = waiting.pop(0)
        if name in by_id and name not in reached:
            reached.append(name)
            waiting += _parents(by_id[name])
    reached += [name for name, node in by_id.items() if node.get("type") == "trigger" and name not in reached]
    return tuple(
        f"out.{name}.{_PATHS.get(by_id[name].get('type'), '')}" for name in reached if "." not in name and by_id[name] is not nodes[index]
    )


_PATHS: dict[Any, str] = {"approval": "answer", "trigger": "text"}


def _parents(node: Mapping[str, Any]) -> list[str]:
    after = node.get("after")
    return [item for item in after if isinstance(item, str)] if isinstance(after, list) else []


def _picture(nodes: list[Any], cards: tuple[Card, ...]) -> dict[str, Any]:
    """The graph as far as it can be drawn; nodes with defects look failed."""
    known: dict[str, dict[str, Any]] = {}
    for card, node in zip(cards, nodes, strict=True):
        name = node.get("id") if isinstance(node, dict) else None
        if isinstance(name, str) and card.kind in (*STEPS, "trigger"):
            known.setdefault(name, {"id": name, "state": "failed" if card.defects else "pending", "sub": card.kind, "icon": card.icon})
    edges = [
        {"source": parent, "target": node["id"], "state": "pending"}
        for node in nodes
        if isinstance(node, dict) and node.get("id") in known
        for parent in _parents(node)
    ]
    return drawn(list(known.values()), edges) if known else {}
