"""A whole installation: the product's own processes on this machine, and a client that knows only HTTP and sockets.

`python -m tests.installations` furnishes the configured database and prints what the people in it sign in with.
"""

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg

from tests.processes import eventually, marked, read

ROOT = Path(__file__).parent.parent
PEOPLE = {"olga": ("designer", "operator"), "ann": ("reviewer",), "ben": ("reviewer",)}
LEASE = 2.0
MARK = "HERMES_TEST_MARK"
STOP_WITHIN = 40.0  # twice the time after which the supervisor kills whom it asked


class Installation:
    """Processes that share a database. `keys[name]` is what a person signs in with: a token and a session's cookie."""

    def __init__(self, home: Path, **env: str) -> None:
        self.home, self.mark = home, f"installation-{uuid4()}"
        more = {"HERMES_HOME": str(home), "HERMES_LEASE_SECONDS": str(LEASE), "PYTHONPATH": str(ROOT), MARK: self.mark}
        self.env = {**os.environ, **more, **env}
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        furnish = [sys.executable, "-m", "tests.installations"]
        furnished = subprocess.run(furnish, env=self.env, cwd=ROOT, check=True, timeout=120, stdout=subprocess.PIPE)
        self.keys: dict[str, dict[str, str]] = json.loads(furnished.stdout)

    def start(self, name: str, *argv: str, **env: str) -> None:
        """Run `python ARG…` in a process group of its own."""
        with self._log(name).open("ab") as log:
            self.running[name] = subprocess.Popen(
                [sys.executable, *argv], env={**self.env, **env}, cwd=ROOT, stdout=log, stderr=log, start_new_session=True
            )

    def manage(self, name: str, command: str) -> None:
        """Run a command of manage.py as a worker's process."""
        self.start(name, "manage.py", command, HERMES_PROCESS="worker")

    def web(self, name: str) -> str:
        """Run a web process of its own. Returns its URL."""
        from runs.management.commands.up import uvicorn_options

        port = free_port()
        self.start(name, "-m", "uvicorn", *uvicorn_options("127.0.0.1", port), HERMES_PROCESS="web")
        return f"http://127.0.0.1:{port}"

    def kill(self, name: str) -> None:
        """End the whole group at once."""
        process = self.running.pop(name)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)

    def stop(self) -> None:
        """Ask all to end; whatever does not is a defect."""
        for process in self.running.values():
            process.terminate()
        try:
            for process in self.running.values():
                process.wait(STOP_WITHIN)
            eventually(lambda: not self.alive(), within=5, what="the end of all that was started")
        finally:
            for pid in self.alive():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            for process in self.running.values():
                process.wait(10)

    def alive(self) -> dict[int, str]:
        """Every process of the installation, with those of performers."""
        return marked(self.mark)

    def said(self) -> str:
        """What the processes complained about."""
        return "".join(path.read_text(errors="replace") for path in sorted(self.home.glob("*.log")))

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a query that no process of the installation hears of."""
        url = self.env.get("DATABASE_URL")
        if url:
            with psycopg.connect(url) as connection:
                return list(connection.execute(sql))  # type: ignore[arg-type]
        with closing(sqlite3.connect(self.home / "hermes.sqlite3", timeout=20)) as connection:
            return list(connection.execute(sql))

    def children(self, pid: int) -> list[int]:
        """The processes that a process started, oldest first."""
        found = [(int(parent_of(other)), other) for other in self.alive()]
        return sorted(other for parent, other in found if parent == pid)

    def performed(self) -> list[str]:
        """The idempotency key of each time that the held performer was at work."""
        path = self.home / "performed"
        return path.read_text().splitlines() if path.exists() else []

    def _log(self, name: str) -> Path:
        return self.home / f"{name}.log"


@contextmanager
def installation(home: Path, **env: str) -> Iterator[Installation]:
    """A furnished installation; at the end its processes have to be gone."""
    built = Installation(home, **env)
    try:
        yield built
    finally:
        built.stop()


class Person:
    """Somebody at one web process, with a token for the API and a session for pages and sockets."""

    def __init__(self, url: str, keys: dict[str, str]) -> None:
        self.url, self.cookie, self.name = url, keys["cookie"], keys["name"]
        self._token = {"Authorization": f"Token {keys['token']}", "Content-Type": "application/json"}
        self.statuses: list[int] = []

    def api(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """The JSON that the API answers."""
        data = None if body is None else json.dumps(body).encode()
        return json.loads(self._fetch(path, {**self._token, **headers}, method, data))

    def page(self, path: str) -> str:
        """The HTML of a page."""
        return self._fetch(path, {"Cookie": self.cookie}).decode()

    def _fetch(self, path: str, headers: dict[str, str], method: str = "GET", data: bytes | None = None) -> bytes:
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                self.statuses.append(answer.status)
                return bytes(answer.read())
        except urllib.error.HTTPError as refusal:
            with refusal:
                self.statuses.append(refusal.status)
                return refusal.read()


def parent_of(pid: int) -> str:
    """The parent's id; 0 when the process is gone."""
    fields = read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    return fields[1] if fields else "0"


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def furnish() -> dict[str, dict[str, str]]:
    """Migrate, set up, and let people in; the profile `held` performs until it is let go."""
    import django

    django.setup()
    from django.conf import settings
    from django.core.management import call_command

    from hermes_workflow.models import Profile
    from tests.builders import person, profile

    call_command("migrate", verbosity=0)
    call_command("setup_demo", verbosity=0, stdout=sys.stderr)
    argv = [sys.executable, "-I", "-S", str(ROOT / "tests" / "held_performer.py"), str(settings.HERMES_HOME)]
    profile("held", Profile.Performer.SUBPROCESS, settings={"argv": argv, "env": [MARK]})
    people = [person(name, *roles) for name, roles in PEOPLE.items()]
    return {who.user.username: keys_of(who) for who in people}


def keys_of(who: Any) -> dict[str, str]:
    """What a person signs in with."""
    from hermes_workflow.models import Token
    from tests.sockets import session_of

    return {"name": who.user.username, "token": Token.objects.create(who.user, name="test")[1], "cookie": session_of(who)}


if __name__ == "__main__":
    os.environ["DJANGO_SETTINGS_MODULE"] = "hermes_workflow.settings"
    sys.stdout.write(json.dumps(furnish()))
