"""The supervisor with real processes: restarts, ends in order, and leaves nothing behind."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from hermes_workflow.supervisor import FIRST_DELAY, LONGEST_DELAY, STEADY, next_delay
from tests.processes import eventually, marked

ROOT = Path(__file__).parents[2]

HOUSE = """
import asyncio, sys
from hermes_workflow.supervisor import Program, Supervisor, say
programs = [Program(f"p{n}" if n else "workers", (sys.executable, "-c", code)) for n, code in enumerate(sys.argv[1:])]
asyncio.run(Supervisor(programs, say, grace=0.5).run())
"""
SLEEPS = "import os, time; os.write(1, b'ready\\n'); time.sleep(600)"
DEAF = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN);" + SLEEPS
FORKS = "import os\nfrom hermes_workflow.leash import leash_forks\nleash_forks()\nfor _ in 'ab':\n os.fork()\n" + SLEEPS
DIES = "print('lived', flush=True); raise SystemExit(3)"


class House:
    """A supervised set of programs that can be watched."""

    def __init__(self, argv: list[str], home: Path, **env: str) -> None:
        self.mark = f"mark-{uuid4()}"
        self.log = home / "log"
        with self.log.open("wb") as out:
            variables = {**os.environ, "HERMES_TEST_MARK": self.mark, "HERMES_HOME": str(home), "PYTHONPATH": str(ROOT), **env}
            self.process = subprocess.Popen(argv, stdout=out, stderr=subprocess.STDOUT, env=variables, cwd=ROOT)

    def text(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    def alive(self) -> dict[int, str]:
        return marked(self.mark)

    def shows(self, text: str, times: int = 1, within: float = 15) -> None:
        eventually(lambda: self.text().count(text) >= times, within=within, what=f"{text!r} {times} times in {self.text()}")

    def is_gone(self, within: float = 5) -> None:
        self.process.wait(within + 15)
        eventually(lambda: not self.alive(), within=within, what=f"the end of {self.alive()}")


@pytest.fixture
def houses() -> Iterator[list[House]]:
    """Ends whatever a failing test left."""
    built: list[House] = []
    yield built
    for house in built:
        for pid in house.alive():
            with suppress(ProcessLookupError):  # it ended by itself meanwhile
                os.kill(pid, signal.SIGKILL)
        house.process.wait(10)


@pytest.fixture
def supervise(houses: list[House], tmp_path: Path) -> Callable[..., House]:
    def start(*codes: str) -> House:
        houses.append(House([sys.executable, "-c", HOUSE, *codes], tmp_path))
        return houses[-1]

    return start


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_asked_to_stop_it_stops_every_program(supervise, number):
    house = supervise(SLEEPS, FORKS)
    house.shows("ready", times=5)
    house.process.send_signal(number)
    house.is_gone()
    assert house.process.returncode == 0


def test_killed_it_leaves_no_child_and_no_grandchild(supervise):
    house = supervise(SLEEPS, DEAF, FORKS)
    house.shows("ready", times=6)
    house.process.kill()
    house.is_gone()


def test_a_program_that_will_not_stop_is_killed_after_the_grace(supervise):
    house = supervise(DEAF)
    house.shows("ready")
    house.process.terminate()
    house.is_gone()


def test_a_program_that_ends_starts_again_after_growing_pauses(supervise):
    house = supervise(DIES, SLEEPS)
    house.shows("workers | ended with status 3; starts again in 0.5 s")
    house.shows("workers | ended with status 3; starts again in 1 s")
    house.shows("lived", times=3)


def test_what_a_killed_leader_forked_ends_with_it(supervise):
    house = supervise(FORKS)
    house.shows("ready", times=4)
    first = set(house.alive()) - {house.process.pid}
    os.kill(min(first), signal.SIGKILL)
    house.shows("ready", times=8)
    assert not first & set(house.alive())


def test_workers_taken_for_wedged_are_replaced_and_nothing_else_is(supervise):
    house = supervise(FORKS, SLEEPS)
    house.shows("workers | ready", times=4)
    house.shows("p1      | ready")
    house.process.send_signal(signal.SIGUSR1)
    house.shows("workers | ready", times=8)
    assert house.text().count("p1      | ready") == 1


def test_control_characters_of_a_program_never_reach_the_terminal(supervise):
    house = supervise("print('a\\x1b[2Jb\\rc'); " + SLEEPS)
    house.shows("workers | a\\x1b[2Jb\\rc")


def test_a_long_line_does_not_stop_the_reading(supervise):
    house = supervise("print('x' * 300_000); " + SLEEPS)
    house.shows("workers | ready")


def test_pauses_double_up_to_a_limit_and_a_steady_life_forgets_them():
    delay, seen = 0.0, []
    for _ in range(9):
        delay = next_delay(delay, lived=0)
        seen.append(delay)
    assert seen[:4] == [FIRST_DELAY, 1, 2, 4]
    assert seen[-1] == LONGEST_DELAY
    assert next_delay(LONGEST_DELAY, lived=STEADY) == FIRST_DELAY


def test_a_port_in_use_is_said_before_anything_starts(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = up(tmp_path, port)
    assert ended.returncode == 1
    assert f"cannot listen on port {port} of 127.0.0.1: it is in use" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_an_address_of_another_machine_is_said_too(tmp_path):
    ended = up(tmp_path, 8000, HOST="192.0.2.1")
    assert ended.returncode == 1
    assert "192.0.2.1" in ended.stderr
    assert "Traceback" not in ended.stderr


def up(home: Path, port: int, **env: str) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "HERMES_HOME": str(home), "PORT": str(port), **env}
    argv = [sys.executable, str(ROOT / "manage.py"), "up"]
    return subprocess.run(argv, env=variables, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["kill", "interrupt"])
def test_the_whole_product_comes_up_and_leaves_nothing(houses, tmp_path, how):
    manage, home = str(ROOT / "manage.py"), {"HERMES_HOME": str(tmp_path), "DATABASE_URL": "", "REDIS_URL": ""}
    subprocess.run([sys.executable, manage, "migrate", "-v0"], env={**os.environ, **home}, check=True, timeout=120)
    house = House([sys.executable, manage, "up"], tmp_path, **home, PORT=str(free_port()))
    houses.append(house)
    house.shows("Hermes Workflow is at http://127.0.0.1:", within=120)
    eventually(lambda: len(house.alive()) >= 9, within=120, what="the start of web, pulse, and workers with those they fork")
    house.process.send_signal({"kill": signal.SIGKILL, "interrupt": signal.SIGINT}[how])
    house.is_gone()


def free_port() -> Any:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]
