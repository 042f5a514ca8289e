"""A signed call from outside starts a run: the caller, the body and who the run belongs to are checked before anything is written."""

import hashlib
import re
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from hermes_workflow import hooks
from hermes_workflow.core.documents import check_value, read_json
from hermes_workflow.core.errors import Conflict, Forbidden, KeyReused, Malformed, NotFound
from hermes_workflow.core.text import kind_of
from hermes_workflow.models import Hook
from runs import sending, starts
from runs.models import Run
from runs.seams import schemas

REQUEST_ID = re.compile(r"[\x21-\x7e]{1,128}\Z")
MSG_CHARS = 300
FRESH = 10  # seconds for which equal bodies of one second are two calls; later the same signature is somebody's recording


@dataclass(frozen=True, kw_only=True)
class Call:
    """What came in: the address, the three headers and the bytes."""

    slug: str
    timestamp: str
    signature: str
    request_id: str
    body: bytes


def take(call: Call, *, now: datetime) -> tuple[Run, bool]:
    """The run that the call starts, and whether it is new: the same request id and body give the earlier one.

    Raises NotFound, NotSigned, Malformed, TooLarge, Forbidden, and Conflict for a request id or a signature that was used before.
    """
    hook = hooks.hook_at(call.slug)
    if hook is None:
        raise NotFound("there is no such webhook")
    hooks.check_signature(hook, timestamp=call.timestamp, given=call.signature, body=call.body, now=now)
    wanted = _wanted(hook, call)
    if known := _started_before(wanted):
        return known, False
    _check_rights(hook)
    try:
        return starts.start(wanted)
    except KeyReused:
        if now.timestamp() - int(call.timestamp) > FRESH:
            raise Conflict("this very call started a run under another X-Request-ID", hint="sign the call anew") from None
        return starts.start(replace(wanted, key=wanted.workflow_id))
    except Conflict:
        if known := _started_before(wanted):
            return known, False
        raise


def _wanted(hook: Hook, call: Call) -> starts.Start:
    """The signature does not cover the request id: the id names the run, and the signature is its key."""
    if not REQUEST_ID.match(call.request_id):
        raise Malformed("X-Request-ID: must be 1 to 128 visible ASCII characters, another one for each call")
    return starts.Start(
        design=hook.design,
        input=_input(hook, call.body),
        origin="hook",
        starter=hook.owner,
        workflow_id=_name(hook, call.request_id),
        key=_name(hook, f"{call.timestamp} {call.signature}"),
    )


def _name(hook: Hook, text: str) -> str:
    return f"hook:{hook.slug}:{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def _started_before(wanted: starts.Start) -> Run | None:
    known = Run.objects.filter(workflow_id=wanted.workflow_id, origin="hook", design=wanted.design).first()
    if known and known.start_digest != wanted.fingerprint:
        raise KeyReused("this X-Request-ID came before with another body")
    return known


def _input(hook: Hook, body: bytes) -> dict[str, Any]:
    given = read_json(body)
    if not isinstance(given, dict):
        raise Malformed(f"the body must be a JSON object, got {kind_of(given)}")
    check_value(given)
    assert hook.design.current
    schema = hooks.trigger_of(hook.design.current.document).get("schema")
    if schema is not None:
        _check_schema(given, schema)
    return given


def _check_schema(given: dict[str, Any], schema: dict[str, Any]) -> None:
    try:
        fault = schemas.fault_in(given, schema)
    except schemas.TooHard:
        raise Malformed("the schema of this webhook takes too long on this body") from None
    except Exception as broken:  # the schema is a designer's, and the library raises whatever it stumbles over
        raise Conflict("the schema of this webhook cannot be used", hint="mend the schema of the design's trigger") from broken
    if fault is not None:
        raise Malformed(f"the body does not fit the schema at {fault.json_path}: {fault.message}"[:MSG_CHARS])


def _check_rights(hook: Hook) -> None:
    """Whose run it would be may start it now, and it sends nowhere that nobody allowed."""
    if not hooks.may_start(hook.owner, hook.design):
        raise Forbidden("this webhook may not start runs now", hint="ask an admin who its runs belong to")
    assert hook.design.current
    if not hook.may_send and sending.sends_to(starts.readable(hook.design.current.plan_id)):
        raise Forbidden("the run would send to a channel, and this webhook may not", hint="an admin allows it in the administration")
