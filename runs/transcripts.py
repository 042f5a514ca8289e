"""Transcripts: what an agent attempt was asked and what it said, kept with the attempt and deleted with its run."""

import json
import logging
import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction

from hermes_workflow.core.prompts import as_text
from runs.assignments import Performance
from runs.journal import Lease
from runs.models import Message, Session
from runs.seams.base import Failed, Performed

logger = logging.getLogger(__name__)

CONTENT_LIMIT = 65_536
NAME_CHARS = 255
COUNTS = 12  # of a usage, as many as the most talkative performer reports
Said = tuple[str, str, datetime]


def keep(lease: Lease, work: Performance, outcome: Performed | Failed, *, now: datetime) -> None:
    """Write the transcript of a finished attempt, in the transaction that settles it; the outcome counts even where that is refused.

    What was written of it while it was at work is replaced.
    """
    given = work.assignment
    said = [("user", given.rendered, lease.claimed_at or now), *((role, text, now) for role, text in outcome.said), (*_end(outcome), now)]
    row = session_of(lease, work)
    row.external_id, row.usage, row.ended_at = outcome.session[:NAME_CHARS], costs(outcome.usage), now
    try:
        with transaction.atomic():
            write(row, said, update=("model", "external_id", "usage", "ended_at"))
    except Exception:
        logger.exception("the transcript of %s:%s:%s is not kept", lease.run_id, lease.key, lease.number)


def session_of(lease: Lease, work: Performance) -> Session:
    """The row of an attempt's transcript, not written yet."""
    given = work.assignment
    return Session(attempt_id=lease.id, profile=given.profile, model=given.model, started_at=lease.claimed_at)


def write(row: Session, said: Sequence[Said], *, update: Sequence[str]) -> Session:
    """The session with its messages from the first on; one that is there already gets the fields in `update`."""
    (kept,) = Session.objects.bulk_create([row], update_conflicts=True, unique_fields=["attempt"], update_fields=list(update))
    rows = [
        Message(session_id=kept.pk, number=number, role=role, content=text[:CONTENT_LIMIT], at=at)
        for number, (role, text, at) in enumerate(said, 1)
    ]
    changed = ["role", "content", "at"]
    Message.objects.bulk_create(rows, update_conflicts=True, unique_fields=["session", "number"], update_fields=changed)
    return kept


def costs(usage: Mapping[str, Any]) -> dict[str, int | float]:
    """The numbers of a usage under short names; whatever else a performer puts there is left out."""
    numbers = {name[:40]: value for name, value in usage.items() if type(value) in (int, float) and math.isfinite(value)}
    return dict(list(numbers.items())[:COUNTS])


def _end(outcome: Performed | Failed) -> tuple[str, str]:
    if isinstance(outcome, Performed):
        return "assistant", as_text(outcome.value)
    details = json.dumps(dict(outcome.diagnostics), ensure_ascii=False, indent=2) if outcome.diagnostics else ""
    return "error", f"{outcome.kind}: {outcome.msg}\n{details}".strip()
