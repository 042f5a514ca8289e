"""Keeping schedules: who may, what is refused, and what follows a trigger node. Every door changes them through here."""

from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone as clock

from hermes_workflow import schedules
from hermes_workflow.core.documents import check_value
from hermes_workflow.core.errors import Conflict, Forbidden, Malformed, NotFound
from hermes_workflow.core.text import kind_of, shorten
from hermes_workflow.hooks import may_start, trigger_of
from hermes_workflow.models import Design, Schedule
from hermes_workflow.rights import Principal

TIMING = ("cron", "timezone")
CHOICES = {"overlap": Schedule.Overlap.values, "catch_up": Schedule.CatchUp.values}
SWITCHES = ("enabled", "may_send")
SHOWN = 5
SETTABLE = frozenset({*TIMING, *CHOICES, *SWITCHES, "input"})


def schedules_for(principal: Principal) -> QuerySet[Schedule]:
    """The schedules of the principal's profiles."""
    if not principal.may("read"):
        return Schedule.objects.none()
    rows = Schedule.objects.filter(design__deleted_at=None, design__profile_id__in=principal.profile_ids)
    return rows.select_related("design__profile", "owner")


def schedule_for(principal: Principal, schedule_id: int) -> Schedule:
    """One schedule. Raises NotFound, also for one that the principal may not see."""
    found = schedules_for(principal).filter(pk=schedule_id).first()
    if found is None:
        raise NotFound("there is no such schedule")
    return found


def coming(schedule: Schedule, count: int = SHOWN) -> list[datetime]:
    """When its next runs start, as aware UTC; none while it starts nothing."""
    if not schedule.enabled or schedule.problem or _faulty(schedule):
        return []
    return schedules.next_times(schedule.cron, schedule.timezone, clock.now(), count)


def in_words(schedule: Schedule) -> str:
    """Its cron in words; of one that cannot be read, the cron."""
    return schedule.cron if _faulty(schedule) else schedules.words(schedule.cron)


def _faulty(schedule: Schedule) -> bool:
    """A row that was written past these doors is shown too, and set aside when its time comes."""
    return bool(schedules.cron_fault(schedule.cron) or schedules.zone_fault(schedule.timezone))


def create(*, principal: Principal, design: Design, **given: Any) -> Schedule:
    """A new schedule of the design, whose runs belong to the principal. `given` are values of `SETTABLE`, `cron` at least.

    Raises Forbidden, NotFound, Malformed.
    """
    principal.require("design")
    if design.profile_id not in principal.profile_ids or design.deleted_at or design.current_id is None:
        raise NotFound("there is no such design")
    schedule = Schedule(design=design, owner=principal.user)
    _set(principal, schedule, {"cron": "", **given})
    schedule.next_at = _next(schedule)
    schedule.save()
    return schedule


def change(*, principal: Principal, schedule: Schedule, **given: Any) -> Schedule:
    """Change what is given. A problem counts as mended, and runs belong from now on to the principal, unless it was only paused or resumed.
    What a bot changed sends to channels only once a person has allowed it anew.

    Raises Forbidden, NotFound, Malformed, Conflict (its times are those of a trigger node).
    """
    with transaction.atomic():
        kept = _locked(principal, schedule)
        before = (kept.cron, kept.timezone, kept.enabled, kept.problem)
        _set(principal, kept, given)
        if kept.node_id and (kept.cron, kept.timezone) != before[:2]:
            raise Conflict(f"its times are those of the trigger {kept.node_id}", hint=f"change them in the design {kept.design.slug}")
        kept.problem = ""
        if principal.is_bot and set(given) - {"enabled"}:
            kept.may_send = False  # a person allowed what it was, not what a bot made of it
        if set(given) - {"enabled"} or not may_start(kept.owner, kept.design):
            kept.owner = principal.user
        if before != (kept.cron, kept.timezone, kept.enabled, kept.problem) or kept.next_at is None:
            kept.next_at = _next(kept)
        kept.save()
    return kept


def remove(*, principal: Principal, schedule: Schedule) -> None:
    """Its runs stay. Raises Forbidden, NotFound, Conflict (it follows a trigger node)."""
    with transaction.atomic():
        kept = _locked(principal, schedule)
        if kept.node_id:
            hint = f"pause it, or save the design {kept.design.slug} without the cron of {kept.node_id}"
            raise Conflict(f"it follows the trigger {kept.node_id}, which would make it again", hint=hint)
        kept.delete()


def _locked(principal: Principal, schedule: Schedule) -> Schedule:
    principal.require("design")
    found = schedules_for(principal).select_for_update(of=("self",)).filter(pk=schedule.pk).first()
    if found is None:
        raise NotFound("there is no such schedule")
    return found


def _set(principal: Principal, schedule: Schedule, given: dict[str, Any]) -> None:
    """Raises Malformed, Forbidden; nothing is saved."""
    if unknown := sorted(set(given) - SETTABLE):
        raise Malformed(f"{unknown[0]}: unknown field")
    if given.get("may_send") is True and principal.is_bot:
        raise Forbidden("only a person may let a schedule send to channels", hint="a person allows it on the page of the schedule")
    for name, value in given.items():
        if name in CHOICES and value not in CHOICES[name]:
            raise Malformed(f"{name}: must be {', '.join(CHOICES[name][:-1])} or {CHOICES[name][-1]}, got {shorten(value)}")
        if name in SWITCHES and not isinstance(value, bool):
            raise Malformed(f"{name}: must be true or false, got {shorten(value)}")
        if name == "input" and not isinstance(value, dict):
            raise Malformed(f"input: must be an object, got {kind_of(value)}")
        check_value({name: value})
        setattr(schedule, name, value)
    schedules.check(schedule.cron, schedule.timezone)


def _next(schedule: Schedule, now: datetime | None = None) -> datetime | None:
    return schedules.next_time(schedule.cron, schedule.timezone, now or clock.now())


def follow(design: Design, document: Any, author: User) -> None:
    """Let the design have the schedule that its trigger's cron names, and else only those made by hand; in the transaction that saves it.

    What people set of it stays. A new version is a new try for every schedule that was set aside.
    """
    for schedule in design.schedules.exclude(problem=""):
        schedule.problem, schedule.next_at = "", _next(schedule)
        schedule.save(update_fields=["problem", "next_at"])
    node = trigger_of(document)
    cron, zone = node.get("cron") or "", node.get("timezone") or "UTC"
    made = design.schedules.exclude(node_id="").select_related("owner").first()
    if not cron:
        design.schedules.exclude(node_id="").delete()
        return
    kept = made or Schedule(design=design, owner=author)
    if (kept.cron, kept.timezone) != (cron, zone):
        kept.cron, kept.timezone = cron, zone
        kept.next_at = _next(kept)
    kept.node_id = node["id"]
    if not may_start(kept.owner, design):
        kept.owner = author
    kept.save()
