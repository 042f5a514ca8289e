"""Warm state: the folded histories this process wrote last, so that a step costs its own events and not all before it."""

from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from django.db import connection

from hermes_workflow.core.errors import NotFound
from hermes_workflow.core.events import Event
from hermes_workflow.core.history import History
from hermes_workflow.core.outputs import INPUT_SEQ
from hermes_workflow.core.plan import FORMAT, Plan
from hermes_workflow.fields import dumps
from hermes_workflow.models import Plan as PlanRow
from runs.models import Event as EventRow

CAPACITY = 256
PLANS = 64
LARGEST_INPUT = 65_536  # characters of JSON


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What of a run never changes. `bodies` may hold its input, so that each step need not read it again."""

    id: str
    profile_id: int
    bodies: dict[int, Any] = field(default_factory=dict, compare=False)

    def remember(self, given: Any) -> None:
        """Keep the input, unless it is large: a process keeps hundreds of runs, and its memory must stay bounded."""
        if len(dumps(given)) <= LARGEST_INPUT:
            self.bodies[INPUT_SEQ] = given


_kept: "OrderedDict[str, tuple[RunFacts, History]]" = OrderedDict()
_plans: "OrderedDict[str, Plan]" = OrderedDict()
_guard = Lock()


def take(run_id: str, *, locked: bool, fresh: bool = False) -> tuple[RunFacts, History]:
    """The run's history, popped: nobody else folds into it meanwhile. Raises NotFound.

    `locked` holds the run's row until the transaction ends; without it (and without `fresh`) a warm history is trusted as it is.
    """
    with _guard:
        kept = _kept.pop(run_id, None)
    if kept and not locked and not fresh:
        return kept
    return _read(run_id, kept, locked)


def keep(run: RunFacts, history: History) -> None:
    """Put a committed history back."""
    with _guard:
        known = _kept.get(run.id)
        if known is None or known[1].seq <= history.seq:
            _kept[run.id] = (run, history)
            _kept.move_to_end(run.id)
        while len(_kept) > CAPACITY:
            _kept.popitem(last=False)


def forget() -> None:
    """Read every history anew."""
    with _guard:
        _kept.clear()


def plan_of(digest: str) -> Plan:
    """The plan of a digest, kept for the next run that shares it; one that only newer code can read is `unknown`."""
    with _guard:
        if plan := _plans.get(digest):
            _plans.move_to_end(digest)
            return plan
    plan = _read_plan(digest)
    with _guard:
        _plans[digest] = plan
        while len(_plans) > PLANS:
            _plans.popitem(last=False)
    return plan


def _read_plan(digest: str) -> Plan:
    row = PlanRow.objects.get(pk=digest)
    return Plan.from_body(row.body) if row.format <= FORMAT else Plan.of_newer_code(row.body)


def _read(run_id: str, kept: tuple[RunFacts, History] | None, locked: bool) -> tuple[RunFacts, History]:
    lock = " FOR UPDATE" if locked and connection.features.has_select_for_update else ""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT seq, plan_id, profile_id FROM runs_run WHERE id = %s{lock}", [run_id])  # noqa: S608 - a constant
        row = cursor.fetchone()
    if row is None:
        raise NotFound("there is no such run")
    seq, digest, profile_id = row
    if kept and kept[1].seq <= seq and kept[1].plan.digest == digest:
        run, history = kept
    else:
        run, history = RunFacts(run_id, profile_id), History(plan_of(digest))
    if history.seq < seq:
        for event in _events(run_id, history.seq, seq):
            history.apply(event)
    return run, history


def _events(run_id: str, after: int, upto: int) -> list[Event]:
    rows = EventRow.objects.filter(run_id=run_id, seq__gt=after, seq__lte=upto).order_by("seq")
    fields = rows.values_list("type", "key", "data", "at", "seq", "v")
    return [Event(type=type_, key=key, data=data, at=at, seq=seq, v=v) for type_, key, data, at, seq, v in fields]
