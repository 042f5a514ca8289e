"""What a performer printed, read strictly: one JSON object, or a reason why it is no answer."""

import json
import math
from collections.abc import Mapping
from typing import Any

from hermes_workflow.core.documents import read_json
from hermes_workflow.core.errors import HermesError
from runs.seams import schemas
from runs.seams.base import Performed

PROVENANCE_KEYS = ("model", "request_id", "id", "provider", "runner", "notes")
PROVENANCE_CHARS = 512
MSG_CHARS = 300
LONGEST_WAIT = 86_400.0
FENCE = "```"
# What a performer may say about its own failure; the other kinds are ours to find.
ADMITTED_KINDS = frozenset(
    {"rate_limited", "auth", "model_denied", "model_unknown", "context_overflow", "unreachable", "empty_result", "performer_failed"}
)


class Unusable(Exception):
    """The performer's output is no answer. `mendable`: whoever gave it can mend it when told what is wrong."""

    def __init__(self, kind: str, code: str, msg: str, *, retry_after: float | None = None, mendable: bool = False) -> None:
        super().__init__(msg)
        self.kind, self.code, self.msg, self.retry_after, self.mendable = kind, code, msg, retry_after, mendable


def read_answer(stdout: bytes, *, schema: Mapping[str, Any] | None = None, limit: int = 1_048_576) -> Performed:
    """The answer in `stdout`. Raises Unusable."""
    document = read_object(stdout, limit)
    if "error" in document and not {"structured", "output"} & document.keys():
        raise admitted(document["error"])
    value, structured = the_value(document)
    check_schema(value, schema)
    return Performed(value, structured, read_provenance(document.get("provenance")))


def read_object(stdout: bytes, limit: int) -> dict[str, Any]:
    """The one JSON object. Raises Unusable."""
    if not stdout.strip():
        raise Unusable("empty_result", "empty", "the performer ended with no output")
    try:
        text = stdout.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Unusable("invalid_output", "invalid_utf8", f"the output is not UTF-8 (byte {error.start})") from error
    try:
        document = read_json(text, limit=limit)
    except HermesError as error:
        raise Unusable("invalid_output", "invalid_json", f"the output is not one JSON object: {error.msg}"[:MSG_CHARS]) from error
    if not isinstance(document, dict):
        raise Unusable("invalid_output", "invalid_response", "the output is JSON but not an object")
    return document


def the_value(document: Mapping[str, Any]) -> tuple[Any, bool]:
    """The value and whether it is structured: by the presence of the key, for 0, false, "" and {} are answers too."""
    if "structured" in document:
        return document["structured"], True
    if "output" not in document:
        raise Unusable("invalid_output", "invalid_response", "the output has neither structured nor output")
    return document["output"], not isinstance(document["output"], str)


def check_schema(value: Any, schema: Mapping[str, Any] | None) -> None:
    """Refuse a value that does not fit the step's schema. Raises Unusable. References are never fetched."""
    if schema is None:
        return
    try:
        fault = schemas.fault_in(value, schema)
    except schemas.TooHard as hard:
        raise Unusable("invalid_output", "schema", "the step's schema takes too long on this answer; make it simpler") from hard
    except Exception as broken:  # the schema is anybody's, and the library raises whatever it stumbles over
        msg = f"the step's schema cannot be used: {getattr(broken, 'message', '') or broken}"
        raise Unusable("invalid_output", "schema", msg[:MSG_CHARS]) from broken
    if fault is not None:
        msg = f"the answer does not fit the step's schema at {fault.json_path}: {fault.message}"
        raise Unusable("invalid_output", "schema", msg[:MSG_CHARS], mendable=True)


def fitting(text: str, schema: Mapping[str, Any], limit: int) -> Any:
    """The JSON value that `text` is, checked against the step's schema. Raises Unusable."""
    try:
        value = read_json(unfenced(text), limit=limit)
    except HermesError as error:
        msg = f"the answer is not one JSON value: {error.msg}"
        raise Unusable("invalid_output", "invalid_json", msg[:MSG_CHARS], mendable=True) from error
    check_schema(value, schema)
    return value


def unfenced(text: str) -> str:
    """The text inside the one code fence that models like to put around JSON."""
    text = text.strip()
    if text.startswith(FENCE) and text.endswith(FENCE) and "\n" in text:
        return text[text.index("\n") : -len(FENCE)].strip()
    return text


def read_provenance(given: Any) -> dict[str, Any]:
    """The known keys of a provenance, each one short text or number. Raises Unusable."""
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise Unusable("invalid_output", "invalid_response", "provenance is not an object")
    return {key: shortened(given[key]) for key in PROVENANCE_KEYS if isinstance(given.get(key), str | int | float)}


def shortened(value: str | int | float) -> str | int | float:
    """Text of at most 512 characters; a number as it is, unless it is a very long one."""
    text = value if isinstance(value, str) else json.dumps(value)
    return value if len(text) <= PROVENANCE_CHARS else text[:PROVENANCE_CHARS]


def admitted(error: Any) -> Unusable:
    """The failure that a performer reports itself: `{"error": {"kind"?, "msg", "retry_after"?}}`."""
    if not isinstance(error, dict) or not isinstance(error.get("msg"), str):
        return Unusable("invalid_output", "invalid_response", "error is not an object with a msg")
    kind = error.get("kind")
    kind = kind if isinstance(kind, str) and kind in ADMITTED_KINDS else "performer_failed"
    return Unusable(kind, "admitted", error["msg"][:MSG_CHARS], retry_after=wait_of(error.get("retry_after")))


def wait_of(seconds: Any) -> float | None:
    """A wish to wait of 0 seconds to a day; anything else is no wish."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not math.isfinite(seconds):
        return None
    return float(seconds) if 0 <= seconds <= LONGEST_WAIT else None
