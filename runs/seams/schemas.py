"""JSON Schema within bounds: who writes a design writes the schema, and who performs its step writes what the schema is tried on.

Three things of the library are quadratic or worse on hostile input: patterns (Python's `re` also stops every thread meanwhile), unique
items, and references that fan out. So patterns run in an engine that can be interrupted, unique items are hashed, and every keyword
looks at the time that is left. Versions are registered, for the library picks the class anew at each `$schema` it meets.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

import regex
from jsonschema import exceptions, validators
from referencing import Registry

SECONDS = 2.0  # of this thread's own time, so that a busy machine refuses nothing
LONGEST_PATTERN = 1000
WORST_LEFT = 0.001
PATTERNS_OF_NAMES, UNSEEN_NAMES = "patternProperties", "unevaluatedProperties"

_until: ContextVar[float] = ContextVar("until", default=math.inf)
Keyword = Callable[[Any, Any, Any, Any], Iterator[exceptions.ValidationError] | None]


class TooHard(Exception):
    """The schema takes too long on this value."""


class NotHere(Exception):
    """The schema uses what is not offered here."""


def fault_in(value: Any, schema: Mapping[str, Any]) -> exceptions.ValidationError | None:
    """What does not fit; None when all does. Raises TooHard, NotHere, and whatever the library raises for a schema that is none."""
    token = _until.set(time.thread_time() + SECONDS)
    try:
        _refuse_unbounded(schema)
        chosen = validators.validator_for(schema, default=NEWEST)
        chosen.check_schema(dict(schema))
        return exceptions.best_match(chosen(schema, registry=Registry()).iter_errors(value))
    finally:
        _until.reset(token)


def _refuse_unbounded(schema: Any) -> None:
    """Patterns are short, and names are not matched where the library would do it with `re`."""
    names: set[str] = set()
    waiting = [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Mapping):
            names.update(value)
            long = [text for text in _patterns(value) if len(text) > LONGEST_PATTERN]
            if long:
                raise NotHere(f"a pattern has at most {LONGEST_PATTERN} characters")
        waiting += value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    if {PATTERNS_OF_NAMES, UNSEEN_NAMES} <= names:
        raise NotHere(f"{PATTERNS_OF_NAMES} and {UNSEEN_NAMES} do not go together here")


def _patterns(schema: Mapping[str, Any]) -> Iterator[str]:
    if isinstance(text := schema.get("pattern"), str):
        yield text
    if isinstance(named := schema.get(PATTERNS_OF_NAMES), Mapping):
        yield from named


def _left() -> float:
    left = _until.get() - time.thread_time()
    if left <= 0:
        raise TooHard
    return left


def _bounded(keyword: Keyword) -> Keyword:
    """The keyword, asked only while time is left."""

    def within(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[exceptions.ValidationError] | None:
        _left()
        return keyword(validator, wanted, instance, schema)

    return within


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> Any:
    return regex.compile(pattern)


def _found(pattern: str, text: str) -> bool:
    left = _left()
    try:
        return _compiled(pattern).search(text, timeout=None if left == math.inf else max(left, WORST_LEFT)) is not None
    except TimeoutError:
        raise TooHard from None


def _pattern(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[exceptions.ValidationError]:
    if validator.is_type(instance, "string") and not _found(wanted, instance):
        yield exceptions.ValidationError(f"{instance[:80]!r} does not match {wanted!r}")


def _pattern_properties(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[exceptions.ValidationError]:
    if validator.is_type(instance, "object"):
        for pattern, inner in wanted.items():
            for name, value in instance.items():
                if _found(pattern, name):
                    yield from validator.descend(value, inner, path=name, schema_path=pattern)


def _additional_properties(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[exceptions.ValidationError]:
    if not validator.is_type(instance, "object"):
        return
    named, patterns = schema.get("properties", {}), schema.get(PATTERNS_OF_NAMES, {})
    extra = [name for name in instance if name not in named and not any(_found(pattern, name) for pattern in patterns)]
    if validator.is_type(wanted, "object"):
        for name in extra:
            yield from validator.descend(instance[name], wanted, path=name)
    elif wanted is False and extra:
        yield exceptions.ValidationError(f"no other properties are allowed, and there is {extra[0][:80]!r}")


def _unique_items(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[exceptions.ValidationError]:
    if wanted and validator.is_type(instance, "array") and len(set(map(_hashable, instance))) < len(instance):
        yield exceptions.ValidationError("the items of a list are not all different")


def _hashable(value: Any) -> Any:
    """Equal for values that JSON Schema takes for the same: 1 is 1.0, and true is not 1."""
    if isinstance(value, Mapping):
        return "object", frozenset((name, _hashable(inner)) for name, inner in value.items())
    if isinstance(value, list):
        return "array", tuple(map(_hashable, value))
    return ("boolean", value) if isinstance(value, bool) else value


OURS: dict[str, Keyword] = {
    "pattern": _pattern,
    PATTERNS_OF_NAMES: _pattern_properties,
    "additionalProperties": _additional_properties,
    "uniqueItems": _unique_items,
}


def _registered(stock: Any, version: str) -> Any:
    return validators.extend(
        stock, {name: _bounded(OURS.get(name, keyword)) for name, keyword in stock.VALIDATORS.items()}, version=version
    )


for _stock, _version in (
    (validators.Draft3Validator, "draft3"),
    (validators.Draft4Validator, "draft4"),
    (validators.Draft6Validator, "draft6"),
    (validators.Draft7Validator, "draft7"),
    (validators.Draft201909Validator, "draft2019-09"),
):
    _registered(_stock, _version)
NEWEST = _registered(validators.Draft202012Validator, "draft2020-12")
