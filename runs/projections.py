"""Projections written again from events: what every row of a run should hold, how it differs from what is stored, and mending that."""

from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.db.models import Case, F, When

from hermes_workflow.core import events as e
from hermes_workflow.core.deadlines import due_at
from hermes_workflow.core.events import Event
from hermes_workflow.core.history import History
from hermes_workflow.core.plan import Plan
from hermes_workflow.core.status import status_of
from runs import gatebook, warm
from runs.journal import receipt
from runs.models import Attempt, Delivery, Gate, GateAudience, Run
from runs.models import Event as EventRow
from runs.tries import ENDS, OPENS

OPEN = ("ready", "leased")  # which of the two belongs to the outbox, not to the history
GATE_ENDS = {e.GATE_ANSWERED: "answered", e.GATE_EXPIRED: "expired", e.GATE_CLOSED: "closed"}

Columns = dict[str, Any]
Place = tuple[Any, ...]


@dataclass(slots=True)
class Rows:
    """The rows of one run by what names them: the table, then the key, number or round, target or audience."""

    rows: dict[Place, Columns] = field(default_factory=dict)

    def put(self, place: Place, **columns: Any) -> None:
        """A row, or more of its columns."""
        self.rows.setdefault(place, {}).update(columns)

    def under(self, table: str, key: str | None = None) -> list[Columns]:
        """The rows of a table, or those of one step."""
        return [columns for place, columns in self.rows.items() if place[0] == table and key in (None, place[1])]


def folded(run: Run) -> Rows:
    """The rows as the events give them. Raises NeedsNewerCode when this code cannot read them all."""
    rows, events = Rows(), _events(run.pk)
    plan, digest = warm.plan_of(events[0].data["plan"]), events[0].data["plan"]
    version = events[0].data["version"]
    History(plan, events).require_known()
    for event in events:
        if event.type == e.RUN_REOPENED and event.data.get("plan"):
            digest, version = event.data["plan"], event.data["version"]
            plan = warm.plan_of(digest)
            History(plan).require_known()
        _project(rows, plan, event)
    history = History(plan, events)
    rows.put(
        ("run",),
        seq=history.seq,
        status=status_of(history),
        cursor=history.cursor,
        due_at=due_at(history),
        error=history.error,
        updated_at=history.at,
        ended_at=history.ended_at,
        plan_id=digest,
        version_number=version,
    )
    return rows


def _events(run_id: str) -> list[Event]:
    """The history, with the bodies of gates only: outputs are no projection."""
    shown = Case(When(type=e.GATE_OPENED, then=F("body")))
    rows = EventRow.objects.filter(run_id=run_id).order_by("seq").annotate(shown=shown)
    names = ("type", "key", "data", "shown", "at", "seq", "v")
    return [Event(*values) for values in rows.values_list(*names)]


def _project(rows: Rows, plan: Plan, event: Event) -> None:
    data, key = event.data, event.key
    if event.type in OPENS:
        rows.put(("attempt", key, data["number"]), kind=data["kind"], status="open")
    elif event.type in ENDS and ("attempt", key, data.get("number")) in rows.rows:
        rows.put(("attempt", key, data["number"]), status=ENDS[event.type])
    if event.type == e.DELIVERY_TRIED:
        _deliver(rows, event)
    elif event.type.startswith("gate."):
        _project_gate(rows, plan, event)
    elif event.type in (e.RUN_CANCELLED, e.RUN_REOPENED):
        _end_open(rows, event)


def _deliver(rows: Rows, event: Event) -> None:
    columns = receipt(event)
    rows.put(("delivery", event.key, columns.pop("number"), columns.pop("target")), **columns)


def _project_gate(rows: Rows, plan: Plan, event: Event) -> None:
    data, place = event.data, ("gate", event.key, event.data["round"])
    if event.type == e.GATE_OPENED:
        rows.put(place, status="open", answer="", votes=[], escalated_at=None, ended_at=None, **gatebook.opened(plan, event))
        _ask(rows, event)
    elif event.type == e.GATE_VOTED:
        rows.rows[place]["votes"].append(gatebook.vote_row(event))
    elif event.type == e.GATE_ESCALATED:
        rows.put(place, escalated_at=event.at)
        if data["to"]:
            _ask(rows, event)
            _deliver(rows, event)
    elif event.type in GATE_ENDS:
        rows.put(place, **gatebook.ended(event, GATE_ENDS[event.type]))
        for audience in _audiences(rows, place):
            audience["open"] = False


def _ask(rows: Rows, event: Event) -> None:
    place = ("gate", event.key, event.data["round"])
    for name in event.data["asked"]:
        rows.rows.setdefault(("audience", *place[1:], name), {"waiting_since": rows.rows[place]["waiting_since"], "open": True})


def _audiences(rows: Rows, gate: Place) -> list[Columns]:
    return [columns for place, columns in rows.rows.items() if place[0] == "audience" and place[1:3] == gate[1:3]]


def _end_open(rows: Rows, event: Event) -> None:
    """A cancelled run, or steps that are entered again: open attempts are fenced, open gates closed."""
    keys = event.data.get("keys")
    for place, columns in rows.rows.items():
        if columns.get("status") != "open" or (keys is not None and place[1] not in keys):
            continue
        if place[0] == "attempt":
            columns["status"] = "cancelled"
        else:
            columns.update(status="closed", ended_at=event.at)
            for audience in _audiences(rows, place):
                audience["open"] = False


def stored(run: Run) -> Rows:
    """The rows as they are."""
    rows = Rows()
    names = ("seq", "status", "cursor", "due_at", "error", "updated_at", "ended_at", "plan_id")
    rows.put(("run",), version_number=run.version.number, **{name: getattr(run, name) for name in names})
    for attempt in run.attempts.all():
        status = "open" if attempt.status in OPEN else attempt.status
        rows.put(("attempt", attempt.key, attempt.number), kind=attempt.kind, status=status)
    for sent in run.deliveries.all():
        rows.put(("delivery", sent.key, sent.number, sent.target), ok=sent.ok, detail=sent.detail, at=sent.at)
    for gate in run.gates.prefetch_related("audiences"):
        columns = {name: getattr(gate, name) for name in GATE_COLUMNS}
        rows.put(("gate", gate.key, gate.round), **columns)
        for asked in gate.audiences.all():
            rows.put(("audience", gate.key, gate.round, asked.audience), waiting_since=asked.waiting_since, open=asked.open)
    return rows


GATE_COLUMNS = tuple(
    field.attname for field in Gate._meta.concrete_fields if field.attname not in ("id", "run_id", "profile_id", "key", "round")
)


@dataclass(frozen=True, slots=True)
class Difference:
    """A row, or one of its columns, that is not as the events give it."""

    place: Place
    column: str
    stored: Any
    folded: Any

    def __str__(self) -> str:
        name = ":".join(str(part) for part in self.place)
        what = f"{name} {self.column}".strip()
        return f"{what}: stored {_short(self.stored)}, events say {_short(self.folded)}"


def _short(value: Any) -> str:
    return str(value)[:120]


def differences(run: Run) -> list[Difference]:
    """How the rows of a run differ from its events. A run that was left to be decided at once is due earlier than they say."""
    have, want = stored(run), folded(run)
    found = []
    for place in dict.fromkeys((*want.rows, *have.rows)):
        if place not in have.rows or place not in want.rows:
            found.append(
                Difference(place, "", "present" if place in have.rows else "nothing", "present" if place in want.rows else "nothing")
            )
            continue
        mine, theirs = have.rows[place], want.rows[place]
        found += [Difference(place, name, mine.get(name), theirs[name]) for name in theirs if mine.get(name) != theirs[name]]
    return [one for one in found if not (one.column == "due_at" and one.place == ("run",) and one.stored == run.updated_at)]


def rebuild(run_id: str) -> list[Difference]:
    """Write the rows of a run again as its events give them; rows keep their ids. Returns what differed."""
    with transaction.atomic():
        run = Run.objects.select_for_update(of=("self",)).select_related("version").get(pk=run_id)
        found = differences(run)
        want = folded(run).rows
        for place in dict.fromkeys(one.place for one in found):
            _MEND[place[0]](run, place, want.get(place))
    warm.forget()
    return found


def _mend_run(run: Run, place: Place, columns: Columns | None) -> None:
    assert columns is not None
    changed = {name: value for name, value in columns.items() if name not in ("version_number", "due_at")}
    changed["version_id"] = run.design.versions.get(number=columns["version_number"]).pk
    changed["due_at"] = columns["due_at"] if run.due_at != run.updated_at else run.due_at
    Run.objects.filter(pk=run.pk).update(**changed)


def _mend_attempt(run: Run, place: Place, columns: Columns | None) -> None:
    """An attempt that changes sides gets a new fence, so that whoever holds it finds out."""
    rows = Attempt.objects.filter(run=run, key=place[1], number=place[2])
    if columns is None:
        rows.delete()
        return
    status = "ready" if columns["status"] == "open" else columns["status"]
    changed = {"kind": columns["kind"], "status": status, "lease_until": None}
    if not rows.update(fence=F("fence") + 1, **changed):
        Attempt.objects.create(run=run, key=place[1], number=place[2], ready_at=run.updated_at, **changed)


def _mend_gate(run: Run, place: Place, columns: Columns | None) -> None:
    named = {"run": run, "key": place[1], "round": place[2]}
    if columns is None:
        Gate.objects.filter(**named).delete()
    else:
        Gate.objects.update_or_create(**named, defaults=columns, create_defaults={**columns, "profile_id": run.profile_id})


def _mend_audience(run: Run, place: Place, columns: Columns | None) -> None:
    gate = Gate.objects.filter(run=run, key=place[1], round=place[2]).first()
    if gate is None:
        return
    if columns is None:
        gate.audiences.filter(audience=place[3]).delete()
    else:
        GateAudience.objects.update_or_create(gate=gate, audience=place[3], defaults=columns)


def _mend_delivery(run: Run, place: Place, columns: Columns | None) -> None:
    named = {"run": run, "key": place[1], "number": place[2], "target": place[3]}
    if columns is None:
        Delivery.objects.filter(**named).delete()
    else:
        Delivery.objects.update_or_create(**named, defaults=columns)


_MEND = {"run": _mend_run, "attempt": _mend_attempt, "gate": _mend_gate, "audience": _mend_audience, "delivery": _mend_delivery}
