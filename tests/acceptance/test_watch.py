"""Who honours deadlines and starts schedules while parts are missing, and what becomes of a wedged cluster: as real processes."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import builders as b
from tests.installations import Installation, Person, free_port, installation
from tests.processes import eventually

pytestmark = [pytest.mark.slow, pytest.mark.crash, pytest.mark.timeout(420)]

GATE = b.design(b.approval("review", timeout_minutes=1))
EACH_MINUTE = b.design(b.trigger(cron="* * * * *"), b.output("kept"))
STEP = b.design(b.agent("work", profile="held"))
START_WITHIN = 90.0
MINUTE = 60.0
SLACK = 5.0  # seconds that a busy machine may need for what is due


@pytest.fixture
def built(tmp_path: Path) -> Iterator[Installation]:
    with installation(tmp_path, DATABASE_URL="", REDIS_URL="", HERMES_WORKERS="2") as made:
        yield made


def served(built: Installation) -> Person:
    """Olga at a web process."""
    olga = Person(built.web("web"), built.keys["olga"])

    def answers() -> bool:
        try:
            return bool(olga.api("GET", "/healthz")["ok"])
        except OSError:
            return False

    eventually(answers, within=START_WITHIN, what="the start of the web process")
    return olga


def save(olga: Person, name: str, document: dict) -> None:
    created = olga.api("POST", "/api/designs/", {"name": name, "dialect": "design", "document": document})
    assert created["ok"], created


def parked_until(built: Installation, olga: Person) -> tuple[str, float]:
    """A run that waits at a gate, and when its minute is over."""
    run_id = olga.api("POST", "/api/designs/gate/run/", {})["run_id"]
    return run_id, time.time() + MINUTE


def status(built: Installation, run_id: str) -> str:
    """As it is stored; reading it over HTTP would honour the deadline."""
    ((found,),) = built.query(f"SELECT status FROM runs_run WHERE id = '{run_id}'")
    return str(found)


def started_by_schedule(built: Installation) -> int:
    ((found,),) = built.query("SELECT count(*) FROM runs_run WHERE origin = 'schedule'")
    return int(found)


def set_up(built: Installation) -> tuple[str, float]:
    """A gate with a deadline and a schedule of each minute, and nobody left who serves pages."""
    olga = served(built)
    save(olga, "gate", GATE)
    save(olga, "minutely", EACH_MINUTE)
    parked = parked_until(built, olga)
    built.kill("web")
    return parked


def test_the_task_queues_own_schedule_is_enough(built: Installation):
    built.manage("workers", "workers")
    eventually(lambda: built.query("SELECT 1 FROM runs_beacon WHERE name = 'workers'") or beats(built), within=START_WITHIN, what="a beat")
    run_id, deadline = set_up(built)
    eventually(lambda: status(built, run_id) == "failed", within=deadline - time.time() + MINUTE + SLACK, what="the deadline")
    assert time.time() >= deadline - SLACK
    begun = started_by_schedule(built)
    eventually(lambda: started_by_schedule(built) > begun, within=2 * MINUTE + SLACK, what="the next scheduled run")


def beats(built: Installation) -> bool:
    """Whether the task queue has called the pulse: it moves its schedule on then."""
    ((runs,),) = built.query("SELECT count(*) FROM django_q_schedule WHERE task IS NOT NULL AND task <> ''")
    return bool(runs)


def test_the_pulse_alone_is_enough(built: Installation):
    built.manage("pulse", "pulse")
    run_id, deadline = set_up(built)
    eventually(lambda: started_by_schedule(built), within=MINUTE + SLACK, what="a scheduled run")
    eventually(lambda: status(built, run_id) == "failed", within=deadline - time.time() + SLACK, what="the deadline")


def test_with_neither_a_bare_read_honours_the_deadline(built: Installation):
    olga = served(built)
    save(olga, "gate", GATE)
    run_id, deadline = parked_until(built, olga)
    time.sleep(deadline - time.time() + 1)
    assert status(built, run_id) == "awaiting_approval"
    read = olga.api("GET", f"/api/runs/{run_id}/")
    assert (read["status"], read["error"]["kind"]) == ("failed", "approval_timeout")


@pytest.fixture
def house(built: Installation) -> tuple[Installation, Person]:
    """`manage.py up`, ready, with a design that has one step."""
    port = free_port()
    built.start("up", "manage.py", "up", PORT=str(port))
    olga = Person(f"http://127.0.0.1:{port}", built.keys["olga"])

    def ready() -> bool:
        try:
            return bool(olga.api("GET", "/readyz")["ok"])
        except OSError:
            return False

    eventually(ready, within=START_WITHIN, what="readiness")
    save(olga, "step", STEP)
    return built, olga


def workers_of(built: Installation) -> list[int]:
    """The processes of the cluster below its guard: the workers, then those that feed them."""
    leader = next(pid for pid, command in sorted(built.alive().items()) if command.rstrip().endswith("manage.py workers"))
    (guard,) = built.children(leader)
    return built.children(guard)


def performed_within(olga: Person, seconds: float) -> None:
    """A run that is started now has its step performed in time."""
    run_id = olga.api("POST", "/api/designs/step/run/", {})["run_id"]
    eventually(lambda: olga.api("GET", f"/api/runs/{run_id}/")["status"] == "done", within=seconds, what="the end of the run")


def test_a_cluster_whose_idle_worker_was_killed_works_again_within_a_minute(house: tuple[Installation, Person]):
    built, olga = house
    os.kill(workers_of(built)[0], signal.SIGKILL)
    performed_within(olga, MINUTE)


def test_a_wedged_cluster_is_found_and_replaced_within_a_minute(house: tuple[Installation, Person]):
    built, olga = house
    before = workers_of(built)
    for pid in before:
        os.kill(pid, signal.SIGSTOP)
    performed_within(olga, MINUTE)
    assert not set(before) & set(built.alive())
    assert "replacing them" in built.said()
