"""What went wrong with a call over HTTP, as one of the closed kinds; the server's own words are used, and never trusted."""

import math
import os
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx2

from hermes_workflow.core.documents import read_json
from hermes_workflow.core.errors import HermesError
from hermes_workflow.core.failures import diagnose, hint_for
from runs.seams import redaction
from runs.seams.answers import LONGEST_WAIT, MSG_CHARS, Unusable
from runs.seams.base import Failed
from runs.seams.http import Leash, LetGo

TOO_LONG = re.compile(
    r"context[_ ](?:length|window)|maximum context|max_model_len|too many (?:input )?tokens|prompt is too long|input is too long"
    r"|reduce the length|token limit",
    re.IGNORECASE,
)
NO_MODEL = re.compile(
    r"model_not_found|(?:unknown|invalid|no such) model|not a valid model|\bmodel\b.{0,120}?(?:not found|not exist|not available|unknown)",
    re.IGNORECASE,
)
BAD_KEY = re.compile(r"api[_ ]key", re.IGNORECASE)
WORDS_READ = 65_536


def of_status(status: int, headers: Mapping[str, str], body: bytes, *, now: datetime | None = None) -> Unusable:
    """Why an answer with this status is none."""
    said = words_in(body)
    told = f": {said}" if said else ""
    wait = retry_after(headers.get("retry-after", ""), now=now or datetime.now(UTC))
    kind, code = kind_of(status, said)
    return Unusable(kind, code, f"the endpoint answered {status}{told}"[:MSG_CHARS], retry_after=wait)


def kind_of(status: int, said: str) -> tuple[str, str]:
    """The kind of a status, with what the server said, and the code for the diagnostics."""
    code = f"http_{status}"
    if status in (429, 529):
        return "rate_limited", code
    if status in (401, 403, 407) or (status == 400 and BAD_KEY.search(said)):
        return "auth", code
    if status == 413 or (400 <= status < 500 and TOO_LONG.search(said)):
        return "context_overflow", code
    if status in (400, 404, 422) and NO_MODEL.search(said):
        return "model_unknown", code
    if status in (408, 504):
        return "timeout", code
    if 300 <= status < 400 or status in (404, 405, 410, 502, 503):
        return "unreachable", code
    return diagnose(said) or "performer_failed", code


def of_call(error: BaseException, leash: Leash) -> Unusable:
    """Why a call brought no answer: our leash, or the network. Raises what it does not know."""
    match leash.ended:
        case "timeout":
            return Unusable("timeout", "timeout", f"the endpoint took longer than {leash.until - leash.began:g} seconds")
        case "cancelled":
            return Unusable("cancelled_by_owner", "cancelled", "the call was ended because its work is no longer wanted")
        case "body":
            return Unusable("output_too_large", "body_exceeded", f"the answer passed its limit of {leash.body} bytes and was stopped")
        case "encoding":
            return Unusable("invalid_output", "encoding", "the endpoint packed its answer although it was asked not to")
    if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
        return Unusable("unreachable", "connect", "nothing answers at the endpoint's address")
    if isinstance(error, httpx2.InvalidURL | httpx2.UnsupportedProtocol):
        return Unusable("unreachable", "address", "the endpoint's address cannot be used")
    if isinstance(error, httpx2.TransportError):
        return Unusable("unreachable", "cut", "the connection ended before the whole answer was there")
    if isinstance(error, httpx2.HTTPError | LetGo):
        return Unusable("performer_failed", "protocol", "the endpoint's answer cannot be read")
    raise error


def words_in(body: bytes) -> str:
    """What an error's body says: `error.message` and its code, `error`, `message` or `detail` of a JSON object; else its first words."""
    text = body[:WORDS_READ].decode("utf-8", "replace").strip()
    try:
        found = read_json(text, limit=WORDS_READ)
    except HermesError:
        return "" if text.startswith("<") else " ".join(text.split())[:MSG_CHARS]
    if not isinstance(found, dict):
        return ""
    error = found.get("error", found)
    if isinstance(error, dict):
        parts = [error.get(name) for name in ("message", "msg", "detail", "code")]
        return " ".join(dict.fromkeys(part for part in parts if isinstance(part, str) and part))[:MSG_CHARS]
    return error[:MSG_CHARS] if isinstance(error, str) else ""


def retry_after(text: str, *, now: datetime) -> float | None:
    """Seconds of a Retry-After header, which gives seconds or an HTTP date; None for anything else, and at most a day."""
    try:
        seconds = float(text) if re.fullmatch(r"\d{1,9}(?:\.\d{1,6})?", text.strip()) else (parsed(text) - now).total_seconds()
    except (TypeError, ValueError, OverflowError, IndexError):
        return None
    return min(max(seconds, 0.0), LONGEST_WAIT) if math.isfinite(seconds) else None


def parsed(text: str) -> datetime:
    """An HTTP date. Raises ValueError and TypeError."""
    found = parsedate_to_datetime(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def failed(unusable: Unusable, *, hidden: Iterable[str] = (), **facts: Any) -> Failed:
    """The failure as it is recorded and shown: without the values in `hidden`, secrets of the environment, or what looks like one."""
    private = [*redaction.secret_values(dict(os.environ)), *(text for text in hidden if text)]
    told = {name: redaction.redact(value, private) if isinstance(value, str) else value for name, value in facts.items()}
    return Failed(
        kind=unusable.kind,
        msg=redaction.redact(unusable.msg, private).translate(redaction.CONTROLS),
        hint=hint_for(unusable.kind),
        retry_after=unusable.retry_after,
        diagnostics={"code": unusable.code, **{name: value for name, value in told.items() if value not in ("", None)}},
    )
