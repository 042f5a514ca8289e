"""Rules about one node of a canvas and what is filled in there; null counts as absent, unknown keys are nobody's business."""

from collections.abc import Iterator
from typing import Any

from hermes_workflow.core.text import shorten
from hermes_workflow.dialects.canvas.issues import Issue, node_issue
from hermes_workflow.dialects.canvas.nodes import API_MODES, MAX_ITEMS, MAX_MINUTES, Canvas, Data, Node, agent_of
from hermes_workflow.dialects.design.nodes import MAX_ID, nfc


def named(canvas: Canvas) -> Iterator[Issue]:
    """`shape`: every node is an object with an id of 1-128 visible characters, of type agent, its data an object."""
    for kind, name, value in canvas.strays:
        if kind == "node_id":
            yield node_issue("shape", name, "a node must be an object", value)
    for node in canvas.nodes:
        if not node.usable:
            accepted = f"id must be text of 1-{MAX_ID} visible characters without surrounding space"
            yield node_issue("shape", node.name, accepted, node.raw.get("id"))
        if node.raw.get("type") not in (None, "agent"):
            yield node_issue("shape", node.name, "type must be agent", node.raw["type"])
        if not isinstance(node.raw.get("data", {}), dict | None):
            yield node_issue("shape", node.name, "data must be an object", node.raw["data"])


def unique(canvas: Canvas) -> Iterator[Issue]:
    """`duplicate`: an id is used once, compared after Unicode normalisation (NFC)."""
    for node in canvas.nodes:
        if node.usable and canvas.by_id[nfc(node.name)] is not node:
            yield node_issue("duplicate", node.name, f"id must be unique: {shorten(node.name)} is already the id of another node")


def filled_in(canvas: Canvas) -> Iterator[Issue]:
    """`title`, `provider`, `model`, `input`: every node has each of them, as text that is not blank."""
    for node in canvas.nodes:
        for code, what in (("title", "a title"), ("provider", "a provider"), ("model", "a model"), ("input", "an input")):
            if not _text(node.data.get(code)):
                yield node_issue(code, node.name, f"{_called(node)} needs {what}: text that is not blank", *_given(node.data, code))


def api_modes(canvas: Canvas) -> Iterator[Issue]:
    """`api_mode`: a coding agent has an API mode, one of chat_completions, codex_responses and anthropic_messages."""
    for node in canvas.nodes:
        mode = node.data.get("apiMode")
        if agent_of(node.data) != "hermes" and not (isinstance(mode, str) and mode in API_MODES):
            accepted = f"{_called(node)} needs an API mode, one of {', '.join(API_MODES)}"
            yield node_issue("api_mode", node.name, accepted, *_given(node.data, "apiMode"))


def extras(canvas: Canvas) -> Iterator[Issue]:
    """`shape`: skills and images are lists of at most 50 texts, timeoutMinutes a whole number from 1 to 4320."""
    for node in canvas.nodes:
        for key in ("skills", "images"):
            value = node.data.get(key)
            if value is not None and not (isinstance(value, list) and len(value) <= MAX_ITEMS and all(map(_text, value))):
                yield node_issue("shape", node.name, f"{key} must be a list of at most {MAX_ITEMS} texts that are not blank", value)
        minutes = node.data.get("timeoutMinutes")
        if minutes is not None and not (type(minutes) is int and 1 <= minutes <= MAX_MINUTES):
            yield node_issue("shape", node.name, f"timeoutMinutes must be a whole number from 1 to {MAX_MINUTES}", minutes)


def _text(value: Any) -> bool:
    return isinstance(value, str) and bool(value) and not value.isspace()


def _given(data: Data, key: str) -> tuple[Any, ...]:
    return () if data.get(key) is None else (data[key],)


def _called(node: Node) -> str:
    """A node by the title that its author knows it by."""
    title = node.data.get("title")
    return shorten(title if _text(title) else node.name, 60)
