"""Listening to a run's events while it is at work: what it writes is heard as it is written. Losing the stream loses nothing."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import httpx2

from hermes_workflow.core.documents import read_json
from hermes_workflow.core.errors import HermesError
from runs.seams import http
from runs.seams.answers import Unusable
from runs.seams.base import Say
from runs.seams.hermes_calls import Calls

STREAM_LIMIT = 64 * 1_048_576
LINE_LIMIT = 1_048_576
OVER = frozenset({"run.completed", "run.failed", "run.cancelled", "run.interrupted"})


def listen(
    calls: Calls,
    run_id: str,
    seconds: float,
    cancelled: Callable[[], bool],
    say: Say,
    ask: Callable[[Mapping[str, Any]], None],
) -> None:
    """Hear the run for so long, or until its end or that of the stream; how it stands has to be asked afterwards."""
    leash = http.Leash.of(seconds, cancelled=cancelled, body=STREAM_LIMIT, line=LINE_LIMIT)
    try:
        with (
            http.client(leash, headers={**calls.headers(), "Accept": "text/event-stream"}) as caller,
            caller.stream("GET", f"{calls.agent.runs_url}/{run_id}/events") as answer,
        ):
            if answer.status_code == httpx2.codes.OK:
                _hear(events_in(answer.iter_lines()), say, ask)
    except (http.LetGo, httpx2.HTTPError, httpx2.InvalidURL, Unusable):
        return


def _hear(events: Iterator[tuple[str, dict[str, Any]]], say: Say, ask: Callable[[Mapping[str, Any]], None]) -> None:
    for name, data in events:
        if name == "message.delta":
            piece = data.get("delta", data.get("text"))
            if isinstance(piece, str):
                say(piece)
        elif name == "approval.request":
            ask(data)
        elif name in OVER:
            return


def events_in(lines: Iterator[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """`(name, data)` of each event; the name stands in the stream's own field or in the data. What is no JSON object is passed over."""
    name, data = "", ""
    for line in lines:
        if line.startswith("event:"):
            name = line[6:].strip()
        elif line.startswith("data:"):
            data += line[5:].strip()
        elif not line and data:
            found = _object(data)
            if found is not None:
                yield name or str(found.get("event") or found.get("type") or ""), found
            name, data = "", ""


def _object(text: str) -> dict[str, Any] | None:
    try:
        found = read_json(text, limit=LINE_LIMIT)
    except HermesError:
        return None
    return found if isinstance(found, dict) else None
