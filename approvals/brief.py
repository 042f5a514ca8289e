"""The first lines of what agents said above a gate, for where there is no room for all of it."""

from collections.abc import Mapping
from typing import Any

from hermes_workflow.words import shown

LINES = 6
LENGTH = 400


def brief_of(said: Mapping[str, Any]) -> list[dict[str, Any]]:
    """`{node_id, text, more}` per step; `more` says that text was left out. A `summary` stands for its whole value."""
    return [{"node_id": key, **_first(value)} for key, value in said.items()]


def _first(value: Any) -> dict[str, Any]:
    summary = value.get("summary") if isinstance(value, dict) else None
    whole = shown(summary if isinstance(summary, str) and summary.strip() else value).strip()
    lines = "\n".join(whole.splitlines()[:LINES])
    text = lines[:LENGTH].rstrip()
    return {"text": text, "more": len(text) < len(whole)}
