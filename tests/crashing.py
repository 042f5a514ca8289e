"""Real worker processes that may be killed at any moment: a nursery loads Django once and forks workers on demand.

`python -m tests.crashing` reads one line per worker from its standard input: a seed, then the milliseconds each step takes at most
and how often (in percent) a worker kills itself at some edge of its work. It answers with the worker's pid.
"""

import os
import random
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

EDGES = ["outbox.claim", "worker.prepare", "worker.perform", "engine._write", "journal.write", "engine._after", "outbox.renew"]


class Nursery:
    """The workers of a test, all of them children of one process that holds no connection."""

    def __init__(self, process: "subprocess.Popen[str]", journal: Path, errors: Path) -> None:
        self._process = process
        self._journal, self._errors = journal, errors

    def fork(self, seed: int = 0, *, milliseconds: int = 5, suicidal: int = 0) -> int:
        """A new worker; its pid."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{seed} {milliseconds} {suicidal}\n")
        self._process.stdin.flush()
        assert select.select([self._process.stdout], [], [], 30)[0], "the nursery does not answer"
        return int(self._process.stdout.readline())

    def performed(self) -> list[str]:
        """`run:node:number` of each time that a performer was at work, across all workers."""
        return self._journal.read_text().splitlines() if self._journal.exists() else []

    def errors(self) -> str:
        """What the workers complained about."""
        return self._errors.read_text()


@contextmanager
def nursery(tmp_path: Path, *, lease: float) -> Iterator[Nursery]:
    """A nursery on the test's own database; its workers end with it."""
    from django.db import connection

    journal, errors = tmp_path / "performed", tmp_path / "errors"
    settings = connection.settings_dict
    url = f"sqlite:///{settings['NAME']}"
    if connection.vendor == "postgresql":
        url = f"postgres://{settings['USER']}:{settings['PASSWORD']}@{settings['HOST']}:{settings['PORT']}/{settings['NAME']}"
    env = {
        **os.environ,
        "DATABASE_URL": url,
        "HERMES_LEASE_SECONDS": str(lease),
        "CRASH_JOURNAL": str(journal),
        "HERMES_HOME": str(tmp_path),
    }
    argv = [sys.executable, "-m", "tests.crashing"]
    with (
        errors.open("w") as stderr,
        subprocess.Popen(
            argv, cwd=Path(__file__).parent.parent, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, text=True
        ) as process,
    ):
        try:
            yield Nursery(process, journal, errors)
        finally:
            process.kill()


def is_alive(pid: int) -> bool:
    """Whether the process exists; the nursery reaps its dead at once."""
    with suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False


class SlowPerformer:
    """Takes a random while, and notes that it was at work before it answers."""

    keeps_transcript = True

    def __init__(self, milliseconds: int) -> None:
        self.milliseconds = milliseconds

    def perform(self, assignment: Any, *, cancelled: Callable[[], bool], say: Any = None) -> Any:
        """The number of the try."""
        from runs.seams.base import Performed

        note(f"{assignment.run_id}:{assignment.node_id}:{assignment.number}")
        time.sleep(random.random() * self.milliseconds / 1000)
        return Performed({"try": assignment.number}, structured=True)


def note(line: str) -> None:
    """Append a line, in one write."""
    target = os.open(os.environ["CRASH_JOURNAL"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(target, f"{line}\n".encode())
    os.close(target)


def main() -> None:
    """Fork a worker per line until the standard input ends."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "hermes_workflow.settings"
    import django

    django.setup()
    import tests.builders  # noqa: F401 - loaded once, before any worker is forked

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    parent = os.getpid()
    for line in sys.stdin:
        seed, milliseconds, suicidal = map(int, line.split())
        pid = os.fork()
        if not pid:
            work(parent, seed, milliseconds, suicidal)
        print(pid, flush=True)  # noqa: T201 - the answer to whoever asked for a worker


def work(parent: int, seed: int, milliseconds: int, suicidal: int) -> None:
    """Drain for ever."""
    from hermes_workflow.leash import die_with
    from runs import assignments, worker
    from tests.builders import SCRIPTED

    die_with(parent)
    random.seed(seed)
    assignments.PERFORMERS[SCRIPTED] = SlowPerformer(milliseconds)
    if random.randrange(100) < suicidal:
        plant(random.choice(EDGES), random.randrange(1, 12), after=random.random() < 0.5)
    while True:
        if not worker.drain():
            time.sleep(0.005)


def plant(edge: str, countdown: int, *, after: bool) -> None:
    """Die by SIGKILL at the nth passing of an edge, before or after it."""
    import runs.engine
    import runs.journal
    import runs.outbox
    import runs.worker

    name, _, function = edge.partition(".")
    module = getattr(runs, name)
    original = getattr(module, function)
    left = countdown

    def deadly(*args: Any, **kwargs: Any) -> Any:
        nonlocal left
        left -= 1
        if left <= 0 and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        result = original(*args, **kwargs)
        if left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(module, function, deadly)


if __name__ == "__main__":
    main()
