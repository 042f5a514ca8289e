"""Deadlines on the database: honoured by every read and every turn, with or without the pulse."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.utils import timezone

from hermes_workflow.core import events as e
from hermes_workflow.core.errors import Conflict, HermesError
from runs import engine, pulse, services, warm
from runs.models import Delivery, Gate, Notice, Run
from tests import builders as b
from tests.fakes import ScriptedPerformer

pytestmark = pytest.mark.django_db

T0 = datetime(2026, 3, 1, 12, tzinfo=UTC)


def parked(**more: object) -> str:
    with time_machine.travel(T0, tick=False):
        return b.started(b.approval("review", timeout_minutes=30, **more), b.output("out"))


def after(minutes: float) -> time_machine.travel:
    return time_machine.travel(T0 + timedelta(minutes=minutes), tick=False)


def test_the_deadline_is_on_the_pending_gate_and_on_the_run():
    run_id = parked()
    assert b.document(run_id)["pending"]["deadline"] == "2026-03-01T12:30:00Z"
    assert Run.objects.get(pk=run_id).due_at == T0 + timedelta(minutes=30)


def test_before_the_deadline_nothing_happens():
    run_id = parked()
    with after(29.9):
        assert b.read(run_id)["status"] == "awaiting_approval"
        assert pulse.turn_due(timezone.now()) == 0


def test_reading_a_run_honours_its_deadline_without_the_pulse():
    run_id = parked()
    with after(30):
        shown = b.read(run_id)
    assert (shown["status"], shown["pending"]) == ("failed", None)
    assert shown["error"]["msg"] == "approval timed out"
    assert shown["error"]["kind"] == "approval_timeout"
    assert shown["error"]["hint"]


def test_a_list_honours_deadlines_without_the_pulse():
    run_id = parked()
    with after(31):
        services.honour_deadlines()
    assert Gate.objects.get(run_id=run_id).status == "expired"


def test_the_pulse_honours_a_deadline_that_nobody_reads():
    run_id = parked()
    with after(31):
        assert pulse.turn_due(timezone.now()) == 1
        assert pulse.turn_due(timezone.now()) == 0
    assert Run.objects.get(pk=run_id).status == "failed"


def test_an_answer_after_a_reject_deadline_is_refused_and_the_expiry_is_kept():
    run_id = parked()

    def answer(turn):
        assert "review" not in turn.history.open_gates
        raise Conflict("the gate is closed")

    with after(31), pytest.raises(Conflict):
        engine.turn(run_id, answer)
    assert b.document(run_id)["status"] == "failed"
    assert b.types_of(run_id)[-2:] == [e.GATE_EXPIRED, e.RUN_FAILED]


def test_a_retry_honours_the_deadline_first_and_asks_again_with_a_fresh_one():
    run_id = parked()
    with after(45):
        services.retry_run(principal=b.admin(), run_id=run_id)
    shown = b.document(run_id)
    assert shown["status"] == "awaiting_approval"
    assert shown["pending"]["deadline"] == "2026-03-01T13:15:00Z"
    assert shown["pending"]["round"] == 2


def test_a_timed_out_run_is_not_retried_by_itself():
    run_id = parked()
    with after(31):
        b.read(run_id)
    with after(31 + 24 * 60):
        pulse.turn_due(timezone.now())
        assert b.read(run_id)["status"] == "failed"


def test_a_deadline_survives_a_restart_and_an_edit_of_the_design():
    run_id = parked()
    b.saved(b.approval("review", timeout_minutes=4000), b.output("out"))
    warm.forget()
    with after(31):
        assert b.read(run_id)["status"] == "failed"


def test_escalation_asks_the_next_one_once_and_never_approves(performer: ScriptedPerformer):
    boss = b.person("boss", "reviewer")
    run_id = parked(on_timeout="escalate", escalate_to="user:boss", assignees=["user:root"])
    for minutes in (31, 32, 600):
        with after(minutes):
            shown = b.read(run_id)
            pulse.turn_due(timezone.now())
    assert shown["status"] == "awaiting_approval"
    assert shown["pending"]["escalated_at"] == "2026-03-01T12:31:00Z"
    audiences = set(Gate.objects.get(run_id=run_id).audiences.values_list("audience", flat=True))
    assert audiences == {f"user:{boss.id}", f"user:{b.admin().id}"}
    assert b.types_of(run_id).count(e.GATE_ESCALATED) == 1
    assert Run.objects.get(pk=run_id).due_at is None


def test_escalation_notifies_the_next_one_once_with_one_receipt():
    boss = b.person("boss", "reviewer")
    run_id = parked(on_timeout="escalate", escalate_to="user:boss")
    for minutes in (31, 32):
        with after(minutes):
            shown = b.read(run_id)
    (notice,) = Notice.objects.all()
    assert (notice.user, notice.run_id) == (boss.user, run_id)
    assert "review?" in notice.text
    assert list(Delivery.objects.values_list("key", "number", "target", "ok")) == [("review", 1, "user:boss", True)]
    assert shown["deliveries"] == [{"node_id": "review", "target": "user:boss", "ok": True, "detail": "shown to boss"}]


def test_an_escalation_to_nobody_who_is_here_leaves_a_failed_receipt():
    boss = b.person("boss", "reviewer")
    run_id = parked(on_timeout="escalate", escalate_to="user:boss")
    boss.user.is_active = False
    boss.user.save()
    with after(31):
        shown = b.read(run_id)
    assert shown["status"] == "awaiting_approval"
    assert [sent["ok"] for sent in shown["deliveries"]] == [False]


def test_an_answer_after_an_escalation_is_accepted():
    run_id = parked(on_timeout="escalate")
    with after(31):
        b.vote(run_id, "review", "approve")
    shown = b.document(run_id)
    assert (shown["status"], shown["answers"]) == ("done", {"review": "approve"})
    assert e.GATE_ESCALATED in b.types_of(run_id)


def test_an_expiry_found_by_a_refused_turn_is_recorded_only_once():
    run_id = parked()

    def refuse(turn):
        raise HermesError("no")

    with after(31):
        for _ in range(3):
            with pytest.raises(HermesError):
                engine.turn(run_id, refuse)
    assert b.types_of(run_id).count(e.GATE_EXPIRED) == 1


def test_a_gate_without_a_time_limit_waits_for_ever():
    run_id = b.started(b.approval("review"), b.output("out"))
    with after(10 * 365 * 24 * 60):
        assert b.read(run_id)["status"] == "awaiting_approval"


def test_votes_that_cannot_reach_the_quorum_any_more_escalate_once():
    run_id = b.started(b.approval("review", quorum=2, options=["yes", "no"]), b.output("out"))
    b.vote(run_id, "review", "yes", by="ann", left=1)
    assert e.GATE_ESCALATED not in b.types_of(run_id)
    b.vote(run_id, "review", "no", by="bob", left=0)
    assert b.types_of(run_id).count(e.GATE_ESCALATED) == 1
    b.vote(run_id, "review", "yes", by="cid", left=0)
    assert b.document(run_id)["answers"] == {"review": "yes"}


def test_the_first_option_with_enough_votes_wins():
    run_id = b.started(b.approval("review", quorum=2, options=["yes", "no"]), b.output("out"))
    b.vote(run_id, "review", "no", by="ann", left=3)
    shown = b.document(run_id)
    assert [(said["name"], said["answer"]) for said in shown["pending"]["votes"]] == [("ann", "no")]
    b.vote(run_id, "review", "yes", by="bob", left=2)
    b.vote(run_id, "review", "yes", by="cid", left=1)
    assert b.document(run_id)["answers"] == {"review": "yes"}


def test_one_vote_for_an_option_that_stops_is_enough():
    run_id = b.started(b.approval("review", quorum=2, options=["yes", "no"], stop_on=["no"]), b.output("out"))
    b.vote(run_id, "review", "no", by="ann", left=3)
    assert b.document(run_id)["status"] == "failed"
