"""Steps of runs at a Hermes Agent: visited again and again, stopped when nobody wants them, and started once whoever dies."""

import os
import signal
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.db import connections
from django.utils import timezone

from hermes_workflow.models import Profile
from runs import crew, journal, outbox, performers, pulse, services, stopping
from runs.models import Attempt, Run, Session
from tests import builders as b
from tests.crashing import is_alive, nursery
from tests.hermes_server import KEY, Handler, HermesServer, hang, hermes_server, started_unsaid, status
from tests.processes import eventually

pytestmark = pytest.mark.django_db(transaction=True)

DONE = {"status": "completed", "output": "All is well.", "usage": {"total_tokens": 57}}
SOON = 20.0


@pytest.fixture
def agent(monkeypatch: pytest.MonkeyPatch) -> Iterator[HermesServer]:
    monkeypatch.setenv("HERMES_TEST_AGENT_KEY", KEY)
    with hermes_server() as server:
        b.profile("default", Profile.Performer.HERMES, settings=server.settings())
        yield server


def started(**more: Any) -> str:
    return b.started(b.agent("draft", **more))


def visited(run_id: str) -> None:
    """A worker looks at what is due, and whatever waits for a later look is due now."""
    Attempt.objects.filter(status="ready").update(ready_at=timezone.now())
    b.work(run_id)


def at_work(agent: HermesServer) -> str:
    """A run whose step is at work at the agent, held by no worker."""
    run_id = started()
    visited(run_id)
    assert Attempt.objects.get(run_id=run_id, status="ready").ref
    return run_id


def end_of(run_id: str) -> str:
    visited(run_id)
    return Run.objects.get(pk=run_id).status


def test_a_step_at_the_agent_holds_no_worker_and_comes_to_its_end(agent: HermesServer):
    agent.plays({"status": "running"}, {"status": "running"}, DONE)
    run_id = at_work(agent)
    assert Attempt.objects.get().status == "ready"
    eventually(lambda: end_of(run_id) == "done", within=SOON, what="the end of the run")
    assert b.document(run_id)["outputs"] == {"draft": "All is well."}
    assert b.document(run_id)["attempts"] == {"draft": 1}
    assert len(agent.calls("start")) == 1
    assert Session.objects.get().attempt.number == 1


def test_many_looks_are_no_lost_workers(agent: HermesServer):
    run_id = at_work(agent)
    for _ in range(2 * outbox.MAX_CLAIMS):
        assert end_of(run_id) == "running"
    assert Attempt.objects.get().claims == 0


def test_a_failed_try_is_followed_by_one_under_the_next_key(agent: HermesServer):
    agent.plays({"status": "interrupted"})
    agent.plays(DONE)
    run_id = started(retries=1)
    eventually(lambda: end_of(run_id) == "done", within=SOON, what="the end of the run")
    keys = [asked.headers["idempotency-key"] for asked in agent.calls("start")]
    assert keys == [f"workflow:{run_id}:draft:{number}" for number in (1, 2)]


def test_cancelling_a_run_stops_its_work_although_no_worker_holds_it(agent: HermesServer):
    run_id = at_work(agent)
    services.cancel_run(principal=b.admin(), run_id=run_id)
    assert pulse.ring_waiting(timezone.now()) == (1, 1)
    assert stopping.stop_due() == 1
    assert agent.stopped == ["run_00000001"]
    assert Attempt.objects.get().ref == ""
    assert pulse.ring_waiting(timezone.now() + timedelta(hours=1)) == (0, 0)


def test_a_workers_thread_stops_what_nobody_wants(agent: HermesServer):
    run_id = at_work(agent)
    services.cancel_run(principal=b.admin(), run_id=run_id)
    shift = crew.Crew(1).work(run_id)
    assert shift
    shift.join(SOON)
    assert agent.stopped == ["run_00000001"]


def test_an_agent_that_cannot_be_reached_is_told_later_and_not_for_ever(agent: HermesServer):
    run_id = at_work(agent)
    services.cancel_run(principal=b.admin(), run_id=run_id)
    agent.fails("stop", *[status(503)] * 3)
    assert stopping.stop_due() == 0
    assert stopping.stop_due() == 0
    assert len(agent.calls("stop")) == 1
    with time_machine.travel(timezone.now() + stopping.EVERY):
        assert stopping.stop_due() == 0
    assert len(agent.calls("stop")) == 2
    with time_machine.travel(timezone.now() + stopping.GIVE_UP_AFTER):
        assert stopping.stop_due() == 1
    assert Attempt.objects.get().ref == ""
    assert agent.stopped == []


def test_work_that_a_retry_took_over_is_stopped(agent: HermesServer):
    agent.plays({"status": "interrupted"})
    run_id = started()
    eventually(lambda: end_of(run_id) == "failed", within=SOON, what="the failure")
    services.retry_run(principal=b.admin(), run_id=run_id)
    visited(run_id)
    with time_machine.travel(timezone.now() + timedelta(minutes=11)):
        services.retry_run(principal=b.admin(), run_id=run_id)
        assert stopping.stop_due() == 1
    assert agent.stopped == ["run_00000002"]
    assert Attempt.objects.filter(status="ready").count() == 1


def test_a_run_that_is_cancelled_while_its_work_begins_is_stopped_there_too(agent: HermesServer):
    run_id = started()

    def meanwhile(handler: Handler) -> None:
        services.cancel_run(principal=b.admin(), run_id=run_id)
        connections.close_all()
        handler.start("", agent.asked[-1].body)

    agent.fails("start", meanwhile)
    visited(run_id)
    assert stopping.stop_due() == 1
    assert agent.stopped == ["run_00000001"]


def test_a_run_that_is_removed_while_its_work_begins_is_stopped_at_once(agent: HermesServer):
    run_id = started()

    def meanwhile(handler: Handler) -> None:
        journal.purge(run_id)
        connections.close_all()
        handler.start("", agent.asked[-1].body)

    agent.fails("start", meanwhile)
    visited(run_id)
    assert agent.stopped == ["run_00000001"]


def test_a_profile_without_an_agent_has_nobody_to_be_told(agent: HermesServer):
    run_id = at_work(agent)
    services.cancel_run(principal=b.admin(), run_id=run_id)
    Profile.objects.filter(name="default").update(performer=Profile.Performer.NONE)
    performers.forget()
    assert stopping.stop_due() == 1
    assert Attempt.objects.get().ref == ""


@pytest.mark.crash
@pytest.mark.parametrize("when", ["while it starts the run", "between two looks"])
def test_a_killed_worker_leaves_one_run_at_the_agent(agent: HermesServer, tmp_path: Path, when: str):
    if when == "while it starts the run":
        agent.fails("start", started_unsaid(hang))
    else:
        agent.fails("read", hang)
    agent.plays(DONE)
    run_id = started()
    with nursery(tmp_path, lease=0.6) as workers:
        victim = workers.fork()
        eventually(lambda: agent.calls("start" if when.startswith("while") else "read"), within=SOON, what="the call")
        os.kill(victim, signal.SIGKILL)
        eventually(lambda: not is_alive(victim), within=SOON, what="the end of the worker")
        workers.fork()
        eventually(lambda: Run.objects.get(pk=run_id).status == "done", within=SOON, what="the end of the run")
    assert len(agent.runs) == 1
    assert b.document(run_id)["attempts"] == {"draft": 1}
