"""Keeps a few programs running: one process group each, restarted with backoff, stopped together, none left behind."""

import asyncio
import errno
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic

from hermes_workflow.leash import leashed
from hermes_workflow.logs import escape_controls

FIRST_DELAY, LONGEST_DELAY = 0.5, 30.0  # seconds before a restart; doubled each time
STEADY = 30.0  # a program that ran this many seconds starts again without a delay built up
GRACE = 10.0  # seconds between asking to stop and killing
LONGEST_LINE = 65536
SUPERVISOR = "HERMES_SUPERVISOR"


class CannotListen(Exception):
    """The web server could not listen there."""


@dataclass(frozen=True, slots=True)
class Program:
    """What to run, under which name its lines are shown, with which variables added."""

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)


def require_free_port(host: str, port: int) -> None:
    """Raise CannotListen when another program listens there, or the address is not this machine's."""
    try:
        family, kind, proto, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, proto) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            probe.listen()
    except (OSError, OverflowError) as error:
        taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        why = "it is in use; choose another with PORT=…" if taken else str(error)
        raise CannotListen(f"cannot listen on port {port} of {host}: {why}") from error


def ask_for_new_workers() -> bool:
    """Ask the supervisor above this process to replace the workers; False when there is none."""
    pid = int(os.environ.get(SUPERVISOR, "0"))
    if not pid:
        return False
    os.kill(pid, signal.SIGUSR1)
    return True


def next_delay(delay: float, lived: float) -> float:
    """How long to wait before the next start, given the last wait and how long the program ran."""
    return FIRST_DELAY if lived >= STEADY or not delay else min(delay * 2, LONGEST_DELAY)


class Supervisor:
    """Runs programs until told to stop; `say` gets each line to show."""

    def __init__(self, programs: list[Program], say: Callable[[str], None], *, grace: float = GRACE) -> None:
        self.programs = programs
        self.say = say
        self.grace = grace
        self.stopping = asyncio.Event()
        self.running: dict[str, asyncio.subprocess.Process] = {}
        self.width = max(len(program.name) for program in programs)

    async def run(self) -> None:
        """Until SIGTERM or Ctrl-C; a second Ctrl-C kills at once."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.stop)
        loop.add_signal_handler(signal.SIGUSR1, self.kill, "workers")
        async with asyncio.TaskGroup() as tasks:
            for program in self.programs:
                tasks.create_task(self.keep(program))

    def stop(self) -> None:
        """Ask every program to end; asked again, kill them."""
        if self.stopping.is_set():
            for name in list(self.running):
                self.kill(name)
        else:
            self.line("up", "stopping")
            self.stopping.set()

    async def keep(self, program: Program) -> None:
        """Start `program` again and again until the supervisor stops."""
        delay = 0.0
        while not self.stopping.is_set():
            started = monotonic()
            status = await self.run_once(program)
            delay = next_delay(delay, monotonic() - started)
            if not self.stopping.is_set():
                self.line(program.name, f"ended with status {status}; starts again in {delay:g} s")
                await self.pause(delay)

    async def run_once(self, program: Program) -> int:
        """One life of a program, with its process group gone at the end."""
        process = await asyncio.create_subprocess_exec(
            *leashed(list(program.argv)),
            env={**os.environ, SUPERVISOR: str(os.getpid()), "PYTHONUNBUFFERED": "1", **program.env},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        self.running[program.name] = process
        showing = asyncio.create_task(self.show(program.name, process))
        ending = asyncio.create_task(self.end_when_stopping(process))
        try:
            return await process.wait()
        finally:
            ending.cancel()
            self.kill(program.name)
            del self.running[program.name]
            await showing

    async def end_when_stopping(self, process: asyncio.subprocess.Process) -> None:
        """Ask the leader alone, so that it can end its group in order; kill the group when the grace is over."""
        await self.stopping.wait()
        with suppress(ProcessLookupError):
            process.terminate()
        await asyncio.sleep(self.grace)
        kill_group(process.pid)

    def kill(self, name: str) -> None:
        """Kill the program and its whole group now; it is started again unless the supervisor stops."""
        if name in self.running:
            kill_group(self.running[name].pid)

    async def pause(self, seconds: float) -> None:
        """Wait, but not when stopping."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.stopping.wait(), seconds)

    async def show(self, name: str, process: asyncio.subprocess.Process) -> None:
        """Pass on what the program prints, line by line, under its name."""
        assert process.stdout is not None
        rest = b""
        while chunk := await process.stdout.read(LONGEST_LINE):
            *lines, rest = (rest + chunk).split(b"\n")
            if len(rest) > LONGEST_LINE:
                lines, rest = [*lines, rest], b""
            for line in lines:
                self.line(name, line.decode(errors="replace"))
        if rest:
            self.line(name, rest.decode(errors="replace"))

    def line(self, name: str, text: str) -> None:
        """One prefixed line, free of control characters."""
        self.say(f"{name:<{self.width}} | {escape_controls(text.rstrip())}")


def kill_group(pid: int) -> None:
    """SIGKILL to the process group that `pid` leads, if any of it is left."""
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def say(text: str) -> None:
    """Print at once; a closed terminal must not stop the programs."""
    with suppress(OSError):
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
