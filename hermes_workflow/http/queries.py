"""Query strings: known parameters only, each once, each of its type."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.http import QueryDict

from hermes_workflow.core.errors import Malformed
from hermes_workflow.core.text import hides_something, shorten

LONGEST = 1000
MOMENT = re.compile(r"(19[7-9]\d|[2-9]\d{3})-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)\Z", re.ASCII)
PAGE_SIZE, LARGEST_PAGE = 50, 200


@dataclass(frozen=True, slots=True)
class Parameter:
    """A query parameter: `read` gives its value or raises ValueError saying what is accepted. `schema` is its OpenAPI type."""

    name: str
    meaning: str
    read: Callable[[str], Any]
    schema: dict[str, Any]


def read_query(given: QueryDict, known: Iterable[Parameter]) -> dict[str, Any]:
    """The values by name. Raises Malformed for one that is unknown, repeated or of another type."""
    parameters = {parameter.name: parameter for parameter in known}
    values: dict[str, Any] = {}
    for name, texts in given.lists():
        if name not in parameters:
            hint = f"known here: {', '.join(parameters)}" if parameters else "this address takes none"
            raise Malformed(f"unknown query parameter {shorten(name)}", hint=hint)
        if len(texts) != 1:
            raise Malformed(f"{name}: given {len(texts)} times")
        values[name] = _read(parameters[name], texts[0])
    return values


def _read(parameter: Parameter, text: str) -> Any:
    if len(text) > LONGEST or hides_something(text):
        raise Malformed(f"{parameter.name}: must be plain text of at most {LONGEST} characters")
    try:
        return parameter.read(text)
    except ValueError as error:
        raise Malformed(f"{parameter.name}: {error}, got {shorten(text)}") from None


def text(name: str, meaning: str) -> Parameter:
    """Any text."""
    return Parameter(name, meaning, str, {"type": "string"})


def choice(name: str, meaning: str, offered: Iterable[str]) -> Parameter:
    """One of a few words."""
    words = list(offered)

    def read(given: str) -> str:
        if given not in words:
            raise ValueError(f"must be one of {', '.join(words)}")
        return given

    return Parameter(name, meaning, read, {"type": "string", "enum": words})


def flag(name: str, meaning: str) -> Parameter:
    """1 or 0."""

    def read(given: str) -> bool:
        if given not in ("1", "0", "true", "false"):
            raise ValueError("must be 1 or 0")
        return given in ("1", "true")

    return Parameter(name, meaning, read, {"type": "string", "enum": ["1", "0", "true", "false"]})


def whole(name: str, meaning: str, low: int, high: int) -> Parameter:
    """A whole number between two bounds."""

    def read(given: str) -> int:
        if not (given.isascii() and given.isdigit() and len(given) <= 18 and low <= int(given) <= high):
            raise ValueError(f"must be a whole number from {low} to {high}")
        return int(given)

    return Parameter(name, meaning, read, {"type": "integer", "minimum": low, "maximum": high})


def moment(name: str, meaning: str) -> Parameter:
    """A date and time with its offset."""
    return Parameter(name, meaning, read_moment, {"type": "string", "format": "date-time"})


def read_moment(given: str) -> datetime:
    """ISO 8601 with an offset, in the years 1970 to 9999, as UTC. Raises ValueError, also where UTC would be outside of all years."""
    accepted = "must be a date and time with an offset such as 2026-01-31T08:00:00Z (a + is written %2B)"
    if not MOMENT.match(given):
        raise ValueError(accepted)
    try:
        return datetime.fromisoformat(given).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(accepted) from None


PAGING = (
    text("cursor", "Where to go on: taken from `next` or `previous`"),
    whole("page_size", f"Results per page, {PAGE_SIZE} unless given", 1, LARGEST_PAGE),
)
