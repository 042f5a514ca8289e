"""Moves on a draft: adding, removing, reordering, renaming nodes. Each takes a document and gives another."""

from collections.abc import Mapping
from typing import Any

from hermes_workflow.core.expressions import parse
from hermes_workflow.dialects.design.nodes import STEPS

Document = dict[str, Any]
STARTER: Document = {
    "nodes": [
        {"id": "start", "type": "trigger"},
        {"id": "read", "type": "agent", "prompt": "List the key sentences, dates, amounts and risky wording.", "after": ["start"]},
        {"id": "review", "type": "approval", "question": "Is this reading right?", "after": ["read"]},
        {"id": "result", "type": "output", "deliver": "notification", "after": ["review"]},
    ]
}  # fmt: skip
"""What a new design starts from: something that runs."""

FIRST_NAMES = {"trigger": "start", "agent": "work", "condition": "check", "approval": "review", "output": "result", "note": "note"}


def add(document: Document, kind: str, *, below: int | None = None) -> tuple[Document, int]:
    """A new node of that kind after the one at `below`, or at the end; a step comes after that node. The document, and its index."""
    nodes = list(document["nodes"])
    at = len(nodes) if below is None else below + 1
    node: dict[str, Any] = {"id": _free(FIRST_NAMES[kind], nodes), "type": kind}
    above = next((other for other in reversed(nodes[:at]) if _can_lead(other)), None)
    if kind in STEPS and above is not None:
        node["after"] = [above["id"]]
    nodes.insert(at, node)
    return {**document, "nodes": nodes}, at


def _free(wanted: str, nodes: list[Any]) -> str:
    taken = {node.get("id") for node in nodes if isinstance(node, dict) and isinstance(node.get("id"), str)}
    names = (wanted if count == 1 else f"{wanted}_{count}" for count in range(1, len(nodes) + 2))
    return next(name for name in names if name not in taken)


def _can_lead(node: Any) -> bool:
    return isinstance(node, dict) and isinstance(node.get("id"), str) and node.get("type") in (*STEPS, "trigger")


def remove(document: Document, index: int) -> Document:
    """Without that node; what came after it comes after its parents."""
    gone = document["nodes"][index]
    nodes = [node for at, node in enumerate(document["nodes"]) if at != index]
    if isinstance(gone, dict) and isinstance(gone.get("id"), str):
        above = gone.get("after")
        instead = [item for item in above if isinstance(item, str)] if isinstance(above, list) else []
        nodes = [_relinked(node, {gone["id"]: instead}) for node in nodes]
    return {**document, "nodes": nodes}


def shift(document: Document, index: int, by: int) -> tuple[Document, int]:
    """That node moved up or down in the list. The document, and where it is now."""
    nodes = list(document["nodes"])
    at = min(max(index + by, 0), len(nodes) - 1)
    nodes.insert(at, nodes.pop(index))
    return {**document, "nodes": nodes}, at


def rename(document: Document, names: Mapping[str, str]) -> Document:
    """What refers to a renamed node refers to its new name: parents, and conditions that read it."""
    if not names:
        return document
    instead = {old: [new] for old, new in names.items()}
    return {**document, "nodes": [_reread(_relinked(node, instead), names) for node in document["nodes"]]}


def _relinked(node: Any, instead: Mapping[str, list[str]]) -> Any:
    after = node.get("after") if isinstance(node, dict) else None
    if not isinstance(after, list) or not any(isinstance(item, str) and item in instead for item in after):
        return node
    found: list[Any] = []
    for item in after:
        found += [new for new in instead.get(item, [item]) if new not in found] if isinstance(item, str) else [item]
    return {**node, "after": found}


def _reread(node: Any, names: Mapping[str, str]) -> Any:
    text = node.get("expression") if isinstance(node, dict) else None
    try:
        old = parse(text).node
    except ValueError:
        return node
    if old not in names or not isinstance(text, str):
        return node
    return {**node, "expression": text.replace(f"out.{old}", f"out.{names[old]}", 1)}
