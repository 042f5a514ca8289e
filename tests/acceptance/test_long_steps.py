"""Steps that take long, as real processes: they keep nobody waiting, are handed back by who ends, and outlast a failed database."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests import builders as b
from tests.conftest import require
from tests.installations import Installation, Person, free_port, installation
from tests.postgres_server import postgres_server
from tests.processes import eventually
from tests.redis_server import PROGRAM, redis_server

pytestmark = [pytest.mark.slow, pytest.mark.crash]

DESIGN = b.design(b.agent("work", profile="held"))
START_WITHIN = 90.0
SOON = 20.0
LEASE = 120.0  # seconds, longer than any test: what goes on earlier was handed back, not taken over


class Site:
    """An installation with one worker process, and olga who starts runs."""

    def __init__(self, built: Installation) -> None:
        self.built = built
        self.olga = Person(built.web("web"), built.keys["olga"])
        for name in ("workers", "pulse"):
            built.manage(name, name)
        eventually(self.works, within=START_WITHIN, what="the start of every part")
        created = self.olga.api("POST", "/api/designs/", {"name": "long", "dialect": "design", "document": DESIGN})
        assert created["ok"], created

    def works(self) -> bool:
        """Whether web, database, workers and pulse work."""
        try:
            return bool(self.olga.api("GET", "/readyz")["ok"])
        except OSError:
            return False

    def start(self, hold: str = "nothing") -> str:
        """A run, whose step is performed as long as `hold` is held."""
        run = self.olga.api("POST", "/api/designs/long/run/", {"input": {"hold": hold}})
        assert run["ok"], run
        return str(run["run_id"])

    def held(self, hold: str) -> str:
        """A run in the middle of its step."""
        (self.built.home / hold).touch()
        run_id = self.start(hold)
        eventually(lambda: self.tries(run_id) == 1, within=SOON, what="the step's beginning")
        return run_id

    def let_go(self, *holds: str) -> None:
        """These steps end."""
        for hold in holds:
            (self.built.home / hold).unlink()

    def tries(self, run_id: str) -> int:
        """How often a performer began the step, each time under the same key."""
        return self.built.performed().count(f"workflow:{run_id}:work:1")

    def attempt(self, run_id: str) -> tuple[Any, ...]:
        """Status, claims and worker of the step's attempt."""
        (row,) = self.built.query(f"SELECT status, claims, worker FROM runs_attempt WHERE run_id = '{run_id}'")
        return row

    def ends(self, run_id: str, within: float = SOON) -> None:
        """The run is done within so many seconds."""
        done = f"SELECT 1 FROM runs_run WHERE id = '{run_id}' AND status = 'done'"
        eventually(lambda: self.built.query(done), within=within, what="the end of the run")

    def performers(self) -> list[int]:
        """The programs at work."""
        return [pid for pid, command in self.built.alive().items() if "held_performer" in command]


@contextmanager
def site(home: Path, **env: str) -> Iterator[Site]:
    """A running installation, its processes gone afterwards."""
    with installation(home, HERMES_WORKERS="1", HERMES_STEPS_PER_WORKER="3", HERMES_LEASE_SECONDS=str(LEASE), **env) as built:
        yield Site(built)


@pytest.fixture(params=["SQLite alone", "PostgreSQL and Redis"])
def here(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    if request.param == "SQLite alone":
        with site(tmp_path, DATABASE_URL="", REDIS_URL="") as running:
            yield running
        return
    require("Redis", PROGRAM)
    (tmp_path / "redis").mkdir()
    with postgres_server() as postgres, redis_server(tmp_path / "redis", free_port()) as redis:
        require("PostgreSQL", postgres)
        assert postgres
        with site(tmp_path, DATABASE_URL=postgres.url, REDIS_URL=redis.url) as running:
            yield running


def test_long_steps_keep_neither_others_nor_the_canary_waiting_and_end_in_order(here: Site):
    long = [here.held(f"long-{number}") for number in range(2)]
    here.ends(here.start())
    asked = time.time()
    signed = "SELECT 1 FROM runs_beacon WHERE name = 'workers' AND at > '{}'"
    moment = time.strftime("%Y-%m-%d %H:%M:%S+00:00" if here.built.env["DATABASE_URL"] else "%Y-%m-%d %H:%M:%S", time.gmtime(asked))
    eventually(lambda: here.built.query(signed.format(moment)), within=SOON, what="a sign of life of the worker")
    third = here.held("long-2")
    full = here.start()
    time.sleep(2)
    assert (here.tries(full), here.attempt(full)[0]) == (0, "ready")
    here.let_go("long-0")
    for run_id in (long[0], full):
        here.ends(run_id)
    here.built.running["workers"].terminate()
    here.built.running["workers"].wait(SOON)
    assert here.performers() == []
    for run_id in (long[1], third):
        assert here.attempt(run_id)[:2] == ("ready", 0)
    here.built.manage("workers", "workers")
    eventually(lambda: (here.tries(long[1]), here.tries(third)) == (2, 2), within=2 * SOON, what="the second beginning of both steps")
    (worker,) = {here.attempt(run_id)[2] for run_id in (long[1], third)}
    os.kill(int(worker.rpartition(":")[2]), signal.SIGTERM)
    eventually(lambda: (here.tries(long[1]), here.tries(third)) == (3, 3), within=2 * SOON, what="the third beginning of both steps")
    here.let_go("long-1", "long-2")
    for run_id in (long[1], third):
        here.ends(run_id)
        assert here.olga.api("GET", f"/api/runs/{run_id}/")["attempts"] == {"work": 1}


def test_a_step_that_ends_while_the_database_is_away_is_not_performed_again(tmp_path: Path):
    with postgres_server() as postgres:
        require("PostgreSQL", postgres)
        assert postgres
        with site(tmp_path, DATABASE_URL=postgres.url, REDIS_URL="") as here:
            run_id = here.held("away")
            postgres.crash()
            here.let_go("away")
            eventually(lambda: not here.performers(), within=SOON, what="the end of the program")
            time.sleep(3)
            postgres.start()
            here.ends(run_id)
            assert here.tries(run_id) == 1
