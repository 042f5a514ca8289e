"""How a value of a document is shown in a form's field and read back; what does not fit its field is shown as JSON, so nothing is lost."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hermes_workflow.core.documents import read_json
from hermes_workflow.core.errors import HermesError

ABSENT: Final = object()
WHOLE = re.compile(r"-?[0-9]{1,18}\Z")
FLAGS = {"true": True, "false": False}
KEPT_BLANKS: dict[str, tuple[Any, ...]] = {"line": ("",), "text": ("",), "set": ([],)}
"""Blank values that mean the same as an absent key where they stand, so that they may stay."""
Shown = str | list[str]


@dataclass(frozen=True, slots=True)
class Look:
    """A way to show and to read: `show` gives None for what it cannot show; `read` gives ABSENT where nothing was said."""

    show: Callable[[Any], Shown | None]
    read: Callable[[Sequence[str]], Any]

    def fits(self, value: Any) -> bool:
        """Whether reading what is shown gives the value back."""
        shown = self.show(value)
        if shown is None:
            return False
        again = self.read([shown] if isinstance(shown, str) else shown)
        return same(again, value) or (again is ABSENT and is_blank(value))


def is_blank(value: Any) -> bool:
    """Whether an empty field says it all."""
    return value is ABSENT or value is None or value in ("", [])


def same(one: Any, other: Any) -> bool:
    """Equal in value and type; the ends of lines, which forms change, do not count."""
    if isinstance(one, str) and isinstance(other, str):
        return unix(one) == unix(other)
    return type(one) is type(other) and bool(one == other)


def unix(text: str) -> str:
    """Lines that end as forms do not send them."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def pretty(value: Any) -> str:
    """A value as JSON that a person edits."""
    return json.dumps(value, ensure_ascii=False, indent=2)


def parsed(text: str) -> Any:
    """The JSON value; text that is none stays text, for the rulebook to refuse."""
    if not text.strip():
        return ABSENT
    try:
        return read_json(text)
    except HermesError:
        return unix(text)


def _line(value: Any) -> str | None:
    if is_blank(value):
        return ""
    return value if isinstance(value, str) and "\n" not in value and "\r" not in value else None


def _text(value: Any) -> str | None:
    if is_blank(value):
        return ""
    return unix(value) if isinstance(value, str) else None


def _said(got: Sequence[str]) -> Any:
    return unix(got[0]) if got and got[0] else ABSENT


def _count(value: Any) -> str | None:
    if type(value) is int:
        return str(value) if abs(value) < 10**18 else None
    return _line(value)


def _counted(got: Sequence[str]) -> Any:
    said = _said(got)
    text = said.strip() if isinstance(said, str) else ""
    return int(text) if WHOLE.match(text) else said


def _flag(value: Any) -> str | None:
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else _line(value)


def _flagged(got: Sequence[str]) -> Any:
    said = _said(got)
    return FLAGS.get(said, said) if isinstance(said, str) else said


def _texts(value: Any) -> list[str] | None:
    if is_blank(value):
        return []
    fit = isinstance(value, list) and all(isinstance(item, str) and item and _line(item) is not None for item in value)
    return list(value) if fit else None


def _lines(value: Any) -> str | None:
    texts = _texts(value)
    return None if texts is None else "\n".join(texts)


def _lines_said(got: Sequence[str]) -> Any:
    lines = [line.strip() for line in unix(got[0] if got else "").split("\n")]
    return [line for line in lines if line] or ABSENT


def _chosen(got: Sequence[str]) -> Any:
    return [item for item in got if item.strip()] or ABSENT


def _json(value: Any) -> str:
    if value is ABSENT or value is None:
        return ""
    return value if isinstance(value, str) and same(parsed(value), value) else pretty(value)


LOOKS: Final = {
    "line": Look(_line, _said),
    "text": Look(_text, _said),
    "count": Look(_count, _counted),
    "choice": Look(_line, _said),
    "flag": Look(_flag, _flagged),
    "lines": Look(_lines, _lines_said),
    "set": Look(_texts, _chosen),
    "json": Look(_json, lambda got: parsed(got[0] if got else "")),
}


def read_back(look: str, got: Sequence[str], before: Any) -> Any:
    """What a field says now. What was not touched stays as it was, its order, its ends of lines and its null too."""
    value = LOOKS[look].read(got)
    if value is ABSENT:
        return before if before is None or before in KEPT_BLANKS.get(look, ()) else ABSENT
    if look == "set" and isinstance(before, list):
        kept = [item for item in before if item in value]
        return before if sorted(value) == sorted(map(str, before)) else kept + [item for item in value if item not in before]
    return before if same(value, before) else value
