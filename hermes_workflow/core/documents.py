"""The one strict reader of JSON and the rules every stored value keeps; `dialects.strict_yaml` reads YAML by the same rules."""

import hashlib
import json
import re
from collections.abc import Iterator
from math import isfinite
from typing import Any

from hermes_workflow.core.errors import Malformed, TooLarge
from hermes_workflow.core.text import kind_of, shorten

LIMIT = 1024 * 1024
DEPTH = 64
MAX_VALUES = 500_000
# Python reads and writes whole numbers of at most 4300 digits.
MAX_DIGITS = 4300
_MAX_BITS = int(MAX_DIGITS / 0.30103)
# A string is taken to its end even if it is never closed, so that no character is looked at twice.
_BRACKETS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
_HOSTILE = re.compile("[\x00\ud800-\udfff]")
_HOSTILE_NAMES = {"\x00": "NUL"}


def read_json(data: bytes | str, *, limit: int = LIMIT, depth: int = DEPTH) -> Any:
    """The value in `data`, UTF-8 without a byte order mark. Raises Malformed (with a place) or TooLarge (over `limit` bytes)."""
    text = decode(data, limit=limit, what="JSON")
    _shallow(text, depth)
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_constant, parse_float=read_float, parse_int=read_int)
    except json.JSONDecodeError as error:
        what = "trailing data after the value" if error.msg == "Extra data" else error.msg[:1].lower() + error.msg[1:]
        raise Malformed(f"JSON: {what}: line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise Malformed(f"JSON: nested deeper than {depth}") from None
    if "\\u" in text:
        check_value(value, depth=depth)
    return value


def decode(data: bytes | str, *, limit: int, what: str) -> str:
    """`data` as text of at most `limit` bytes."""
    if len(data) > limit:
        raise TooLarge(f"{what}: at most {limit:,} bytes, got {len(data):,}")
    try:
        raw = data.encode() if isinstance(data, str) else bytes(data)
        text = data if isinstance(data, str) else raw.decode()
    except UnicodeError as error:
        raise Malformed(f"{what}: must be UTF-8: {'character' if isinstance(data, str) else 'byte'} {_start(error) + 1}") from None
    if len(raw) > limit:
        raise TooLarge(f"{what}: at most {limit:,} bytes, got {len(raw):,}")
    if text.startswith("\ufeff"):
        raise Malformed(f"{what}: must be UTF-8 without a byte order mark: byte 1")
    return text


def _start(error: UnicodeError) -> int:
    return error.start if isinstance(error, (UnicodeDecodeError, UnicodeEncodeError)) else 0


def _shallow(text: str, depth: int) -> None:
    """Refuse deep nesting before the parser recurses into it."""
    if text.count("[") + text.count("{") <= depth:
        return
    level = 0
    for found in _BRACKETS.finditer(text):
        char = text[found.start()]
        if char in "[{":
            level += 1
            if level > depth:
                raise Malformed(f"JSON: nested deeper than {depth}: character {found.start() + 1}")
        elif char in "]}":
            level -= 1


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        _refuse_repeated(pairs)
    return found


def _refuse_repeated(pairs: list[tuple[str, Any]]) -> None:
    seen: set[str] = set()  # an object can have 100,000 keys, too many to compare each with all before it
    for key, _ in pairs:
        if key in seen:
            raise Malformed(f"JSON: duplicate key {shorten(key)}")
        seen.add(key)


def _constant(word: str) -> Any:
    raise Malformed(f"JSON: {word} is not a number here; use null or a finite number")


def read_float(digits: str) -> float:
    """A finite float; Malformed for one out of range."""
    number = float(digits)
    if not isfinite(number):
        raise Malformed(f"the number {shorten(digits, 40)} is out of range")
    return number


def read_int(digits: str) -> int:
    """A whole number; Malformed above 4300 digits."""
    if len(digits.lstrip("-")) > MAX_DIGITS:
        raise Malformed(f"a number has at most {MAX_DIGITS} digits, got {len(digits)}")
    return int(digits)


Place = tuple[Any, ...]


def check_value(value: Any, *, depth: int = DEPTH) -> None:
    """Hold an object already parsed to the rules of `read_json`. Raises Malformed naming the place, TooLarge above 500,000 values."""
    waiting: list[tuple[Any, Place, int]] = [(value, (), 1)]
    count = 0
    while waiting:
        value, place, level = waiting.pop()
        count += 1
        if count > MAX_VALUES:
            raise TooLarge(f"a document holds at most {MAX_VALUES:,} values")
        if isinstance(value, (dict, list)):
            if level > depth:
                raise Malformed(f"nested deeper than {depth}")
            waiting += ((child, (place, key), level + 1) for key, child in _children(value, place))
        elif fault := _fault(value):
            raise Malformed(f"{_where(place)}{fault}")


def _children(value: dict[Any, Any] | list[Any], place: Place) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, list):
        yield from enumerate(value)
        return
    for key, child in value.items():
        if not isinstance(key, str):
            raise Malformed(f"{_where(place)}a key must be a string, got {shorten(key)}")
        if fault := _fault(key):
            raise Malformed(f"{_where(place)}in a key: {fault}")
        yield key, child


def _fault(value: Any) -> str:
    """What is wrong with a scalar; empty when nothing is."""
    if isinstance(value, str):
        found = _HOSTILE.search(value)
        return f"{_HOSTILE_NAMES.get(found.group(), 'half of a surrogate pair')} is refused: character {found.start() + 1}" if found else ""
    if isinstance(value, float):
        return "" if isfinite(value) else f"{value} is not a number here; use null or a finite number"
    if isinstance(value, int):
        return "" if value.bit_length() <= _MAX_BITS else f"a number has at most {MAX_DIGITS} digits"
    return "" if value is None else f"must be a JSON value, got {kind_of(value)}"


def _where(place: Place) -> str:
    """`nodes[0].prompt: ` for a place kept as nested pairs; only built when something is wrong."""
    parts: list[str] = []
    while place:
        place, key = place
        parts.append(f"[{key}]" if isinstance(key, int) else f".{shorten(key, 40)[1:-1]}")
    return "".join(reversed(parts)).lstrip(".") + ": " if parts else ""


def canonical(value: Any) -> str:
    """The one spelling of a JSON value: keys sorted, no spaces, Unicode as it is."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: Any) -> str:
    """`sha256:` over the canonical JSON of `value`."""
    return "sha256:" + hashlib.sha256(canonical(value).encode()).hexdigest()
