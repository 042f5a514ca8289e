"""The only writer of a run: events and what is projected from them, in one commit and four statements for a plain step."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models import F

from hermes_workflow.core import events as e
from hermes_workflow.core.deadlines import due_at
from hermes_workflow.core.events import Event
from hermes_workflow.core.history import History
from hermes_workflow.core.status import status_of
from hermes_workflow.fields import dumps
from runs import append_only, gatebook
from runs.models import Attempt, Delivery, Run
from runs.seams import deliver, notification
from runs.statements import Statement, execute

Adapt = Callable[[datetime], Any]


class SeqLost(Exception):
    """Another turn wrote to the run in between: read its events and go again."""


class FenceLost(Exception):
    """The attempt is no longer ours: its outcome changes nothing."""


@dataclass(frozen=True, slots=True)
class Lease:
    """An attempt that this process holds. `fence` rises with each claim; a write under an older one does nothing."""

    id: int
    run_id: str
    key: str
    number: int
    kind: str
    fence: int
    claims: int = 1
    ref: str = ""
    claimed_at: datetime = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class Settlement:
    """The outcome of a held attempt: its new status."""

    lease: Lease
    status: str


@dataclass(frozen=True, slots=True)
class Holder:
    """Who takes the attempts that a turn opens, and until when."""

    worker: str
    until: datetime


@dataclass(frozen=True, slots=True)
class Entry:
    """All that one turn changes. `seen` is the seq that it decided on."""

    run_id: str
    profile_id: int
    seen: int
    history: History
    events: Sequence[Event]
    now: datetime
    settlement: Settlement | None = None
    holder: Holder | None = None
    version_id: int | None = None
    plan_digest: str = ""
    due_now: bool = False
    starting: Run | None = None


def write(entry: Entry) -> list[Lease]:
    """Record the turn. Returns the attempts it opened and already holds. Raises SeqLost or FenceLost, and then nothing is written."""
    adapt = connection.ops.adapt_datetimefield_value
    now = adapt(entry.now)
    opening = [event for event in entry.events if _opens(entry.history, event)]
    ours = _first_due(opening) if entry.holder else None
    _fence_open(entry)
    statements = [_insert_run(entry.starting, entry) if entry.starting else _advance_run(entry, now, adapt)]
    if entry.settlement:
        statements.append(_settle(entry.settlement, now))
    if entry.events:
        statements.append(_insert_events(entry, now))
    if opening:
        statements.append(_open_attempts(entry, opening, ours, now, adapt))
    ids = {key: row_id for row_id, key in execute(statements)}
    for event in entry.events:
        if project := _PROJECTIONS.get(event.type):
            project(entry, event)
    return [_lease(entry, ours, ids[ours.key])] if ours else []


def _opens(history: History, event: Event) -> bool:
    """Whether the event opens an attempt that is still open at the end of the turn."""
    if event.type == e.DELIVERY_REQUESTED:
        return event.key in history.resends
    return event.type == e.STEP_SCHEDULED and event.key in history.open_attempts


def rest(run_id: str, history: History, now: datetime) -> None:
    """Nothing follows from what a run was due for: it is looked at again at its next deadline, unless somebody wrote to it meanwhile."""
    Run.objects.filter(id=run_id, seq=history.seq, due_at__lte=now).update(due_at=due_at(history))


def _lease(entry: Entry, ours: Event, attempt_id: int) -> Lease:
    return Lease(attempt_id, entry.run_id, ours.key, ours.data["number"], ours.data["kind"], fence=1, claimed_at=entry.now)


def _first_due(opening: list[Event]) -> Event | None:
    """The one attempt that goes to the holder, who can do one at a time."""
    return next((event for event in opening if not event.data.get("delay")), None)


def _insert_run(run: Run, entry: Entry) -> Statement:
    """The row of a run as its first turn leaves it."""
    history = entry.history
    run.seq, run.status, run.cursor, run.error = history.seq, status_of(history), history.cursor, history.error
    run.due_at, run.ended_at = due_at(history), history.ended_at
    run.created_at = run.updated_at = entry.now
    fields = Run._meta.concrete_fields
    columns, marks = ", ".join(str(field.column) for field in fields), ", ".join(["%s"] * len(fields))
    values = [field.get_db_prep_save(getattr(run, field.attname), connection) for field in fields]
    return Statement(f"INSERT INTO runs_run ({columns}) VALUES ({marks})", values)


def _advance_run(entry: Entry, now: Any, adapt: Adapt) -> Statement:
    history = entry.history
    due = due_at(history)
    values: dict[str, Any] = {
        "seq": history.seq,
        "status": status_of(history),
        "cursor": history.cursor,
        "due_at": now if entry.due_now else due and adapt(due),
        "error": dumps(history.error) if history.error else None,
        "updated_at": now,
        "ended_at": history.ended_at and adapt(history.ended_at),
    }
    if entry.version_id:
        values |= {"version_id": entry.version_id, "plan_id": entry.plan_digest}
    assignments = ", ".join(f"{name} = %s" for name in values)
    sql = f"UPDATE runs_run SET {assignments} WHERE id = %s AND seq = %s"
    return Statement(sql, [*values.values(), entry.run_id, entry.seen], guard=SeqLost(entry.run_id))


def _settle(settlement: Settlement, now: Any) -> Statement:
    sql = "UPDATE runs_attempt SET status = %s, ended_at = %s, lease_until = NULL WHERE id = %s AND fence = %s AND status = 'leased'"
    lease = settlement.lease
    return Statement(sql, [settlement.status, now, lease.id, lease.fence], guard=FenceLost(lease))


def _insert_events(entry: Entry, now: Any) -> Statement:
    rows: list[Any] = []
    for event in entry.events:
        body = None if event.body is None and not has_body(event) else dumps(event.body)
        rows += [entry.run_id, event.seq, event.v, event.type, event.key, now, dumps(event.data), body]
    marks = ", ".join(["(%s, %s, %s, %s, %s, %s, %s, %s)"] * len(entry.events))
    return Statement(f"INSERT INTO runs_event (run_id, seq, v, type, key, at, data, body) VALUES {marks}", rows)


def has_body(event: Event) -> bool:
    """Whether a None body means JSON null (a step's output) rather than no body."""
    return event.type == e.STEP_COMPLETED and "collect" not in event.data


def _open_attempts(entry: Entry, opening: list[Event], ours: Event | None, now: Any, adapt: Adapt) -> Statement:
    rows: list[Any] = []
    for event in opening:
        ready_at = adapt(entry.now + timedelta(seconds=event.data["delay"])) if event.data.get("delay") else now
        rows += [entry.run_id, event.key, event.data["number"], event.data["kind"], "{}", "", ready_at]
        if entry.holder and event is ours:
            rows += ["leased", 1, 1, entry.holder.worker, adapt(entry.holder.until)]
        else:
            rows += ["ready", 0, 0, "", None]
    marks = ", ".join(["(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"] * len(opening))
    columns = "run_id, key, number, kind, payload, ref, ready_at, status, fence, claims, worker, lease_until"
    return Statement(f"INSERT INTO runs_attempt ({columns}) VALUES {marks} RETURNING id, key", rows, returns=True)


def _fence_open(entry: Entry) -> None:
    """Cancelled or re-entered work: late results of its open attempts find another fence."""
    for event in entry.events:
        if event.type not in (e.RUN_CANCELLED, e.RUN_REOPENED):
            continue
        rows = Attempt.objects.filter(run_id=entry.run_id, status__in=("ready", "leased"))
        if event.type == e.RUN_REOPENED:
            rows = rows.filter(key__in=event.data["keys"])
        rows.update(status="cancelled", fence=F("fence") + 1, ended_at=entry.now, ready_at=entry.now, lease_until=None)


def _keep_receipt(entry: Entry, event: Event) -> None:
    Delivery.objects.create(run_id=entry.run_id, key=event.key, **receipt(event))


def receipt(event: Event) -> dict[str, Any]:
    """The columns of the receipt that an event stands for: a parcel's, or an escalation's under the round of its gate."""
    data = event.data
    if event.type == e.GATE_ESCALATED:
        ok, detail = deliver.notified(data["to"], data["reached"])
        data = {"number": data["round"], "target": data["to"], "ok": ok, "detail": detail}
    return {
        "number": data["number"],
        "target": data["target"][:255],
        "ok": data["ok"],
        "detail": data["detail"][:500],
        "at": event.at,
    }


def _escalate(entry: Entry, event: Event) -> None:
    gatebook.escalate(entry.run_id, event)
    if event.data["to"]:
        _keep_receipt(entry, event)


def _tell_of_failure(entry: Entry, event: Event) -> None:
    """Who started a run hears that it failed, once per failure; a bot reads its runs itself."""
    run = Run.objects.select_related("design", "started_by").get(pk=entry.run_id)
    if run.started_by is None or run.started_by.groups.filter(name="bot").exists():
        return
    title = f"{run.design.title or run.design.slug}: failed at {event.data['node_id']}"
    who, source = f"user:{run.started_by.get_username()}", f"failed:{run.pk}:{event.seq}"
    notification.notify(target=who, run_id=run.pk, source=source, title=title, text=event.data["msg"])


def _end_gates(entry: Entry, event: Event) -> None:
    gatebook.close_all(run_id=entry.run_id, keys=event.data.get("keys"), at=event.at)


_PROJECTIONS: dict[str, Any] = {
    e.RUN_CANCELLED: _end_gates,
    e.RUN_FAILED: _tell_of_failure,
    e.RUN_REOPENED: _end_gates,
    e.DELIVERY_TRIED: _keep_receipt,
    e.GATE_OPENED: lambda entry, event: gatebook.open_gate(entry.run_id, entry.profile_id, entry.history.plan, event),
    e.GATE_VOTED: lambda entry, event: gatebook.add_vote(entry.run_id, event),
    e.GATE_ANSWERED: lambda entry, event: gatebook.end(entry.run_id, event, "answered"),
    e.GATE_EXPIRED: lambda entry, event: gatebook.end(entry.run_id, event, "expired"),
    e.GATE_CLOSED: lambda entry, event: gatebook.end(entry.run_id, event, "closed"),
    e.GATE_ESCALATED: _escalate,
}


@transaction.atomic
def purge(run_id: str) -> None:
    """Remove a run and all its rows. The mark lets the append-only guard see that the history leaves with its run."""
    Run.objects.filter(id=run_id).update(status=append_only.PURGED)
    Run.objects.get(id=run_id).delete()
