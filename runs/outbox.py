"""Claims: attempts are leased to one worker at a time, the fence committed before the work begins."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone

from runs.journal import Holder, Lease
from runs.models import Attempt

MAX_CLAIMS = 3


def lease_length() -> timedelta:
    """How long a claim holds without a heartbeat."""
    return timedelta(seconds=settings.HERMES_LEASE_SECONDS)


def holder(worker: str, now: datetime | None = None) -> Holder:
    """`worker` as the holder of what is claimed now."""
    return Holder(worker=worker, until=(now or timezone.now()) + lease_length())


def claim(worker: str, *, run_id: str | None = None, limit: int = 1) -> list[Lease]:
    """Lease up to `limit` due attempts, oldest first; expired leases are taken over with the same number and a new fence."""
    now = timezone.now()
    moment: Any = connection.ops.adapt_datetimefield_value
    of_run, arguments = ("", []) if run_id is None else ("run_id = %s AND ", [run_id])
    lock = " FOR UPDATE SKIP LOCKED" if connection.features.has_select_for_update_skip_locked else ""
    sql = f"""
        UPDATE runs_attempt SET status = 'leased', fence = fence + 1, claims = claims + 1, worker = %s, lease_until = %s
        WHERE id IN (
            SELECT id FROM runs_attempt
            WHERE {of_run}((status = 'ready' AND ready_at <= %s) OR (status = 'leased' AND lease_until <= %s))
            ORDER BY ready_at, id LIMIT %s{lock}
        ) RETURNING id, run_id, key, number, kind, fence, claims, ref"""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql, [worker, moment(now + lease_length()), *arguments, moment(now), moment(now), limit])
        return [Lease(*row, claimed_at=now) for row in cursor.fetchall()]


def renew(lease: Lease) -> bool:
    """Extend a held lease; False when it is no longer ours."""
    held = Attempt.objects.filter(id=lease.id, fence=lease.fence, status="leased")
    return held.update(lease_until=timezone.now() + lease_length()) == 1


def release(lease: Lease, *, after: float, ref: str) -> bool:
    """Hand an unfinished attempt back, to be claimed again under the same number in `after` seconds."""
    held = Attempt.objects.filter(id=lease.id, fence=lease.fence, status="leased")
    ready_at = timezone.now() + timedelta(seconds=after)
    return held.update(status="ready", ref=ref, ready_at=ready_at, lease_until=None, claims=0) == 1


def withdraw(run_id: str, attempts: Iterable[tuple[str, int]], now: datetime) -> list[tuple[str, int]]:
    """Take back those of a run's attempts, by key and number, that nobody has begun; in the transaction of a turn. Returns which."""
    wanted = [value for pair in attempts for value in pair]
    among = " OR ".join(["(key = %s AND number = %s)"] * (len(wanted) // 2))
    sql = f"""
        UPDATE runs_attempt SET status = 'cancelled', fence = fence + 1, ended_at = %s
        WHERE run_id = %s AND status = 'ready' AND ref = '' AND ({among}) RETURNING key, number"""
    moment: Any = connection.ops.adapt_datetimefield_value(now)
    with connection.cursor() as cursor:
        cursor.execute(sql, [moment, run_id, *wanted])
        return sorted(cursor.fetchall())


def hand_back(worker: str) -> int:
    """Make everything that `worker` holds ready again, because it ends. Returns how many attempts."""
    held = Attempt.objects.filter(worker=worker, status="leased")
    return held.update(status="ready", ready_at=timezone.now(), lease_until=None, claims=0)


def runs_with_work(now: datetime, *, limit: int) -> list[str]:
    """Runs that have an attempt to claim: ready, or with an expired lease."""
    due = Q(status="ready", ready_at__lte=now) | Q(status="leased", lease_until__lte=now)
    return list(Attempt.objects.filter(due).order_by("ready_at").values_list("run_id", flat=True).distinct()[:limit])
