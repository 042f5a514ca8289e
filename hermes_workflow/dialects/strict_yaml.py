"""The one strict reader of YAML: JSON's values in YAML's clothes, by the rules of `core.documents`; PyYAML only tokenises."""

import re
from collections.abc import Iterator
from typing import Any, NoReturn

import yaml

from hermes_workflow.core.documents import DEPTH, LIMIT, check_value, decode, read_float, read_int
from hermes_workflow.core.errors import HermesError, Malformed, TooLarge
from hermes_workflow.core.text import shorten

# A tenth of the values JSON may hold: reading YAML is that much slower, and an answer is due within a second.
MAX_EVENTS = 50_000
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_WORDS = {"": None, "~": None, "null": None, "Null": None, "NULL": None} | {
    word: value for value, name in ((True, "true"), (False, "false")) for word in (name, name.title(), name.upper())
}
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]*)\Z")
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\Z")
# What YAML 1.1 would turn into a boolean, a number or a date, and 1.2 would not: the reader does not guess.
_AMBIGUOUS = re.compile(
    r"(?:yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF|<<|=|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
    r"|[-+]?0(?:b[01_]+|x[0-9a-fA-F_]+|o[0-7_]+)|[-+][0-9._]+(?:[eE][-+]?[0-9]+)?|[-+]?[0-9][0-9_]*(?:\.[0-9_]*)?(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?[0-9]+(?::[0-5]?[0-9])+(?:\.[0-9_]*)?|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt \t].*)?)\Z"
)
_END = object()


def read_yaml(data: bytes | str, *, limit: int = LIMIT, depth: int = DEPTH) -> Any:
    """The one document in `data`. No aliases, anchors, tags, merge keys or duplicate keys; a word that YAML versions read
    differently must be quoted. Raises Malformed with line and column, or TooLarge."""
    text = decode(data, limit=limit, what="YAML")
    try:
        value = _document(_counted(yaml.parse(text, Loader=_LOADER)), depth)
    except yaml.MarkedYAMLError as error:
        _refuse(error.problem or "cannot be read", error.problem_mark)
    except yaml.YAMLError as error:
        raise Malformed(f"YAML: {str(error).splitlines()[0][:120]}") from None
    check_value(value, depth=depth)
    return value


def _counted(events: Iterator[Any]) -> Iterator[Any]:
    for count, event in enumerate(events):
        if count > MAX_EVENTS:
            raise TooLarge(f"YAML: at most {MAX_EVENTS:,} keys and values")
        yield event


def _document(events: Iterator[Any], depth: int) -> Any:
    documents = 0
    value: Any = _END
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                _refuse("one document only", event.start_mark)
        elif isinstance(event, yaml.NodeEvent):
            value = _value(event, events, depth)
    if value is _END or value is None:
        raise Malformed("YAML: the document is empty")
    return value


def _value(event: Any, events: Iterator[Any], depth: int) -> Any:
    """The value that starts with `event`; `depth` is the nesting still allowed, which bounds the recursion."""
    if isinstance(event, yaml.AliasEvent) or event.anchor:
        _refuse("anchors and aliases are refused; write the value out", event.start_mark)
    if event.tag:
        _refuse("tags are refused", event.start_mark)
    if isinstance(event, yaml.ScalarEvent):
        return _scalar(event)
    if depth == 0:
        _refuse("nested too deep", event.start_mark)
    if isinstance(event, yaml.SequenceStartEvent):
        return [_value(item, events, depth - 1) for item in _until(events, yaml.SequenceEndEvent)]
    return _mapping(events, depth - 1)


def _mapping(events: Iterator[Any], depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for event in _until(events, yaml.MappingEndEvent):
        key = _value(event, events, depth)
        if not isinstance(key, str):
            _refuse(f"a key must be text, got {shorten(key)}: quote it", event.start_mark)
        if key in found:
            _refuse(f"duplicate key {shorten(key)}", event.start_mark)
        found[key] = _value(next(events), events, depth)
    return found


def _until(events: Iterator[Any], end: type) -> Iterator[Any]:
    for event in events:
        if isinstance(event, end):
            return
        yield event


def _scalar(event: Any) -> Any:
    text: str = event.value
    if not event.implicit[0]:
        return text
    if text in _WORDS:
        return _WORDS[text]
    try:
        if _WHOLE.match(text):
            return read_int(text)
        if _DECIMAL.match(text):
            return read_float(text)
    except HermesError as error:
        _refuse(error.msg, event.start_mark)
    if _AMBIGUOUS.match(text):
        _refuse(
            f"{shorten(text)} means different things in YAML 1.1 and 1.2: quote it, or write true, false or a plain number",
            event.start_mark,
        )
    return text


def _refuse(msg: str, mark: Any) -> NoReturn:
    place = f": line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    raise Malformed(f"YAML: {msg}{place}")
