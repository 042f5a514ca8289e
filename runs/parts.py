"""The parts of the machine and how each is: what works, what is missing, and what that means for runs."""

from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.db import connection
from django.utils import timezone
from django_q.tasks import queue_size
from redis.exceptions import RedisError

from runs import health
from runs.models import Attempt

OK, BAD, ABSENT = "ok", "bad", "absent"
MOST_WAITING = 1000


@dataclass(frozen=True, slots=True)
class Part:
    """One part. `state` is ok, bad or absent; `at` is when it was last seen."""

    name: str
    state: str
    says: str
    at: datetime | None = None


def machine(now: datetime | None = None) -> list[Part]:
    """Database, workers, pulse, work that waits, and Redis."""
    moment = now or timezone.now()
    return [
        Part("Database", OK, f"{connection.display_name} answers"),
        _workers(moment),
        _pulse(moment),
        _waiting(moment),
        _redis(),
    ]


def silent(now: datetime | None = None) -> list[Part]:
    """The parts that runs need and that give no sign of life; two rows are read."""
    moment = now or timezone.now()
    return [part for part in (_pulse(moment), _workers(moment)) if part.state == BAD]


def _workers(now: datetime) -> Part:
    at = health.seen(health.WORKERS)
    if at and now - at < health.SILENT:
        return Part("Workers", OK, f"{settings.HERMES_WORKERS} are configured and take tasks", at)
    return Part("Workers", BAD, "no worker takes tasks; the pulse performs steps in their place, slowly, while it runs", at)


def _pulse(now: datetime) -> Part:
    at = health.seen(health.PULSE)
    if at and now - at < health.PULSE_SILENT:
        return Part("Pulse", OK, "deadlines, schedules and retries are kept", at)
    return Part("Pulse", BAD, "the pulse is silent: a deadline is kept once somebody looks at its run, and schedules start late", at)


def _waiting(now: datetime) -> Part:
    due = Attempt.objects.filter(status=Attempt.Status.READY, ready_at__lte=now)[: MOST_WAITING + 1].values("id")
    return Part("Steps", OK if len(due) <= MOST_WAITING else BAD, _steps(len(due)))


def _steps(count: int) -> str:
    if count <= 1:
        return "1 step waits for a worker" if count else "nothing waits for a worker"
    return f"{min(count, MOST_WAITING)}{'+' if count > MOST_WAITING else ''} steps wait for a worker"


def _redis() -> Part:
    if not settings.REDIS_URL:
        return Part("Redis", ABSENT, "not configured: the database rings the workers, and open pages look for themselves")
    try:
        return Part("Redis", OK, f"answers; {queue_size()} rings are queued")
    except (RedisError, OSError):
        return Part("Redis", BAD, "does not answer: the pulse performs steps in the workers' place, and open pages look for themselves")
