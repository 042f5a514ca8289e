"""A throwaway PostgreSQL, as `script/with-postgres` runs it, that may be stopped as if the machine had failed."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

SCRIPT = str(Path(__file__).parent.parent / "script" / "with-postgres")
NOT_HERE = 69  # the script's exit status where PostgreSQL is not installed


class PostgresServer:
    """A running server and how to hurt it."""

    def __init__(self, url: str) -> None:
        self.url = url
        with psycopg.connect(url) as connection:
            self._data = Path(connection.execute("SHOW data_directory").fetchone()[0])  # type: ignore[index]
        leader = (self._data / "postmaster.pid").read_text().splitlines()[0]
        self._pg_ctl = Path(f"/proc/{leader}/exe").readlink().with_name("pg_ctl")

    def crash(self) -> None:
        """End every connection and the server, letting nobody finish."""
        self._control("-m", "immediate", "stop")

    def start(self) -> None:
        """Run again with the same options, and return once it has recovered."""
        self._control("-l", str(self._data / "log"), "restart")

    def _control(self, *what: str) -> None:
        owner = self._data.stat()
        as_owner: dict[str, Any] = {}
        if os.geteuid() != owner.st_uid:
            as_owner = {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []}
        argv = [str(self._pg_ctl), "-D", str(self._data), "-s", "-w", *what]
        subprocess.run(argv, cwd="/", check=True, timeout=60, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **as_owner)


@contextmanager
def postgres_server() -> Iterator[PostgresServer | None]:
    """A running server, gone afterwards; None where PostgreSQL is not installed."""
    says_where = 'echo "$DATABASE_URL"; exec cat >/dev/null'
    with subprocess.Popen([SCRIPT, "sh", "-c", says_where], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as script:
        assert script.stdin is not None
        assert script.stdout is not None
        url = script.stdout.readline().strip()
        try:
            yield PostgresServer(url) if url else None
        finally:
            script.stdin.close()
            script.wait(60)
    assert url or script.returncode == NOT_HERE, "PostgreSQL did not start"
