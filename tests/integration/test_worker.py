"""Claims, fences and settling: one worker at a time, late results change nothing, a crash is not a failure."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
import time_machine
from django.db import OperationalError, transaction
from django.db.transaction import TransactionManagementError

from hermes_workflow.core import events as e
from hermes_workflow.core.plan import Edge, Plan, Policy, Step
from runs import assignments, engine, journal, outbox, services, warm, worker
from runs.models import Attempt, Event, Message, Run, Session
from tests import builders as b
from tests.fakes import ScriptedPerformer, again, failed, structured

pytestmark = pytest.mark.django_db

T0 = datetime(2026, 3, 1, 12, tzinfo=UTC)
LEASE = 30


@pytest.fixture
def clock(settings: object) -> Iterator[time_machine.Traveller]:
    settings.HERMES_LEASE_SECONDS = LEASE
    with time_machine.travel(T0, tick=False) as moment:
        yield moment


def claimed(run_id: str) -> journal.Lease:
    (lease,) = outbox.claim("other:1", run_id=run_id)
    return lease


def settle(lease: journal.Lease, outcome: worker.Outcome) -> engine.Turn | None:
    with engine.glance(lease.run_id) as turn:
        work = assignments.prepare(lease, turn)
    return worker.settle(lease, work, outcome, hold=False)


def rows() -> list[dict]:
    """Everything a run consists of, to see that nothing changed."""
    models = (Run, Event, Attempt)
    return [row for model in models for row in model.objects.order_by("pk").values()]


def test_a_claim_commits_the_fence_before_the_work_begins(performer: ScriptedPerformer):
    seen = []
    performer.does("draft", lambda given: seen.append(Attempt.objects.get(run_id=given.run_id)) or structured(1))
    b.ran(b.agent("draft"))
    (attempt,) = seen
    assert (attempt.status, attempt.fence, attempt.claims, attempt.worker) == ("leased", 1, 1, worker.name())


def test_a_claimed_attempt_is_not_claimed_again_while_its_lease_holds(performer: ScriptedPerformer, clock: time_machine.Traveller):
    run_id = b.started(b.agent("draft"))
    assert claimed(run_id).fence == 1
    clock.shift(LEASE - 1)
    assert outbox.claim("other:2") == []


def test_an_expired_lease_is_taken_over_with_the_same_number_and_key(performer: ScriptedPerformer, clock: time_machine.Traveller):
    run_id = b.started(b.agent("draft"))
    claimed(run_id)
    clock.shift(LEASE)
    second = claimed(run_id)
    assert (second.number, second.fence, second.claims) == (1, 2, 2)
    settle(second, structured(1))
    assert b.document(run_id)["attempts"] == {"draft": 1}


def test_a_late_result_under_an_old_fence_changes_no_row(performer: ScriptedPerformer, clock: time_machine.Traveller):
    run_id = b.started(b.agent("draft"))
    first = claimed(run_id)
    clock.shift(LEASE)
    claimed(run_id)
    before = rows()
    assert settle(first, structured("late")) is None
    assert rows() == before


def test_a_result_after_the_winner_settled_changes_no_row(performer: ScriptedPerformer, clock: time_machine.Traveller):
    run_id = b.started(b.agent("draft"))
    first = claimed(run_id)
    clock.shift(LEASE)
    settle(claimed(run_id), structured("won"))
    before = rows()
    assert settle(first, structured("late")) is None
    assert rows() == before
    assert b.document(run_id)["outputs"] == {"draft": "won"}


@pytest.mark.parametrize("outcome", [structured("late"), failed(), again()])
def test_a_result_after_the_run_was_cancelled_changes_no_row(performer: ScriptedPerformer, outcome: worker.Outcome):
    run_id = b.started(b.agent("draft"))
    lease = claimed(run_id)
    services.cancel_run(principal=b.admin(), run_id=run_id)
    before = rows()
    assert settle(lease, outcome) is None
    assert rows() == before
    assert b.document(run_id)["status"] == "cancelled"


def test_a_result_after_a_retry_took_the_step_over_changes_no_row(performer: ScriptedPerformer, clock: time_machine.Traveller):
    performer.does("draft", failed())
    run_id = b.ran(b.agent("draft"))["run_id"]
    services.retry_run(principal=b.admin(), run_id=run_id)
    old = claimed(run_id)
    clock.shift(600)
    services.retry_run(principal=b.admin(), run_id=run_id)
    before = rows()
    assert settle(old, structured("late")) is None
    assert rows() == before


def test_a_result_for_a_purged_run_ends_quietly(performer: ScriptedPerformer):
    run_id = b.started(b.agent("draft"))

    def vanish(given):
        journal.purge(given.run_id)
        return structured(1)

    performer.does("draft", vanish)
    assert b.work(run_id) == 1
    assert not Run.objects.exists()


def test_three_claims_without_an_outcome_lose_the_worker_and_fail_the_step(performer: ScriptedPerformer, clock: time_machine.Traveller):
    run_id = b.started(b.agent("draft"))
    for _ in range(3):
        claimed(run_id)
        clock.shift(LEASE)
    b.work(run_id)
    shown = b.document(run_id)
    assert (shown["status"], shown["error"]["kind"]) == ("failed", "worker_lost")
    assert performer.seen == []


def test_a_delivery_that_loses_three_workers_is_a_failed_receipt_and_the_run_is_done(clock: time_machine.Traveller):
    run_id = b.started(b.output("tell", deliver="notification", target="user:root"))
    for _ in range(3):
        claimed(run_id)
        clock.shift(LEASE)
    b.work(run_id)
    shown = b.document(run_id)
    assert shown["status"] == "done"
    assert [(sent["target"], sent["ok"]) for sent in shown["deliveries"]] == [("user:root", False)]
    assert "none came back" in shown["deliveries"][0]["detail"]


def test_a_lost_worker_is_one_failed_try(performer: ScriptedPerformer, clock: time_machine.Traveller):
    run_id = b.started(b.agent("draft", retries=1))
    for _ in range(3):
        claimed(run_id)
        clock.shift(LEASE)
    b.work(run_id)
    assert b.document(run_id)["attempts"] == {"draft": 2}
    assert b.document(run_id)["status"] == "done"


def test_an_unfinished_attempt_goes_on_later_with_the_same_number_and_its_reference(
    performer: ScriptedPerformer, clock: time_machine.Traveller
):
    performer.does("draft", *[again(after=5, ref="remote-7")] * 6)
    run_id = b.started(b.agent("draft"))
    for _ in range(6):
        assert b.work(run_id) == 1
        assert b.work(run_id) == 0
        clock.shift(5)
    b.work(run_id)
    assert b.document(run_id)["attempts"] == {"draft": 1}
    assert [given.ref for given in performer.seen] == ["", *["remote-7"] * 6]
    assert {given.idempotency_key for given in performer.seen} == {f"workflow:{run_id}:draft:1"}


def test_a_lease_is_renewed_only_by_who_holds_it(performer: ScriptedPerformer, clock: time_machine.Traveller):
    run_id = b.started(b.agent("draft"))
    first = claimed(run_id)
    clock.shift(LEASE - 1)
    assert outbox.renew(first)
    clock.shift(LEASE - 1)
    assert outbox.claim("other:2") == []
    clock.shift(1)
    claimed(run_id)
    assert not outbox.renew(first)


def test_due_work_is_claimed_oldest_first(performer: ScriptedPerformer, clock: time_machine.Traveller):
    started = []
    for number in range(3):
        started.append(b.started(b.agent("draft"), name=f"flow-{number}"))
        clock.shift(1)
    b.work()
    assert [given.run_id for given in performer.seen] == started


def test_a_drain_does_its_own_run_first_then_what_else_is_due(performer: ScriptedPerformer):
    one, two = (b.started(b.agent("draft"), name=f"flow-{number}") for number in range(2))
    assert b.work(two) == 2
    assert [given.run_id for given in performer.seen] == [two, one]


def test_an_assignment_that_cannot_be_made_fails_the_step_instead_of_the_worker(
    performer: ScriptedPerformer, monkeypatch: pytest.MonkeyPatch
):
    def broken(lease, turn):
        raise LookupError("no such body")

    monkeypatch.setattr(assignments, "prepare", broken)
    run_id = b.started(b.agent("draft"))
    b.work(run_id)
    error = b.document(run_id)["error"]
    assert error["kind"] == "internal"
    assert "no such body" in error["msg"]


def test_a_database_that_fails_while_an_assignment_is_made_is_not_the_steps_fault(
    performer: ScriptedPerformer, monkeypatch: pytest.MonkeyPatch, clock: time_machine.Traveller
):
    def broken(lease, turn):
        raise OperationalError("server closed the connection")

    run_id = b.started(b.agent("draft"))
    monkeypatch.setattr(assignments, "prepare", broken)
    with pytest.raises(OperationalError):
        b.work(run_id)
    monkeypatch.undo()
    monkeypatch.setitem(assignments.PERFORMERS, b.SCRIPTED, performer)
    clock.shift(LEASE)
    b.work(run_id)
    assert b.document(run_id)["status"] == "done"


def test_of_several_steps_that_open_at_once_a_worker_holds_only_the_one_it_does_now(performer: ScriptedPerformer):
    run_id = parallel_run()
    lease = claimed(run_id)
    turn = engine.turn(run_id, lambda turn: turn.settle(lease, "done", done(lease)), holder=outbox.holder("me"))
    assert [held.key for held in turn.leases] == ["left"]
    assert dict(Attempt.objects.exclude(key="first").values_list("key", "status")) == {"left": "leased", "right": "ready"}


def test_parallel_steps_are_all_performed_by_one_worker(performer: ScriptedPerformer):
    run_id = parallel_run()
    b.work(run_id)
    assert b.document(run_id)["status"] == "done"
    assert [given.node_id for given in performer.seen] == ["first", "left", "right", "last"]


def done(lease: journal.Lease) -> e.Event:
    return e.Event(e.STEP_COMPLETED, lease.key, {"number": lease.number, "structured": True, "tests": {}}, body=1)


def parallel_run() -> str:
    """A diamond that may run two steps at once, put under a design by hand."""
    spec = {"prompt": "", "profile": "", "model": "", "retries": 0, "timeout_minutes": None, "schema": None}
    steps = tuple(Step(id_, "agent", spec) for id_ in ("first", "left", "right", "last"))
    edges = tuple(Edge(*pair) for pair in (("first", "left"), ("first", "right"), ("left", "last"), ("right", "last")))
    design = b.saved(b.agent("first"))
    plan = Plan("design", steps, edges, "start", Policy(concurrency=0))
    design.current.plan = b.designs.programs.store(plan)
    design.current.save()
    warm.forget()
    return b.begun(design)


def test_a_transcript_is_kept_with_the_attempt(performer: ScriptedPerformer):
    performer.keeps_transcript = True
    performer.does("draft", failed(msg="no"), structured({"a": 1}))
    b.ran(b.agent("draft", prompt="write", retries=1), input={"text": "long"})
    assert list(Session.objects.order_by("attempt__number").values_list("attempt__number", "profile")) == [(1, "default"), (2, "default")]
    said = list(Message.objects.order_by("session__attempt__number", "number").values_list("role", "content"))
    assert [role for role, _ in said] == ["user", "error", "user", "assistant"]
    assert "long" in said[0][1]
    assert "no" in said[1][1]
    assert '"a": 1' in said[3][1]


def test_a_transcript_that_cannot_be_written_does_not_lose_the_outcome(performer: ScriptedPerformer):
    def taken(given):
        Session.objects.create(attempt=Attempt.objects.get(run_id=given.run_id), profile="other", started_at=T0)
        return structured(1)

    performer.keeps_transcript = True
    performer.does("draft", taken)
    assert b.ran(b.agent("draft"))["outputs"] == {"draft": 1}
    assert Session.objects.get().profile == "other"


def test_a_transcript_begins_when_the_attempt_was_claimed(performer: ScriptedPerformer, clock: time_machine.Traveller):
    performer.keeps_transcript = True
    performer.does("draft", lambda given: clock.shift(20) or structured(1))
    performer.does("again", lambda given: clock.shift(5) or structured(1))
    b.ran(b.agent("draft"), b.agent("again"))
    told = Session.objects.order_by("id").values_list("started_at", "ended_at")
    assert [((begun - T0).seconds, (ended - T0).seconds) for begun, ended in told] == [(0, 20), (20, 25)]
    assert [(said.at - T0).seconds for said in Message.objects.order_by("id")] == [0, 20, 20, 25]


def test_a_transaction_that_is_rolled_back_already_takes_no_statement(performer: ScriptedPerformer):
    run_id = b.started(b.agent("draft"))

    def broken(turn):
        transaction.set_rollback(True)
        turn.record(e.Event(e.RUN_CANCELLED, "", {"by": "x", "reason": ""}))

    with pytest.raises(TransactionManagementError):
        engine.turn(run_id, broken)


def test_a_turn_that_finds_the_lease_lost_writes_nothing_else(performer: ScriptedPerformer, clock: time_machine.Traveller):
    run_id = b.started(b.agent("draft"))
    stale = claimed(run_id)
    clock.shift(LEASE)
    claimed(run_id)
    before = rows()
    with pytest.raises(journal.FenceLost):
        engine.turn(run_id, lambda turn: turn.settle(stale, "done", done(stale)))
    assert rows() == before
    assert Run.objects.get(pk=run_id).updated_at == T0


def test_an_older_history_is_brought_up_to_date_and_the_turn_goes_again(performer: ScriptedPerformer):
    run_id = b.started(b.approval("one"), b.approval("two"))
    with engine.glance(run_id) as turn:
        run, behind = turn.run, turn.history.fork()
    b.vote(run_id, "one", "approve")
    warm.forget()
    warm.keep(run, behind)
    seen = []

    def take_in(turn):
        seen.append(turn.history.seq)
        turn.record(e.Event(e.RUN_CANCELLED, "", {"by": "x", "reason": ""}))

    engine.turn(run_id, take_in, locked=False)
    assert seen == [2, 5]
    assert [event.seq for event in b.events_of(run_id)] == [1, 2, 3, 4, 5, 6]
