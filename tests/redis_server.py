"""A throwaway Redis of the distribution's package, which may be killed and comes back empty at the same address."""

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.processes import eventually

PROGRAM = shutil.which("redis-server") or ""


class RedisServer:
    """One server on a free port; it keeps nothing on disk."""

    def __init__(self, home: Path, port: int) -> None:
        self.home, self.port = home, port
        self.url = f"redis://127.0.0.1:{port}/0"
        self.start()

    def start(self) -> None:
        """Run, and return once it accepts connections."""
        argv = [PROGRAM, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", str(self.home)]
        self.process = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
        eventually(self.answers, within=10, what="the start of Redis")

    def kill(self) -> None:
        """End it at once, with all it held."""
        self.process.kill()
        self.process.wait(10)

    def answers(self) -> bool:
        """Whether it accepts connections."""
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return True


@contextmanager
def redis_server(home: Path, port: int) -> Iterator[RedisServer]:
    """A running server, gone afterwards."""
    server = RedisServer(home, port)
    try:
        yield server
    finally:
        server.kill()
