"""Untrusted text made safe to show: what cannot be seen becomes a mark, what is long becomes short."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

ECHO = 80
BLANK_LINES = 3
MARK_LENGTH = 40
MAX_MARKS = 2000

# Controls, fillers, bidirectional, zero-width and tag characters, noncharacters and lone surrogates. Newline and tab are text.
_HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u070f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u2800\u3164\ufdd0-\ufdef\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\ud800-\udfff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_SELECTORS = "\ufe00-\ufe0f"
# A terminal sequence is shown as one mark. The bounds keep a hostile text of half sequences linear.
_TERMINAL = (
    r"(?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,8}[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]{0,500}(?:\x07|\x1b\\|\x9c)"
)
# A selector that only chooses how the symbol before it is drawn hides nothing.
_EMOJI = "[\u203c-\u3299\U0001f000-\U0001faff]"
_MARKED = re.compile(f"{_TERMINAL}|[{_HIDDEN}]|(?<!{_EMOJI})[\ufe0e\ufe0f]|[\ufe00-\ufe0d]")
_UNPRINTABLE = re.compile(f"[{_HIDDEN}{_SELECTORS}\n\t\\\\']")
_FORBIDDEN_IN_NAMES = re.compile(f"[{_HIDDEN}\n\t]")
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\", "'": "\\'"}


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of text as it is, or (`mark`) the name of something that would not have been seen."""

    text: str
    mark: bool = False


def visible(text: str) -> list[Segment]:
    """Split `text` into plain stretches and marks such as `U+200B`, `ESC[2J` or `4,997 blank lines`."""
    shown, removed = _bounded(text.replace("\r\n", "\n"))
    found = list(_merged(_segments(shown)))
    return [*found, Segment(f"{removed:,} more invisible characters removed", mark=True)] if removed else found


def hides_something(text: str) -> bool:
    """Whether `text` holds a control, bidirectional, zero-width or other invisible character; newline and tab count."""
    return _FORBIDDEN_IN_NAMES.search(text) is not None


def shorten(value: Any, limit: int = ECHO) -> str:
    """What was got, for a message: text quoted and escaped, a container by its type alone; at most `limit` characters."""
    if isinstance(value, str):
        return _quoted(value, limit)
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, int):
        return _whole(value)
    return repr(value) if isinstance(value, float) else kind_of(value)


def kind_of(value: Any) -> str:
    """The JSON name of a value's type; the Python name of anything that is not JSON."""
    for kind, name in _KINDS:
        if isinstance(value, kind):
            return name
    return "null" if value is None else type(value).__name__[:ECHO]


_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "boolean"),
    ((int, float), "number"),
    (str, "string"),
    (list, "list"),
    (dict, "object"),
)


def _whole(value: int) -> str:
    # Digits grow with the square of the length and Python refuses more than 4300 of them.
    if value.bit_length() <= 200:
        return str(value)
    return f"a number of about {int(value.bit_length() * 0.30103) + 1} digits"


def _quoted(text: str, limit: int) -> str:
    escaped = [_escape(char) for char in text[:limit]]
    if len(text) <= limit and sum(map(len, escaped)) <= limit - 2:
        return "'" + "".join(escaped) + "'"
    room = limit - 3
    kept = []
    for piece in escaped:
        room -= len(piece)
        if room < 0:
            break
        kept.append(piece)
    return "'" + "".join(kept) + "…'"


def _escape(char: str) -> str:
    if not _UNPRINTABLE.match(char):
        return char
    code = ord(char)
    return _SHORT.get(char) or (f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}")


def _bounded(text: str) -> tuple[str, int]:
    """`text` with at most MAX_MARKS things to mark, and how many were removed after that: a flood must not become a page."""
    for at, found in enumerate(_MARKED.finditer(text)):
        if at == MAX_MARKS:
            rest, removed = _MARKED.subn("", text[found.start() :])
            return text[: found.start()] + rest, removed
    return text, 0


def _segments(text: str) -> Iterator[Segment]:
    for at, (blank, run) in enumerate(groupby(text.split("\n"), key=_is_blank)):
        if at:
            yield Segment("\n")
        lines = list(run)
        if blank and len(lines) > BLANK_LINES:
            yield Segment(f"{len(lines):,} blank lines", mark=True)
        else:
            yield from _line("\n".join(lines))


def _is_blank(line: str) -> bool:
    return not line.strip(" \t")


def _line(text: str) -> Iterator[Segment]:
    at = 0
    for found in _MARKED.finditer(text):
        yield Segment(text[at : found.start()])
        yield Segment(_mark(found.group()), mark=True)
        at = found.end()
    yield Segment(text[at:])


def _mark(hidden: str) -> str:
    if len(hidden) == 1:
        return f"U+{ord(hidden):04X}"
    return ("ESC" + _MARKED.sub("", hidden[1:])).rstrip("\\")[:MARK_LENGTH]


def _merged(segments: Iterator[Segment]) -> Iterator[Segment]:
    for mark, run in groupby(segments, key=lambda segment: segment.mark):
        if mark:
            yield from run
        elif text := "".join(segment.text for segment in run):
            yield Segment(text)
