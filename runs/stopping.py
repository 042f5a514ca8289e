"""Remote work that nobody wants any more: its performer is told to stop, again and again while it cannot be reached."""

import logging
from datetime import datetime, timedelta

from django.db.models import QuerySet
from django.utils import timezone

from runs import warm
from runs.assignments import PERFORMERS, Performance, Work
from runs.journal import Lease
from runs.models import Attempt
from runs.performers import performing
from runs.seams.base import Stoppable

logger = logging.getLogger(__name__)

EVERY = timedelta(seconds=20)  # between two tries
GIVE_UP_AFTER = timedelta(hours=1)
BATCH = 20


def unwanted(now: datetime) -> QuerySet[Attempt]:
    """Cancelled attempts whose remote work has still to be told, and may be told now."""
    return Attempt.objects.filter(status="cancelled", ready_at__lte=now).exclude(ref="").order_by("ended_at")


def stop_due(*, limit: int = BATCH) -> int:
    """Tell the performers of unwanted work to stop. Returns how many need not be asked again."""
    now = timezone.now()
    return sum(_settled(attempt, now) for attempt in list(unwanted(now).select_related("run")[:limit]) if _taken(attempt, now))


def _taken(attempt: Attempt, now: datetime) -> bool:
    """Whether this process asks, and no other within the next seconds."""
    mine = Attempt.objects.filter(pk=attempt.pk, status="cancelled", ready_at=attempt.ready_at)
    return mine.update(ready_at=now + EVERY) == 1


def _settled(attempt: Attempt, now: datetime) -> bool:
    if not _stopped(attempt):
        if attempt.ended_at and now - attempt.ended_at < GIVE_UP_AFTER:
            return False
        logger.warning("the remote work of %s could not be stopped; it is left to itself", attempt)
    Attempt.objects.filter(pk=attempt.pk).update(ref="")
    return True


def _stopped(attempt: Attempt) -> bool:
    """Whether nothing is left to be told; also when nobody is left to tell it to."""
    step = warm.plan_of(attempt.run.plan_id).step.get(attempt.key)
    found = performing(step.spec.get("profile") or "") if step else None
    if found is None or found.performer not in PERFORMERS:
        return True
    performer = PERFORMERS[found.performer]
    if not isinstance(performer, Stoppable):
        return True
    try:
        return performer.stop(found.settings, attempt.ref)
    except Exception:
        logger.exception("the remote work of %s was not stopped", attempt)
        return False


def let_go(lease: Lease, work: Work, ref: str) -> None:
    """An attempt was taken from us while its remote work began: leave its name to be told, or tell it now if the run is gone altogether."""
    if not isinstance(work, Performance) or not isinstance(work.performer, Stoppable) or not ref:
        return
    held = Attempt.objects.filter(pk=lease.id)
    if held.exists():
        held.filter(status="cancelled").update(ref=ref)
    else:
        work.performer.stop(work.assignment.settings, ref)
