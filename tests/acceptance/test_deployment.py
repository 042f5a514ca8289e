"""The same product as many processes: apart on PostgreSQL with Redis, together on SQLite without, and while parts of it fail."""

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

from runs.watching import TRUSTED
from tests import builders as b
from tests.conftest import require
from tests.installations import LEASE, Installation, Person, free_port, installation
from tests.postgres_server import PostgresServer, postgres_server
from tests.processes import eventually
from tests.redis_server import PROGRAM, RedisServer, redis_server
from tests.sockets import SOON

pytestmark = [pytest.mark.slow, pytest.mark.crash]

DESIGN = b.design(b.agent("work", profile="held"), b.approval("review", quorum=2), b.output("tell", deliver="notification"))
START_WITHIN = 90.0
REPAIRED = 20.0  # seconds until everything that lost a server has found it again
MISSED = SOON + TRUSTED  # seconds until news arrive although Redis just died


class House:
    """An installation and its people: `here` is one web process, `there` the other, or the same where there is one."""

    def __init__(self, built: Installation, here: str, there: str) -> None:
        self.built = built
        self.olga, self.ben = (Person(here, built.keys[name]) for name in ("olga", "ben"))
        self.olga_there, self.ann_there = (Person(there, built.keys[name]) for name in ("olga", "ann"))
        for who in self.olga, self.olga_there:
            eventually(lambda who=who: answers(who), within=START_WITHIN, what="the start of every part")
            who.statuses.clear()
        created = self.olga.api("POST", "/api/designs/", {"name": "story", "dialect": "design", "document": DESIGN})
        assert created["ok"], created

    def start(self, hold: str = "nothing") -> str:
        """A run, whose step is performed for as long as it is held."""
        run = self.olga.api("POST", "/api/designs/story/run/", {"input": {"hold": hold}})
        assert run["ok"], run
        return str(run["run_id"])

    def start_held(self, hold: str) -> str:
        """A run in the middle of its step."""
        (self.built.home / hold).touch()
        run_id = self.start(hold)
        eventually(lambda: self.tries(run_id), within=REPAIRED, what="the step's beginning")
        return run_id

    def let_go(self, hold: str) -> None:
        """The step ends."""
        (self.built.home / hold).unlink()

    def tries(self, run_id: str) -> int:
        """How often a performer began the step; each time under the same key."""
        return self.built.performed().count(f"workflow:{run_id}:work:1")

    def until(self, run_id: str, status: str, within: float = REPAIRED) -> dict[str, Any]:
        """The run document once it says so."""
        found: dict[str, Any] = {}

        def reached() -> bool:
            found.update(self.olga.api("GET", f"/api/runs/{run_id}/"))
            return found["status"] == status

        eventually(reached, within=within, what=f"{status} of {run_id}")
        return found

    def answer(self, run_id: str, who: Person) -> dict[str, Any]:
        """One of the two votes that the gate needs."""
        body = {"node_id": "review", "answer": "approve"}
        given = who.api("POST", f"/api/runs/{run_id}/respond/", body, **{"Idempotency-Key": f"{run_id}-{who.name}"})
        return dict(given)

    def kill_workers(self) -> None:
        """Every process of every worker group, at once; whoever looks after them starts them again."""
        for name in [name for name in self.built.running if name.startswith("workers")]:
            self.built.kill(name)
            self.built.manage(name, "workers")
        for pid, command in self.built.alive().items():
            if "up" in self.built.running and command.rstrip().endswith("manage.py workers"):
                os.killpg(os.getpgid(pid), signal.SIGKILL)
                break

    def worst(self) -> int:
        """The highest status that anybody was given."""
        return max(status for who in (self.olga, self.ben, self.olga_there, self.ann_there) for status in who.statuses)


def answers(who: Person) -> bool:
    """Whether web, database, workers and pulse all work."""
    try:
        return bool(who.api("GET", "/readyz")["ok"])
    except OSError:
        return False


@contextmanager
def listening(who: Person, path: str) -> Iterator[ClientConnection]:
    """The person's open socket."""
    address = who.url.replace("http", "ws") + path
    with connect(address, origin=who.url, additional_headers={"Cookie": who.cookie}) as socket:  # type: ignore[arg-type]
        yield socket


def told(socket: ClientConnection, seq: int = 0, within: float = SOON) -> dict[str, Any]:
    """The first frame that knows of `seq`."""
    end = time.monotonic() + within
    while True:
        frame: dict[str, Any] = json.loads(socket.recv(timeout=max(0.0, end - time.monotonic())))
        assert frame["type"] == "changed"
        if frame["seq"] >= seq:
            return frame


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        require("PostgreSQL", server)
        assert server
        yield server


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    require("Redis", PROGRAM)
    with redis_server(tmp_path_factory.mktemp("redis"), free_port()) as server:
        yield server


@pytest.fixture(scope="module")
def apart(postgres: PostgresServer, redis: RedisServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """Two web processes, two groups of workers and a pulse."""
    with installation(tmp_path_factory.mktemp("apart"), DATABASE_URL=postgres.url, REDIS_URL=redis.url) as built:
        here, there = built.web("web-1"), built.web("web-2")
        for name, command in [("workers-1", "workers"), ("workers-2", "workers"), ("pulse", "pulse")]:
            built.manage(name, command)
        yield House(built, here, there)


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """`manage.py up` as it comes."""
    with installation(tmp_path_factory.mktemp("together"), DATABASE_URL="", REDIS_URL="") as built:
        port = free_port()
        built.start("up", "manage.py", "up", PORT=str(port))
        url = f"http://127.0.0.1:{port}"
        yield House(built, url, url)


@pytest.fixture(params=["apart", "together"])
def house(request: pytest.FixtureRequest) -> House:
    found: House = request.getfixturevalue(request.param)
    return found


def test_from_a_start_at_one_web_process_to_a_notice_at_the_other(house):
    run_id = house.start_held("story")
    with (
        listening(house.olga_there, f"/ws/runs/{run_id}/") as page,
        listening(house.ann_there, "/ws/inbox/") as inbox,
        listening(house.olga_there, "/ws/inbox/") as bell,
    ):
        house.let_go("story")
        told(page, house.until(run_id, "awaiting_approval")["seq"])
        told(inbox)
        told(page, house.answer(run_id, house.ben)["seq"])
        told(inbox)
        house.answer(run_id, house.ann_there)
        done = house.until(run_id, "done")
        told(page, done["seq"])
        told(bell)
    assert done["attempts"] == {"work": house.tries(run_id)} == {"work": 1}
    assert [receipt["ok"] for receipt in done["deliveries"]] == [True]
    assert (done["workflow_id"] or run_id)[:8] in house.olga_there.page("/notices/")
    assert house.worst() < 400


def test_many_runs_share_the_workers_and_each_step_is_performed_once(house):
    runs = [house.start() for _ in range(8)]
    for run_id in runs:
        house.until(run_id, "awaiting_approval")
    assert [house.tries(run_id) for run_id in runs] == [1] * 8


def test_a_step_whose_workers_were_all_killed_is_performed_once_more_under_its_number(house):
    run_id = house.start_held("killed")
    house.kill_workers()
    eventually(lambda: house.tries(run_id) == 2, within=LEASE + REPAIRED, what="the second performance")
    house.let_go("killed")
    assert house.until(run_id, "awaiting_approval")["attempts"] == {"work": 1}
    assert house.tries(run_id) == 2
    history = house.olga.api("GET", f"/api/runs/{run_id}/events/")["results"]
    assert [event["data"]["number"] for event in history if event["type"] == "step.completed"] == [1]


def test_without_redis_runs_go_on_and_pages_answer_and_with_it_again_all_is_as_before(apart, redis):
    held = apart.start_held("redis")
    with listening(apart.olga_there, f"/ws/runs/{held}/") as page:
        redis.kill()
        unheard = apart.start()
        apart.let_go("redis")
        told(page, apart.until(held, "awaiting_approval")["seq"], within=MISSED)
        for who in apart.ben, apart.ann_there:
            assert apart.answer(held, who)["ok"]
            assert "Inbox" in who.page("/inbox/")
        for run_id, status in {unheard: "awaiting_approval", held: "done"}.items():
            apart.until(run_id, status)
        redis.start()
        again = apart.start()
        told(page, apart.until(held, "done")["seq"])
    apart.until(again, "awaiting_approval")
    assert apart.worst() < 400


def test_a_database_that_failed_under_a_parked_run_strands_nothing(apart, postgres):
    parked, held = apart.start(), apart.start_held("postgres")
    apart.until(parked, "awaiting_approval")
    with listening(apart.olga_there, f"/ws/runs/{held}/") as page:
        postgres.crash()
        apart.let_go("postgres")
        assert apart.answer(parked, apart.ben)["error"]["code"] == "unavailable"
        assert "Try again" in apart.ann_there.page("/inbox/")
        assert (apart.ben.statuses.pop(), apart.ann_there.statuses.pop()) == (503, 503)
        postgres.start()
        for who in apart.ben, apart.ann_there:
            eventually(lambda who=who: apart.answer(parked, who)["ok"], within=REPAIRED, what="an answer")
        apart.until(parked, "done")
        told(page, apart.until(held, "awaiting_approval", LEASE + REPAIRED)["seq"])
    eventually(lambda: answers(apart.olga), within=REPAIRED, what="readiness")
