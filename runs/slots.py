"""Schedules whose time has come: each slot starts one run, whatever the number of machines that look."""

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db import InterfaceError, OperationalError
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from hermes_workflow import schedules
from hermes_workflow.core.errors import Conflict, HermesError, NeedsNewerCode
from hermes_workflow.models import Schedule
from hermes_workflow.rights import Principal
from runs import sending, starts
from runs.models import Notice, Run

logger = logging.getLogger(__name__)

LATE = timedelta(minutes=2)  # a slot that waits longer was missed: a machine that looks once a minute is late by less
BEHIND = 50
ROUNDS = 10
PROBLEM_LIMIT = 500
RELATED = ("design__current", "design__profile", "owner")


class Broken(HermesError):
    """The schedule cannot start a run until somebody mends it."""


def start_due(now: datetime, *, limit: int) -> int:
    """Start what is due, at most `limit` runs. Returns how many began.

    A schedule starts one run a round, so that one that catches up on many slots keeps no other waiting.
    """
    started = 0
    principals: dict[int, Principal] = {}
    if not _ready(now).exists():  # as nearly always
        return 0
    for _ in range(ROUNDS):
        due = _due(now, limit - started)
        began = sum(_start_one(schedule, now, principals) for schedule in due)
        started += began
        if not began or started >= limit:
            break
    return started


def _ready(now: datetime) -> QuerySet[Schedule]:
    return Schedule.objects.filter(enabled=True, problem="", next_at__isnull=False, next_at__lte=now).order_by("next_at")


def _due(now: datetime, limit: int) -> Sequence[Schedule]:
    """What was due just now first, then some of what is behind: neither keeps the other from its turn."""
    running = Run.objects.filter(schedule=OuterRef("pk"), ended_at=None)
    rows = _ready(now).annotate(busy=Exists(running)).exclude(Q(overlap=Schedule.Overlap.QUEUE) & Q(busy=True))
    rows = rows.select_related(*RELATED).defer("design__current__document", "design__current__viewport")
    fresh = list(rows.filter(next_at__gt=now - LATE)[:limit])
    return fresh + list(rows.filter(next_at__lte=now - LATE)[: max(0, min(BEHIND, limit - len(fresh)))])


def _start_one(schedule: Schedule, now: datetime, principals: dict[int, Principal]) -> bool:
    """Whether a run of the schedule began. Whatever is wrong with it stays with it."""
    try:
        return _take_slot(schedule, now, principals)
    except (OperationalError, InterfaceError):
        raise
    except NeedsNewerCode as error:
        logger.info("schedule %s waits: %s", schedule.pk, error.msg)
    except HermesError as error:
        _quarantine(schedule, error.msg)
    except Exception as error:
        logger.exception("schedule %s could not start a run", schedule.pk)
        _quarantine(schedule, f"starting failed with {type(error).__name__}: {error}")
    return False


def _take_slot(schedule: Schedule, now: datetime, principals: dict[int, Principal]) -> bool:
    schedules.check(schedule.cron, schedule.timezone)
    slot = _slot(schedule, now)
    if slot is None or (schedule.overlap == Schedule.Overlap.SKIP and schedule.busy):  # type: ignore[attr-defined]  # annotated
        _advance(schedule, after=now)
        return False
    _require_rights(schedule, principals)
    _require_sending(schedule)
    try:
        _, began = starts.start(
            starts.Start(
                design=schedule.design, origin="schedule", input=schedule.input, starter=schedule.owner, schedule=schedule, slot=slot
            )
        )
    except NeedsNewerCode:
        raise
    except Conflict:  # another machine was faster
        began = False
    _advance(schedule, after=slot, last=slot)
    return began


def _slot(schedule: Schedule, now: datetime) -> datetime | None:
    """The moment that the next run stands for; None when all that passed are let go."""
    first = schedule.next_at
    assert first is not None
    if schedule.catch_up == Schedule.CatchUp.ALL:
        return first
    slot = schedules.latest(schedule.cron, schedule.timezone, first, now)
    waited = schedule.overlap == Schedule.Overlap.QUEUE  # for its own earlier run, so its slot was not missed
    return slot if schedule.catch_up == Schedule.CatchUp.ONE or waited or slot > now - LATE else None


def _advance(schedule: Schedule, *, after: datetime, last: datetime | None = None) -> None:
    """On to the next slot, unless somebody changed the schedule meanwhile."""
    following = schedules.next_time(schedule.cron, schedule.timezone, after)
    changes = {"next_at": following} | ({"last_slot": last} if last else {})
    Schedule.objects.filter(pk=schedule.pk, next_at=schedule.next_at).update(**changes)


def _require_rights(schedule: Schedule, principals: dict[int, Principal]) -> None:
    """What the owner may do counts at each slot anew. Raises Broken."""
    design, owner = schedule.design, schedule.owner
    if design.deleted_at:
        raise Broken("its design was deleted")
    if owner is None:
        raise Broken("whoever made it is gone; saving it makes you its owner")
    who = principals.setdefault(owner.pk, Principal(owner))
    if not who.may("start"):
        raise Broken(f"its owner {who.name} may not start runs any more")
    if design.profile_id not in who.profile_ids:
        raise Broken(f"its owner {who.name} belongs no longer to the profile {design.profile.name}")


def _require_sending(schedule: Schedule) -> None:
    """Raises Broken where a run would send to channels and nobody allowed that."""
    if schedule.may_send or schedule.design.current is None:
        return
    targets = sending.sends_to(starts.readable(schedule.design.current.plan_id))
    if targets:
        raise Broken(f"its runs would send to {', '.join(targets)}, which is not allowed yet")


def _quarantine(schedule: Schedule, problem: str) -> None:
    """Out of the way of the others, until somebody mends it; its owner hears of it once."""
    text = f"{problem[: PROBLEM_LIMIT - 1]}…" if len(problem) > PROBLEM_LIMIT else problem
    unchanged = Schedule.objects.filter(pk=schedule.pk, next_at=schedule.next_at, problem="")
    if unchanged.update(problem=text) and schedule.owner:
        Notice.objects.bulk_create(
            [
                Notice(
                    user=schedule.owner,
                    schedule=schedule,
                    source=f"schedule:{schedule.pk}:{schedule.next_at}",
                    title=f"{schedule.design.title or schedule.design.slug}: the schedule {schedule.cron} starts no more runs",
                    text=text,
                    created_at=timezone.now(),
                )
            ],
            ignore_conflicts=True,
        )
