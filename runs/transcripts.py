"""Transcripts: what an agent attempt was asked and what it said, kept with the attempt and deleted with its run."""

import json
from datetime import datetime

from hermes_workflow.core.prompts import as_text
from runs.assignments import Performance
from runs.journal import Lease
from runs.models import Message, Session
from runs.seams.base import Failed, Performed

CONTENT_LIMIT = 65_536


def keep(lease: Lease, work: Performance, outcome: Performed | Failed, *, now: datetime) -> None:
    """Write the transcript of a finished attempt, in the transaction that settles it."""
    assignment = work.assignment
    session = Session.objects.create(attempt_id=lease.id, profile=assignment.profile, model=assignment.model, started_at=now, ended_at=now)
    said = [("user", assignment.rendered), _answer(outcome)]
    rows = [
        Message(session=session, number=number, role=role, content=text[:CONTENT_LIMIT], at=now)
        for number, (role, text) in enumerate(said, 1)
    ]
    Message.objects.bulk_create(rows)


def _answer(outcome: Performed | Failed) -> tuple[str, str]:
    if isinstance(outcome, Performed):
        return "assistant", as_text(outcome.value)
    details = json.dumps(dict(outcome.diagnostics), ensure_ascii=False, indent=2) if outcome.diagnostics else ""
    return "error", f"{outcome.kind}: {outcome.msg}\n{details}".strip()
