"""The pulse: one idempotent look at what is due. It repairs whatever a lost ring, a dead worker or a long silence left behind."""

import logging
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.utils import timezone
from django_q.tasks import queue_size

from runs import announcements, engine, outbox
from runs.models import Run

logger = logging.getLogger(__name__)

BATCH = 200


@dataclass(frozen=True, slots=True)
class Beat:
    """What one pulse did: runs turned because something was due, runs whose workers were rung."""

    turned: int
    rung: int


def beat(*, now: datetime | None = None, limit: int = BATCH) -> Beat:
    """Turn due runs and ring for waiting work."""
    moment = now or timezone.now()
    return Beat(turned=turn_due(moment, limit=limit), rung=ring_waiting(moment, limit=limit))


def turn_due(now: datetime, *, limit: int = BATCH, run_ids: list[str] | None = None) -> int:
    """Honour every deadline that has passed. One run's fault does not keep the others waiting."""
    due = Run.objects.filter(due_at__lte=now).order_by("due_at")
    if run_ids is not None:
        due = due.filter(id__in=run_ids)
    turned = 0
    for run_id in list(due.values_list("id", flat=True)[: limit * 10]):
        if turned == limit:
            break
        try:
            engine.turn(run_id, now=now)
            turned += 1
        except Exception:
            logger.exception("the deadline of run %s was not honoured; the next pulse tries again", run_id)
    return turned


def ring_waiting(now: datetime, *, limit: int = BATCH) -> int:
    """Ring for attempts that are due or whose lease ran out; one drain takes all due work, so a few unanswered rings are enough."""
    room = settings.HERMES_WORKERS - queue_size()
    waiting = outbox.runs_with_work(now, limit=min(limit, room)) if room > 0 else []
    for run_id in waiting:
        announcements.ring_for(run_id)
    return len(waiting)
