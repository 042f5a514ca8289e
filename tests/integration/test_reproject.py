"""Every row but the events can be written again from them."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.core.management import CommandError, call_command

from hermes_workflow.core import events as e
from runs import engine, outbox, projections, services
from runs.models import Attempt, Delivery, Event, Gate, GateAudience, Run
from tests import builders as b
from tests.fakes import ScriptedPerformer, failed, structured

pytestmark = pytest.mark.django_db

T0 = datetime(2026, 3, 1, 12, tzinfo=UTC)


def check(run_id: str | None = None) -> None:
    call_command("reproject", *([run_id] if run_id else []), check=True, verbosity=0)


@pytest.fixture
def life(performer: ScriptedPerformer) -> str:
    """A run to which nearly everything happened, parked at a gate that was escalated."""
    b.person("boss", "reviewer")
    performer.does("draft", failed(), structured({"n": 1}))
    performer.does("bad", failed())
    with time_machine.travel(T0, tick=False) as clock:
        run_id = b.started(
            b.agent("draft", retries=1),
            b.condition("small", "out.draft.n < 5"),
            b.condition("big", "out.draft.n > 5", "draft"),
            b.agent("below", "big"),
            b.approval("first", "small", quorum=2, assignees=["user:root", "user:boss"]),
            b.output("tell", deliver="notification", target="user:root"),
            b.agent("bad"),
            b.approval("second", timeout_minutes=5, on_timeout="escalate", escalate_to="user:boss", assignees=["user:root"]),
            b.output("out"),
        )
        b.work(run_id)
        clock.shift(60)
        b.vote(run_id, "first", "approve", by="root", left=1)
        b.vote(run_id, "first", "approve", by="boss", left=0)
        b.work(run_id)
        services.retry_run(principal=b.admin(), run_id=run_id)
        b.work(run_id)
        clock.shift(600)
        b.read(run_id)
    return run_id


def test_a_rich_life_is_what_its_events_say(life: str):
    assert b.document(life)["pending"]["node_id"] == "second"
    assert {e.GATE_ESCALATED, e.RUN_REOPENED, e.STEP_FAILED, e.DELIVERY_TRIED, e.STEP_SKIPPED} <= set(b.types_of(life))
    check(life)
    b.vote(life, "second", "approve")
    check()
    assert b.document(life)["status"] == "done"


@pytest.mark.parametrize(
    "spoil",
    [
        lambda: Run.objects.update(status="done", cursor=99, error={"msg": "no"}),
        lambda: Run.objects.update(due_at=T0 - timedelta(days=1), ended_at=T0),
        lambda: Gate.objects.filter(key="second").update(status="answered", question="other?", escalated_at=None),
        lambda: Gate.objects.filter(key="first").update(votes=[], answer="reject"),
        lambda: Gate.objects.filter(key="second").delete(),
        lambda: GateAudience.objects.filter(gate__key="second").delete(),
        lambda: GateAudience.objects.update(open=True),
        lambda: GateAudience.objects.create(gate=Gate.objects.get(key="second"), audience="user:0", waiting_since=T0),
        lambda: Delivery.objects.all().delete(),
        lambda: Delivery.objects.update(ok=False),
        lambda: Attempt.objects.filter(key="draft").update(status="ready"),
        lambda: Attempt.objects.filter(key="bad").delete(),
    ],
)
def test_what_differs_is_found_and_mended(life: str, spoil):
    before = b.document(life)
    gates = set(Gate.objects.exclude(key="second").values_list("pk", "key"))
    spoil()
    with pytest.raises(CommandError):
        check(life)
    call_command("reproject", life, verbosity=0)
    check(life)
    after = b.document(life)
    ignored = {"pending", "pendings"}
    assert {name: after[name] for name in after if name not in ignored} == {name: before[name] for name in before if name not in ignored}
    assert gates <= set(Gate.objects.values_list("pk", "key"))


def test_a_mended_gate_keeps_its_id_and_can_be_answered(life: str):
    pk = Gate.objects.get(key="second").pk
    Gate.objects.filter(pk=pk).update(status="closed", question="?")
    call_command("reproject", verbosity=0)
    assert Gate.objects.get(key="second").pk == pk
    b.vote(life, "second", "approve")
    assert b.document(life)["status"] == "done"


def test_a_step_that_a_worker_holds_is_no_difference(performer: ScriptedPerformer):
    run_id = b.started(b.agent("draft"))
    outbox.claim("other", run_id=run_id)
    check(run_id)
    services.cancel_run(principal=b.admin(), run_id=run_id)
    check(run_id)
    assert Attempt.objects.get().status == "cancelled"


def test_a_mended_attempt_gets_a_new_fence(performer: ScriptedPerformer):
    run_id = b.started(b.agent("draft"))
    (lease,) = outbox.claim("other", run_id=run_id)
    Attempt.objects.update(status="done")
    call_command("reproject", run_id, verbosity=0)
    assert not outbox.renew(lease)
    b.work(run_id)
    assert b.document(run_id)["status"] == "done"


def test_a_run_that_follows_another_version_is_what_its_events_say(performer: ScriptedPerformer):
    performer.does("bad", failed())
    run_id = b.ran(b.approval("old", "start", stop_on=["reject"]), b.agent("bad", "start"))["run_id"]
    b.vote(run_id, "old", "approve")
    b.work(run_id)
    b.saved(b.agent("bad"), b.approval("new"))
    services.retry_run(principal=b.admin(), run_id=run_id, version="current")
    b.work(run_id)
    check(run_id)
    Gate.objects.all().delete()
    Run.objects.update(version=Run.objects.get().design.versions.get(number=1))
    call_command("reproject", run_id, verbosity=0)
    assert Run.objects.get().version.number == 2
    assert list(Gate.objects.order_by("key").values_list("key", "status")) == [("new", "open"), ("old", "answered")]


def test_a_run_left_to_be_decided_is_due_at_once_and_that_is_no_difference(performer: ScriptedPerformer):
    run_id = b.started(b.approval("review"), b.output("out"))

    def record_only(turn: engine.Turn) -> None:
        turn.defer = True
        data = {"round": 1, "by": "ann", "name": "ann", "answer": "approve", "comment": "", "channel": "test", "left": None}
        turn.record(e.Event(e.GATE_VOTED, "review", data))

    engine.turn(run_id, record_only)
    check(run_id)
    call_command("reproject", run_id, verbosity=0)
    run = Run.objects.get()
    assert run.due_at == run.updated_at
    assert b.read(run_id)["status"] == "done"


def test_a_history_that_needs_newer_code_is_left_alone(performer: ScriptedPerformer):
    run_id = b.started(b.approval("review"))
    Event.objects.create(run_id=run_id, seq=3, v=99, type="gate.answered", key="review", at=T0, data={})
    Run.objects.update(seq=3)
    before = Run.objects.values().get()
    call_command("reproject", run_id, verbosity=0)
    assert Run.objects.values().get() == before
    with pytest.raises(CommandError):
        check(run_id)


def test_an_unknown_run_is_refused():
    with pytest.raises(CommandError, match="no run"):
        check("abcdef")


def test_a_difference_names_row_column_and_both_values(life: str):
    Run.objects.update(status="done")
    (one,) = projections.differences(Run.objects.select_related("version").get())
    assert str(one) == "run status: stored done, events say awaiting_approval"
