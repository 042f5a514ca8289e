"""The turn: facts survive whatever goes wrong while deciding, refusals change nothing, and what is stuck recovers."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.db import transaction

from hermes_workflow.core import events as e
from hermes_workflow.core import scheduler
from hermes_workflow.core.errors import Conflict, NotFound
from hermes_workflow.core.events import Event
from hermes_workflow.core.folds import FOLDS
from runs import engine, journal, pulse, warm
from runs.models import Event as EventRow
from runs.models import Run
from tests import builders as b
from tests.fakes import ScriptedPerformer, structured

pytestmark = pytest.mark.django_db

T0 = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def clock() -> Iterator[time_machine.Traveller]:
    with time_machine.travel(T0, tick=False) as moment:
        yield moment


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Deciding raises until `broken.undo()`."""

    def fault(*_: object) -> None:
        raise ZeroDivisionError("a bug of ours")

    monkeypatch.setattr(scheduler, "_next", fault)
    return monkeypatch


@pytest.fixture
def run_id(clock: time_machine.Traveller) -> str:
    return b.started(b.approval("review"), b.approval("again"), b.output("out"))


def beat() -> int:
    return pulse.turn_due(datetime.now(UTC))


def test_a_fault_while_deciding_keeps_the_fact_and_says_where_it_was(run_id: str, broken: pytest.MonkeyPatch):
    b.vote(run_id, "review", "approve")
    shown = b.document(run_id)
    assert b.types_of(run_id)[-2:] == [e.GATE_VOTED, e.RUN_STUCK]
    assert (shown["status"], shown["ok"]) == ("waiting", True)
    assert shown["stuck"]["kind"] == "internal"
    assert "ZeroDivisionError: a bug of ours" in shown["stuck"]["msg"]
    assert "fault" in shown["stuck"]["place"]


def test_a_stuck_run_goes_on_by_itself_once_the_fault_is_mended(run_id: str, broken: pytest.MonkeyPatch, clock: time_machine.Traveller):
    b.vote(run_id, "review", "approve")
    broken.undo()
    clock.shift(60)
    assert beat() == 1
    shown = b.document(run_id)
    assert (shown["status"], shown["answers"]) == ("awaiting_approval", {"review": "approve"})
    assert shown["stuck"] is None


def test_a_stuck_run_goes_on_with_the_next_fact(run_id: str, broken: pytest.MonkeyPatch):
    b.vote(run_id, "review", "later")
    broken.undo()
    b.vote(run_id, "review", "approve", by="bob")
    assert b.document(run_id)["pending"]["node_id"] == "again"


def test_a_run_with_nothing_left_to_decide_says_that_it_is_no_longer_stuck(run_id: str, clock: time_machine.Traveller):
    def stick(turn: engine.Turn) -> None:
        turn.record(Event(e.RUN_STUCK, "", {"kind": "internal", "msg": "x", "place": ""}))

    engine.turn(run_id, stick)
    assert b.types_of(run_id)[-2:] == [e.RUN_STUCK, e.RUN_RESUMED]
    assert b.document(run_id)["status"] == "awaiting_approval"


def test_a_stuck_run_is_tried_less_and_less_often(run_id: str, broken: pytest.MonkeyPatch, clock: time_machine.Traveller):
    b.vote(run_id, "review", "approve")
    waits = []
    for _ in range(9):
        due = Run.objects.get(pk=run_id).due_at
        waits.append((due - datetime.now(UTC)).total_seconds())
        clock.move_to(due)
        assert beat() == 1
        assert beat() == 0
    assert waits == [60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]


def test_looking_at_a_stuck_run_adds_nothing(run_id: str, broken: pytest.MonkeyPatch):
    b.vote(run_id, "review", "approve")
    before = b.events_of(run_id)
    for _ in range(3):
        b.read(run_id)
        engine.turn(run_id)
    assert b.events_of(run_id) == before


def test_stuck_runs_do_not_keep_others_waiting(broken: pytest.MonkeyPatch, clock: time_machine.Traveller):
    design = b.saved(b.approval("review", timeout_minutes=1))
    stuck = [b.begun(design) for _ in range(3)]
    broken.undo()
    fine = b.begun(design)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(scheduler, "_next", lambda *_: 1 / 0)
        clock.shift(60)
        for run_id in stuck:
            engine.turn(run_id)
    clock.shift(1)
    pulse.turn_due(datetime.now(UTC), limit=2)
    pulse.turn_due(datetime.now(UTC), limit=2)
    assert Run.objects.get(pk=fine).status == "failed"


def newer(run_id: str, type_: str = "gate.reworded", v: int = 2) -> None:
    """An event that a newer release recorded."""
    run = Run.objects.get(pk=run_id)
    EventRow.objects.create(run_id=run_id, seq=run.seq + 1, v=v, type=type_, key="review", at=T0, data={"round": 1})
    Run.objects.filter(pk=run_id).update(seq=run.seq + 1)
    warm.forget()


@pytest.mark.parametrize(("type_", "v"), [("gate.reworded", 1), ("gate.answered", 2)])
def test_an_event_of_newer_code_makes_the_run_wait_for_it_and_keeps_the_facts(run_id: str, type_: str, v: int):
    newer(run_id, type_, v)
    b.vote(run_id, "review", "approve")
    shown = b.document(run_id)
    assert shown["status"] == "waiting"
    assert shown["stuck"]["kind"] == "newer_code"
    assert f"{type_} v{v}" in shown["stuck"]["msg"]
    assert e.GATE_VOTED in b.types_of(run_id)


def test_a_history_that_newer_code_wrote_is_not_expired_by_older_code(clock: time_machine.Traveller):
    run_id = b.started(b.approval("review", timeout_minutes=1), b.output("out"))
    newer(run_id, "gate.answered", 2)
    clock.shift(3600)
    b.read(run_id)
    assert e.GATE_EXPIRED not in b.types_of(run_id)
    assert b.document(run_id)["status"] == "waiting"


def test_code_that_knows_the_event_goes_on(run_id: str, monkeypatch: pytest.MonkeyPatch, clock: time_machine.Traveller):
    newer(run_id)
    b.vote(run_id, "review", "approve")
    monkeypatch.setitem(FOLDS, "gate.reworded", lambda history, event: None)
    monkeypatch.setattr("hermes_workflow.core.history.VERSION", 2)
    warm.forget()
    clock.shift(60)
    beat()
    assert b.document(run_id)["answers"] == {"review": "approve"}


def test_a_fault_inside_the_rule_of_a_step_fails_that_step_visibly(performer: ScriptedPerformer, monkeypatch: pytest.MonkeyPatch):
    def fault(*_: object) -> Event:
        raise KeyError("spec")

    monkeypatch.setitem(scheduler._RULES, "approval", fault)
    shown = b.ran(b.agent("draft"), b.approval("review"))
    assert (shown["status"], shown["error"]["node_id"], shown["error"]["kind"]) == ("failed", "review", "internal")
    assert shown["outputs"] == {"draft": {"did": "draft"}}


def test_a_refused_fact_changes_nothing(run_id: str):
    before = (b.events_of(run_id), Run.objects.values().get(pk=run_id))

    def refuse(turn: engine.Turn) -> None:
        raise Conflict("no")

    with pytest.raises(Conflict):
        engine.turn(run_id, refuse)
    assert (b.events_of(run_id), Run.objects.values().get(pk=run_id)) == before


def test_a_bug_while_taking_facts_in_changes_nothing_and_the_next_turn_is_clean(run_id: str):
    before = b.events_of(run_id)

    def fault(turn: engine.Turn) -> None:
        turn.record(Event(e.RUN_CANCELLED, "", {"by": "x", "reason": ""}))
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        engine.turn(run_id, fault)
    assert b.events_of(run_id) == before
    b.vote(run_id, "review", "approve")
    assert b.document(run_id)["pending"]["node_id"] == "again"


def test_deferred_facts_are_recorded_now_and_decided_by_the_next_turn(run_id: str):
    def record_only(turn: engine.Turn) -> None:
        turn.defer = True
        data = {"round": 1, "by": "ann", "name": "ann", "answer": "approve", "comment": "", "channel": "test", "left": None}
        turn.record(Event(e.GATE_VOTED, "review", data))

    engine.turn(run_id, record_only)
    assert b.types_of(run_id)[-1] == e.GATE_VOTED
    assert Run.objects.get(pk=run_id).due_at == T0
    assert beat() == 1
    assert b.document(run_id)["pending"]["node_id"] == "again"
    assert beat() == 0


def test_an_unknown_run_cannot_turn():
    with pytest.raises(NotFound):
        engine.turn("abcdef")


def test_a_turn_inside_another_transaction_is_refused(run_id: str):
    with pytest.raises(RuntimeError, match="durable"), transaction.atomic():
        engine.turn(run_id)


def test_a_cold_and_a_warm_history_show_the_same_run(performer: ScriptedPerformer):
    performer.does("draft", structured({"n": 1}))
    run_id = b.started(b.agent("draft"), b.condition("big", "out.draft.n > 5"), b.approval("review", "draft"), b.output("out"))
    b.work(run_id)
    b.vote(run_id, "review", "approve")
    shown = b.document(run_id)
    warm.forget()
    assert b.document(run_id) == shown


@pytest.mark.parametrize(("size", "kept"), [(1_000, True), (100_000, False)])
def test_a_warm_run_keeps_its_input_unless_it_is_large(performer: ScriptedPerformer, size: int, kept: bool):
    given = {"text": "x" * size}
    run_id = b.started(b.approval("review"), b.agent("draft"), input=given)
    for _ in range(2):
        with engine.glance(run_id) as turn:
            turn.fetch({1})
            assert turn.bodies[1] == given
            assert (1 in turn.run.bodies) is kept
        warm.forget()


def test_a_purged_run_is_gone_for_every_reader(run_id: str):
    journal.purge(run_id)
    with pytest.raises(NotFound):
        b.document(run_id)


def test_the_last_look_at_a_stuck_run_is_never_more_than_an_hour_away(run_id: str, broken: pytest.MonkeyPatch):
    b.vote(run_id, "review", "approve")
    for _ in range(40):
        engine.turn(run_id, now=Run.objects.get(pk=run_id).due_at)
    run = Run.objects.get(pk=run_id)
    assert run.due_at - run.updated_at == timedelta(hours=1)
