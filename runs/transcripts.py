"""Transcripts: what an agent attempt was asked and what it said, kept with the attempt and deleted with its run."""

import json
import logging
from datetime import datetime

from django.db import transaction

from hermes_workflow.core.prompts import as_text
from runs.assignments import Performance
from runs.journal import Lease
from runs.models import Message, Session
from runs.seams.base import Failed, Performed

logger = logging.getLogger(__name__)

CONTENT_LIMIT = 65_536


def keep(lease: Lease, work: Performance, outcome: Performed | Failed, *, now: datetime) -> None:
    """Write the transcript of a finished attempt, in the transaction that settles it; the outcome counts even where that is refused."""
    try:
        with transaction.atomic():
            _write(lease, work, outcome, now)
    except Exception:
        logger.exception("the transcript of %s:%s:%s is not kept", lease.run_id, lease.key, lease.number)


def _write(lease: Lease, work: Performance, outcome: Performed | Failed, now: datetime) -> None:
    given, begun = work.assignment, lease.claimed_at
    session = Session.objects.create(attempt_id=lease.id, profile=given.profile, model=given.model, started_at=begun, ended_at=now)
    said = [("user", given.rendered, begun), (*_answer(outcome), now)]
    rows = [
        Message(session=session, number=number, role=role, content=text[:CONTENT_LIMIT], at=at)
        for number, (role, text, at) in enumerate(said, 1)
    ]
    Message.objects.bulk_create(rows)


def _answer(outcome: Performed | Failed) -> tuple[str, str]:
    if isinstance(outcome, Performed):
        return "assistant", as_text(outcome.value)
    details = json.dumps(dict(outcome.diagnostics), ensure_ascii=False, indent=2) if outcome.diagnostics else ""
    return "error", f"{outcome.kind}: {outcome.msg}\n{details}".strip()
