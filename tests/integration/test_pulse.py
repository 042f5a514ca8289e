"""The pulse: repairs what a lost ring or a dead worker left behind, and one bad run stops nobody."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
import time_machine
from django.core.management import call_command
from django_q.models import OrmQ

from hermes_workflow.models import Plan
from runs import announcements, outbox, pulse, tasks, warm
from runs.models import Run
from tests import builders as b
from tests.fakes import ScriptedPerformer, failed

pytestmark = pytest.mark.django_db(transaction=True)

T0 = datetime(2026, 3, 1, 12, tzinfo=UTC)
LEASE = 30


@pytest.fixture
def clock(settings: object) -> Iterator[time_machine.Traveller]:
    settings.HERMES_LEASE_SECONDS = LEASE
    settings.HERMES_WORKERS = 2
    with time_machine.travel(T0, tick=False) as moment:
        yield moment


def rings() -> list[str]:
    """The runs that workers were rung for, and answer none of them."""
    rung = [task.task["args"][0] for task in OrmQ.objects.order_by("id")]
    OrmQ.objects.all().delete()
    return rung


def test_starting_a_run_rings_after_the_commit(performer: ScriptedPerformer):
    run_id = b.started(b.agent("draft"))
    assert rings() == [run_id]


def test_a_ring_carries_only_an_id_and_a_worker_that_hears_it_does_all_due_work(performer: ScriptedPerformer):
    one, two = (b.started(b.agent("draft"), name=f"flow-{number}") for number in range(2))
    assert rings() == [one, two]
    assert tasks.drain(two) == 2


def test_a_lost_ring_is_repaired(performer: ScriptedPerformer, clock: time_machine.Traveller, monkeypatch: pytest.MonkeyPatch):
    def lost(*_: object) -> None:
        raise ConnectionError("no queue")

    with monkeypatch.context() as patched:
        patched.setattr(announcements, "async_task", lost)
        run_id = b.started(b.agent("draft"))
    assert rings() == []
    pulse.beat()
    assert rings() == [run_id]


def test_a_dead_workers_step_is_rung_for_once_its_lease_ran_out(performer: ScriptedPerformer, clock: time_machine.Traveller):
    run_id = b.started(b.agent("draft"))
    outbox.claim("dead:1")
    rings()
    clock.shift(LEASE - 1)
    pulse.beat()
    assert rings() == []
    clock.shift(1)
    pulse.beat()
    assert rings() == [run_id]


def test_a_retry_is_rung_for_when_its_wait_is_over(performer: ScriptedPerformer, clock: time_machine.Traveller):
    performer.does("draft", failed("rate_limited"))
    run_id = b.started(b.agent("draft"))
    b.work(run_id)
    rings()
    pulse.beat()
    assert rings() == []
    clock.shift(15)
    pulse.beat()
    assert rings() == [run_id]


def test_rings_that_nobody_answers_do_not_pile_up(performer: ScriptedPerformer, clock: time_machine.Traveller):
    for number in range(5):
        b.started(b.agent("draft"), name=f"flow-{number}")
    rings()
    for _ in range(10):
        pulse.beat()
    assert len(rings()) == 2


def test_a_beat_is_idempotent(performer: ScriptedPerformer, clock: time_machine.Traveller):
    run_id = b.started(b.approval("review", timeout_minutes=1))
    clock.shift(60)
    pulse.beat()
    before = b.events_of(run_id)
    pulse.beat()
    assert b.events_of(run_id) == before


def test_runs_that_cannot_turn_do_not_keep_others_waiting(clock: time_machine.Traveller, caplog: pytest.LogCaptureFixture):
    bad = b.saved(b.approval("review", timeout_minutes=1), name="bad")
    for _ in range(3):
        b.begun(bad)
    Plan.objects.filter(digest=bad.current.plan_id).update(body={"format": 99})
    clock.shift(1)
    good = b.started(b.approval("other", timeout_minutes=1))
    warm.forget()
    warm._plans.clear()
    clock.shift(60)
    assert pulse.turn_due(datetime.now(UTC), limit=1) == 1
    assert Run.objects.get(pk=good).status == "failed"
    assert "was not honoured" in caplog.text


def test_one_beat_by_hand_honours_deadlines(clock: time_machine.Traveller):
    run_id = b.started(b.approval("review", timeout_minutes=1))
    clock.shift(60)
    call_command("pulse", once=True)
    assert Run.objects.get(pk=run_id).status == "failed"


def test_the_task_queues_own_schedule_honours_deadlines(clock: time_machine.Traveller):
    run_id = b.started(b.approval("review", timeout_minutes=1))
    clock.shift(60)
    tasks.pulse()
    assert Run.objects.get(pk=run_id).status == "failed"
