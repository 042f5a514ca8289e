"""The pulse: one idempotent look at what is due. It repairs whatever a lost ring, a dead worker or a long silence left behind."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.db import Error
from django.utils import timezone
from django_q.tasks import queue_size
from redis.exceptions import RedisError

from runs import announcements, engine, outbox, reminders, slots, stopping
from runs.models import Run

logger = logging.getLogger(__name__)

BATCH = 200


@dataclass(frozen=True, slots=True)
class Beat:
    """What one pulse did: how many due runs it turned, for how many it rang, and whether work waits that nobody heard of (`unheard`)."""

    turned: int
    rung: int
    unheard: bool


def beat(*, now: datetime | None = None, limit: int = BATCH) -> Beat:
    """Start due schedules, turn due runs, remind of old gates and ring for waiting work."""
    moment = now or timezone.now()
    announcements.prove_carriage()
    _apart("schedules", lambda: slots.start_due(moment, limit=limit))
    turned = turn_due(moment, limit=limit)
    _apart("reminders", lambda: reminders.remind(moment))
    rung, waiting = ring_waiting(moment, limit=limit)
    return Beat(turned=turned, rung=rung, unheard=rung < waiting)


def _apart(what: str, look: Callable[[], object]) -> None:
    """One part of a beat; its fault keeps no deadline waiting."""
    try:
        look()
    except Error:
        raise
    except Exception:
        logger.exception("the pulse's look at %s failed; the next one tries again", what)


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
            engine.honour(run_id, now=now)
            turned += 1
        except Exception:
            logger.exception("the deadline of run %s was not honoured; the next pulse tries again", run_id)
    return turned


def ring_waiting(now: datetime, *, limit: int = BATCH) -> tuple[int, int]:
    """Ring for attempts that are due or whose lease ran out, and for work that has to be stopped elsewhere; one drain takes all that is
    due, so a few unanswered rings are enough.

    Returns how many runs were rung for, and of how many.
    """
    room = min(limit, settings.HERMES_WORKERS - _unanswered())
    if room <= 0:
        return 0, 0
    unwanted = stopping.unwanted(now).values_list("run_id", flat=True)
    waiting = list(dict.fromkeys([*outbox.runs_with_work(now, limit=room), *unwanted[:room]]))[:room]
    return sum(announcements.ring_for(run_id) for run_id in waiting), len(waiting)


def _unanswered() -> int:
    """How many rings wait; none while Redis is away, for it forgets them."""
    try:
        return int(queue_size())
    except RedisError:
        return 0
