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
    """`facts` are the server's, `(label, value)`; `printed` is the performer's, `(stream, text)`, and so is `writing`, what it has written
    so far while it is at work; `session` is the number of its transcript. Times stand in the reader's zone.
    """

    began: datetime | None
    ended: datetime | None
    facts: list[tuple[str, str]]
    printed: list[tuple[str, str]]
    writing: str = ""
    session: int | None = None


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
        "Tokens": tokens_of(session.usage) if session else "",
        "Their session": session.external_id if session else "",
        "Command": " ".join(map(str, found.get("argv") or [])),
        "Exit code": "" if code is None else str(code),
        "Reason": found.get("code") or "",
    }
    return Diagnostics(
        began=session.started_at if session else None,
        ended=attempt.ended_at,
        facts=[(label, shown(value)) for label, value in facts.items() if value],
        printed=[(label, shown(found[name])) for name, label in STREAMS if found.get(name)],
        writing=_writing(session) if session and is_live(attempt, session) else "",
        session=session.pk if session else None,
    )


def is_live(attempt: Attempt, session: Session) -> bool:
    """Whether its performer is at work on it now."""
    return session.ended_at is None and attempt.status in (Attempt.Status.READY, Attempt.Status.LEASED)


def _writing(session: Session) -> str:
    return next((shown(message.content) for message in session.messages.all() if message.role == "assistant"), "")


def tokens_of(usage: dict[str, Any]) -> str:
    """`12 in, 3 out` whatever the performer calls them; "" when it counted none."""
    read = next((usage[name] for name in ("prompt_tokens", "input_tokens") if name in usage), None)
    wrote = next((usage[name] for name in ("completion_tokens", "output_tokens") if name in usage), None)
    parts = [f"{count:,} {word}" for count, word in ((read, "in"), (wrote, "out")) if count is not None]
    return ", ".join(parts)


def _recorded(session: Session) -> dict[str, Any]:
    """The details of a failure as its transcript keeps them, after the line that names it; without any, nothing."""
    said = next((message.content for message in session.messages.all() if message.role == "error"), "")
    try:
        found = json.loads(said[said.rindex("\n{") :])
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
