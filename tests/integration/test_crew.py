"""Long steps: a task hands them to threads, few wait for them, and a process that ends hands them back."""

import threading
import time
from collections.abc import Iterator

import pytest
from django.db import connections

from runs import crew, heartbeat, outbox, tasks, worker
from runs.crew import Crew
from runs.models import Attempt, Run
from runs.seams.base import Assignment, Failed, Outcome, Performed
from tests import builders as b
from tests.fakes import ScriptedPerformer, structured
from tests.processes import eventually

pytestmark = pytest.mark.django_db(transaction=True)

SOON = 10.0


class Held:
    """A step that is performed until it is let go, or told to stop."""

    keeps_transcript = False

    def __init__(self) -> None:
        self.let_go = threading.Event()
        self.at_work: list[str] = []

    def perform(self, assignment: Assignment, *, cancelled, say=None) -> Outcome:
        """Wait."""
        self.at_work.append(assignment.idempotency_key)
        while not self.let_go.wait(0.02):
            if cancelled():
                return Failed("cancelled_by_owner", "stopped", "")
        return Performed({"done": True}, structured=True)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    from runs import assignments

    performer = Held()
    monkeypatch.setitem(assignments.PERFORMERS, b.SCRIPTED, performer)
    monkeypatch.setattr(heartbeat, "_ending", threading.Event())
    yield performer
    performer.let_go.set()
    eventually(lambda: not any(thread.name == "shift" for thread in threading.enumerate()), within=SOON, what="the end of every shift")


@pytest.fixture
def team(monkeypatch: pytest.MonkeyPatch, settings: object) -> Crew:
    settings.HERMES_STEPS_PER_WORKER = 2
    found = Crew(2)
    monkeypatch.setattr(crew, "_crew", found)
    return found


def status(run_id: str) -> str:
    return Run.objects.get(pk=run_id).status


def test_a_short_step_is_over_when_its_task_is(performer: ScriptedPerformer, team: Crew):
    run_id = b.started(b.agent("draft"))
    assert tasks.drain(run_id) == 1
    assert status(run_id) == "done"


def test_a_long_step_goes_on_without_its_task(held: Held, team: Crew, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tasks, "PATIENCE", 0.1)
    run_id = b.started(b.agent("draft"))
    began = time.monotonic()
    assert tasks.drain(run_id) == 0
    assert time.monotonic() - began < SOON / 2
    eventually(lambda: held.at_work, within=SOON, what="the beginning of the step")
    held.let_go.set()
    eventually(lambda: status(run_id) == "done", within=SOON, what="the end of the run")


def test_only_so_many_steps_are_performed_at_once_and_the_rest_after_them(held: Held, team: Crew, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tasks, "PATIENCE", 0.1)
    runs = [b.started(b.agent("draft"), name=f"flow-{number}") for number in range(4)]
    for run_id in runs:
        tasks.drain(run_id)
    eventually(lambda: len(held.at_work) == 2, within=SOON, what="two steps at work")
    began = time.monotonic()
    assert tasks.drain(runs[3]) == 0
    assert time.monotonic() - began < 0.1
    assert Attempt.objects.filter(status="leased").count() == 2
    held.let_go.set()
    eventually(lambda: all(status(run_id) == "done" for run_id in runs), within=SOON, what="the end of every run")


def test_a_long_step_keeps_its_lease(held: Held, team: Crew, settings: object, monkeypatch: pytest.MonkeyPatch):
    settings.HERMES_LEASE_SECONDS = 3.0
    monkeypatch.setattr(tasks, "PATIENCE", 0.1)
    tasks.drain(b.started(b.agent("draft")))
    eventually(lambda: held.at_work, within=SOON, what="the beginning of the step")
    time.sleep(4)
    assert outbox.claim("other:1") == []
    assert len(held.at_work) == 1


def test_a_process_that_ends_stops_its_performers_and_hands_their_steps_back_under_the_same_number(
    held: Held, team: Crew, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tasks, "PATIENCE", 0.1)
    run_id = b.started(b.agent("draft"))
    tasks.drain(run_id)
    eventually(lambda: held.at_work, within=SOON, what="the beginning of the step")
    team.leave()
    attempt = Attempt.objects.get()
    assert (attempt.status, attempt.number, attempt.claims) == ("ready", 1, 0)
    assert team.idle
    assert tasks.drain(run_id) == 0
    assert "step.failed" not in b.types_of(run_id)


def test_a_performer_that_does_not_stop_in_time_is_handed_back_all_the_same(held: Held, team: Crew, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(crew, "LEAVE_WITHIN", 0.1)
    monkeypatch.setattr(tasks, "PATIENCE", 0.1)
    monkeypatch.setattr(heartbeat, "let_go", lambda: heartbeat._ending.set())
    run_id = b.started(b.agent("draft"))
    tasks.drain(run_id)
    eventually(lambda: held.at_work, within=SOON, what="the beginning of the step")
    team.leave()
    assert Attempt.objects.get().status == "ready"
    held.let_go.set()
    eventually(lambda: team.idle, within=SOON, what="the end of the thread")
    assert "step.completed" not in b.types_of(run_id)


def test_an_outcome_that_came_before_the_end_is_kept(held: Held, team: Crew, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(worker.heartbeat, "ending", lambda: True)
    held.let_go.set()
    run_id = b.started(b.agent("draft"), b.agent("next"))
    tasks.drain(run_id)
    eventually(lambda: team.idle, within=SOON, what="the end of the shift")
    assert b.document(run_id)["outputs"] == {"draft": {"done": True}}
    assert held.at_work == [f"workflow:{run_id}:draft:1"]


def test_a_thread_leaves_no_connection_behind(performer: ScriptedPerformer, team: Crew):
    closed = []
    performer.does("draft", lambda given: closed.append(connections["default"]) or structured(1))
    tasks.drain(b.started(b.agent("draft")))
    eventually(lambda: team.idle, within=SOON, what="the end of the shift")
    assert closed[0].connection is None
