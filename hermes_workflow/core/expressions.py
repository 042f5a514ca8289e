"""Conditions, `out.<node>.<path> <op> <literal>`: read by a scanner in linear time, compared strictly, never evaluated as code."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias
from unicodedata import normalize

from hermes_workflow.core.documents import read_json
from hermes_workflow.core.errors import HermesError
from hermes_workflow.core.scanner import Scanner
from hermes_workflow.core.text import kind_of, shorten

MAX_LENGTH = 500
MAX_DEPTH = 16
OPERATORS = ("==", "!=", "<", "<=", ">", ">=", "contains")
GRAMMAR = "out.<node>.<path> <op> <literal>"
WHOLE_TEXT = ("output", "text")
Scalar: TypeAlias = str | int | float | bool | None
_MISSING = object()


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed condition. `node` is in NFC; `path` has at least one segment, and digits in it index lists."""

    node: str
    path: tuple[str, ...]
    op: str
    literal: Scalar


def parse(text: object) -> Expression:
    """The condition `text` means. Raises ValueError that names the column (from 1) and what is accepted there."""
    if not isinstance(text, str):
        raise ValueError(f"column 1: a condition is text of the form {GRAMMAR}, got {shorten(text)}")
    if len(text) > MAX_LENGTH:
        raise ValueError(f"column {MAX_LENGTH + 1}: at most {MAX_LENGTH} characters, got {len(text)}")
    return _parse(text)


@lru_cache(maxsize=1024)
def _parse(text: str) -> Expression:
    scanner = Scanner(text)
    scanner.spaces()
    scanner.expect("out.", f"a condition has the form {GRAMMAR}")
    node = scanner.node()
    path = tuple(scanner.path(MAX_DEPTH))
    scanner.spaces()
    op = scanner.operator(OPERATORS)
    scanner.spaces()
    literal = scanner.literal()
    scanner.spaces()
    scanner.end()
    return Expression(node, path, op, literal)


def evaluate(text: str | Expression, outputs: Mapping[str, Any]) -> bool:
    """Whether the condition holds for `outputs[node]`. Raises ValueError as `parse` does, and for nothing else."""
    return explain(text, outputs)[0]


def explain(text: str | Expression, outputs: Mapping[str, Any]) -> tuple[bool, str]:
    """The verdict and one line that says why, such as `3 > 0 is true`; each value is cut at 80 characters."""
    expression = text if isinstance(text, Expression) else parse(text)
    found = read(expression, outputs)
    if found is _MISSING:
        return False, f"path missing: {shorten('.'.join(('out', expression.node, *expression.path)))[1:-1]}"
    literal = expression.literal
    verdict = _COMPARE[expression.op](found, literal)
    shown = f"{shorten(found)} {expression.op} {shorten(literal)} is {'true' if verdict else 'false'}"
    kinds = kind_of(found), kind_of(literal)
    if verdict or kinds[0] == kinds[1] or expression.op == "contains":
        return verdict, shown
    return False, f"{shown}, types differ: {kinds[0]} and {kinds[1]}"


def read(expression: Expression, outputs: Mapping[str, Any]) -> Any:
    """The value the condition looks at. A text that is JSON is read as JSON; any scalar is readable whole as `.output` or `.text`."""
    output = _output(expression.node, outputs)
    value = _follow(_structured(output), expression.path)
    if value is _MISSING and len(expression.path) == 1 and expression.path[0] in WHOLE_TEXT and not isinstance(output, (dict, list)):
        return output
    return value


def _output(node: str, outputs: Mapping[str, Any]) -> Any:
    if node in outputs:
        return outputs[node]
    return next((outputs[key] for key in outputs if normalize("NFC", key) == node), _MISSING)


def _structured(output: Any) -> Any:
    """An object or a list, from the text when all of it, or its one fenced block, is JSON; else the output as it is."""
    if not isinstance(output, str):
        return output
    text = _unfenced(output.strip())
    if text[:1] not in ("{", "["):
        return output
    try:
        return read_json(text)
    except HermesError:
        return output


def _unfenced(text: str) -> str:
    opening, newline, rest = text.partition("\n")
    if newline and opening.rstrip().lower() in ("```", "```json") and rest.endswith("```"):
        return rest[:-3].strip()
    return text


def _follow(value: Any, path: tuple[str, ...]) -> Any:
    """Keys of objects and indexes of lists only: nothing of Python is reachable."""
    for segment in path:
        if isinstance(value, dict):
            value = value.get(segment, _MISSING)
        elif isinstance(value, list) and segment.isascii() and segment.isdigit() and int(segment) < len(value):
            value = value[int(segment)]
        else:
            return _MISSING
    return value


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _equal(left: Any, right: Scalar) -> bool:
    if _number(left) and _number(right):
        return bool(left == right)
    return type(left) is type(right) and bool(left == right)


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Scalar], bool]:
    def check(left: Any, right: Scalar) -> bool:
        same = (_number(left) and _number(right)) or (isinstance(left, str) and isinstance(right, str))
        return same and compare(left, right)

    return check


def _contains(left: Any, right: Scalar) -> bool:
    if isinstance(left, list):
        return any(_equal(item, right) for item in left)
    return isinstance(left, (str, dict)) and isinstance(right, str) and right in left


_COMPARE: dict[str, Callable[[Any, Scalar], bool]] = {
    "==": _equal,
    "!=": lambda left, right: not _equal(left, right),
    "<": _ordered(lambda left, right: left < right),
    "<=": _ordered(lambda left, right: left <= right),
    ">": _ordered(lambda left, right: left > right),
    ">=": _ordered(lambda left, right: left >= right),
    "contains": _contains,
}
