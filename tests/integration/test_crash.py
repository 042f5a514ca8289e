"""Workers killed without warning, again and again: nothing is lost, doubled or stranded."""

import os
import random
import signal
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from django.core.management import call_command
from django.utils import timezone

from hermes_workflow.core import events as e
from hermes_workflow.models import Design
from runs.models import Attempt, Delivery, Event, Notice, Run
from tests import builders as b
from tests.crashing import Nursery, is_alive, nursery
from tests.processes import eventually

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.crash, pytest.mark.slow]

KILLS = 200
LEASED = 150
LEASE = 0.6  # seconds; a killed worker's step is taken over after that
BUSY = 16  # runs at work at any time


def workflow() -> Design:
    """Steps, a branch and a delivery; enough tries that not even the unluckiest step gives up."""
    return b.saved(
        b.agent("one", retries=3),
        b.condition("always", "out.one.try >= 1"),
        b.agent("two", retries=3),
        b.agent("three", retries=3),
        b.output("tell", deliver="notification", target="user:root"),
    )


def holds(pid: int) -> bool:
    """Whether the database says that this worker holds an attempt now."""
    held = Attempt.objects.filter(status="leased", worker__endswith=f":{pid}", lease_until__gt=timezone.now())
    return held.exists()


def kill(pid: int, *, within: float = 1.0) -> bool:
    """Kill the worker once it holds an attempt, or anyhow after a while. Returns whether it held one at that moment."""
    end = time.monotonic() + within
    while is_alive(pid) and time.monotonic() < end:
        if holds(pid):
            send(pid, signal.SIGSTOP)
            if holds(pid):
                break
            send(pid, signal.SIGCONT)
    return put_down(pid)


def send(pid: int, number: int) -> None:
    """A worker may have killed itself a moment ago."""
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def put_down(pid: int) -> bool:
    send(pid, signal.SIGKILL)
    eventually(lambda: not is_alive(pid), within=5, what="the end of a killed worker")
    return holds(pid)


def test_two_hundred_killed_workers_lose_double_and_strand_nothing(tmp_path: Path):
    luck = random.Random(7)
    design = workflow()
    died = Counter()
    with nursery(tmp_path, lease=LEASE) as workers:
        alive = [workers.fork(seed, milliseconds=25, suicidal=20) for seed in range(2)]
        while sum(died.values()) < KILLS or died["holding"] < LEASED:
            for _ in range(BUSY - Run.objects.filter(status="running").count()):
                b.begun(design)
            victim = alive.pop(0)
            time.sleep(luck.random() * 0.1)
            held = put_down(victim) if luck.random() < 0.1 else kill(victim)
            died["holding" if held else "idle"] += 1
            alive.append(workers.fork(sum(died.values()) + 2, milliseconds=25, suicidal=20))
            assert sum(died.values()) < 3 * KILLS, died
        finish(workers, alive)
    print(f"killed {dict(died)} over {Run.objects.count()} runs")  # noqa: T201 - the figures of the report
    nothing_is_lost_doubled_or_stranded()


def finish(workers: Nursery, alive: list[int]) -> None:
    """Let workers that nobody kills come to the end."""
    for pid in alive:
        put_down(pid)
    for seed in range(2):
        workers.fork(seed, milliseconds=2)
    eventually(lambda: not Run.objects.filter(status="running").exists(), within=60, what="the end of every run")


def nothing_is_lost_doubled_or_stranded() -> None:
    """The invariants, read from the rows."""
    assert [(run.pk, run.status, run.error) for run in Run.objects.exclude(status="done")] == []
    assert not Attempt.objects.filter(status__in=("ready", "leased")).exists()
    for run in Run.objects.all():
        history = b.events_of(run.pk)
        assert [event.seq for event in history] == list(range(1, run.seq + 1))
        completed = Counter(event.key for event in history if event.type == e.STEP_COMPLETED)
        assert completed == {"one": 1, "two": 1, "three": 1, "tell": 1}
        outcomes = Counter((event.key, event.data["number"]) for event in history if event.type in (e.STEP_COMPLETED, e.STEP_FAILED))
        assert set(outcomes.values()) == {1}
        sent = Delivery.objects.get(run=run)
        assert Notice.objects.filter(run=run).count() == 1 or not sent.ok
    lost = Event.objects.filter(type=e.STEP_FAILED)
    assert all(event.data["kind"] == "worker_lost" for event in lost)
    call_command("reproject", check=True, verbosity=0)


def test_a_worker_that_slept_past_its_lease_changes_nothing_when_it_wakes(tmp_path: Path):
    run_id = b.begun(workflow())
    with nursery(tmp_path, lease=0.5) as workers:
        sleeper = workers.fork(milliseconds=400)
        eventually(lambda: holds(sleeper), within=10, what="a held attempt")
        os.kill(sleeper, signal.SIGSTOP)
        workers.fork(milliseconds=2)
        eventually(lambda: Run.objects.get(pk=run_id).status == "done", within=20, what="the end of the run")
        before = list(Event.objects.values())
        os.kill(sleeper, signal.SIGCONT)
        eventually(lambda: idle(sleeper), within=10, what="the waking of the sleeper")
        assert is_alive(sleeper)
        assert list(Event.objects.values()) == before
    nothing_is_lost_doubled_or_stranded()


def idle(pid: int) -> bool:
    """Whether the worker came round to look for more work: it does so with no step in hand, and sleeps between two looks."""
    time.sleep(0.6)
    return not Attempt.objects.filter(status="leased").exists() and is_alive(pid)


def test_a_step_that_kills_every_worker_is_given_up_after_three(tmp_path: Path):
    run_id = b.started(b.agent("poison"))
    with nursery(tmp_path, lease=0.3) as workers:
        for _ in range(3):
            victim = workers.fork(milliseconds=60_000)
            eventually(lambda victim=victim: holds(victim), within=10, what="a held attempt")
            assert put_down(victim)
        workers.fork()
        eventually(lambda: Run.objects.get(pk=run_id).status == "failed", within=10, what="giving the step up")
    assert b.document(run_id)["error"]["kind"] == "worker_lost"
