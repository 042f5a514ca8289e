"""What is known of each attempt: who worked on it and when, and, where it failed, what the performer printed."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hermes_workflow.words import shown
from runs.models import Attempt, Session

STREAMS = (("stderr_tail", "Standard error"), ("stdout_tail", "Standard output"))


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """`facts` are the server's, `(label, value)`; `printed` is the performer's, `(stream, text)`; times stand in the reader's zone."""

    began: datetime | None
    ended: datetime | None
    facts: list[tuple[str, str]]
    printed: list[tuple[str, str]]


def diagnostics_of(attempts: Iterable[Attempt], sessions: Iterable[Session]) -> dict[tuple[str, int], Diagnostics]:
    """By step and number of the attempt."""
    transcripts = {session.attempt_id: session for session in sessions}
    return {(attempt.key, attempt.number): _of(attempt, transcripts.get(attempt.pk)) for attempt in attempts}


def _of(attempt: Attempt, session: Session | None) -> Diagnostics:
    found = _recorded(session) if session else {}
    code = found.get("exit_code")
    facts = {
        "Profile": session.profile if session else "",
        "Model": session.model if session else "",
        "Worker": attempt.worker,
        "Command": " ".join(map(str, found.get("argv") or [])),
        "Exit code": "" if code is None else str(code),
        "Reason": found.get("code") or "",
    }
    return Diagnostics(
        began=session.started_at if session else None,
        ended=attempt.ended_at,
        facts=[(label, shown(value)) for label, value in facts.items() if value],
        printed=[(label, shown(found[name])) for name, label in STREAMS if found.get(name)],
    )


def _recorded(session: Session) -> dict[str, Any]:
    """The details of a failure as its transcript keeps them, after the line that names it; without any, nothing."""
    said = next((message.content for message in session.messages.all() if message.role == "error"), "")
    try:
        found = json.loads(said[said.rindex("\n{") :])
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
