"""One program run to its end as a tree of processes: bounded in time and output, with nothing left when we return."""

import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

KEEPER = str(Path(__file__).with_name("keeper.py"))
STDOUT_LIMIT = 1_048_576
STDERR_LIMIT = 262_144
GRACE = 2.0
CHUNK = 65_536
LOOK_EVERY = 0.25
BEYOND_GRACE = 3.0


@dataclass(frozen=True, slots=True)
class Limits:
    """How far a program may go: seconds (its start and reading its input included), bytes per stream, seconds between TERM and KILL."""

    seconds: float
    stdout: int = STDOUT_LIMIT
    stderr: int = STDERR_LIMIT
    grace: float = GRACE


@dataclass(frozen=True, slots=True)
class Ended:
    """How it ended.

    `stopped` is why it could not end by itself (timeout, cancelled, stdout, stderr; lost: its keeper was killed; room: there was no place
    to run it in), else "". `code` is its exit code, negative for a signal, None if unknown; `errno` is set when it could not be started.
    A stream that passed its limit holds exactly limit + 1 bytes.
    """

    stopped: str
    code: int | None
    errno: int
    stdout: bytes
    stderr: bytes
    seconds: float


@dataclass(slots=True)
class Conversation:
    """The pipes of one running program, and what was read and told so far."""

    keeper: subprocess.Popen[bytes]
    control: socket.socket
    limits: Limits
    unsent: memoryview
    began: float
    read: dict[str, bytearray] = field(default_factory=lambda: {"stdout": bytearray(), "stderr": bytearray()})
    told: dict[str, int] = field(default_factory=dict)
    heard: bytes = b""
    stopped: str = ""
    selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)

    def open(self) -> None:
        """Watch all four pipes, none of which may ever block us."""
        self._watch(self.keeper.stdin, selectors.EVENT_WRITE, self.send)
        self._watch(self.keeper.stdout, selectors.EVENT_READ, lambda: self.receive("stdout"))
        self._watch(self.keeper.stderr, selectors.EVENT_READ, lambda: self.receive("stderr"))
        self.control.setblocking(False)
        self.selector.register(self.control, selectors.EVENT_READ, self.listen)

    def _watch(self, stream: IO[bytes] | None, event: int, react: Callable[[], object]) -> None:
        assert stream is not None
        os.set_blocking(stream.fileno(), False)
        self.selector.register(stream, event, react)

    def _close(self, stream: IO[bytes] | None) -> None:
        if stream is not None and not stream.closed:
            with suppress(KeyError):
                self.selector.unregister(stream)
            stream.close()

    def send(self) -> None:
        """Write as much of the request as the pipe takes; a program that does not read it is none of our business."""
        assert self.keeper.stdin is not None
        try:
            self.unsent = self.unsent[os.write(self.keeper.stdin.fileno(), self.unsent[:CHUNK]) :] if self.unsent else self.unsent
        except BlockingIOError:
            return
        except OSError:
            self.unsent = memoryview(b"")
        if not self.unsent:
            self._close(self.keeper.stdin)

    def receive(self, name: str) -> bool:
        """Read some of one stream, never beyond one byte more than its limit; False when there is nothing more for now."""
        stream: IO[bytes] = getattr(self.keeper, name)
        read, limit = self.read[name], getattr(self.limits, name)
        try:
            data = os.read(stream.fileno(), min(CHUNK, limit + 1 - len(read)))
        except BlockingIOError:
            return False
        read += data
        if len(read) > limit:
            self.stop(name)
        if data and len(read) <= limit:
            return True
        self._close(stream)
        return False

    def listen(self) -> None:
        """Take in the keeper's lines; its silence before `gone` means that it was killed."""
        data = self.control.recv(CHUNK)
        self.heard += data
        for word, value in (line.split() for line in self.heard.decode().splitlines()):
            self.told[word] = int(value)
        if not data and not self.over:
            self.stopped = self.stopped or "lost"
            self.told["gone"] = 0

    @property
    def over(self) -> bool:
        """Whether nothing of it runs any more."""
        return "gone" in self.told or "start" in self.told

    def stop(self, why: str) -> None:
        """Have the keeper end the tree; the first reason counts."""
        if not self.stopped:
            self.stopped = why
            with suppress(OSError):
                self.control.send(b"e")

    def step(self, wait: float) -> None:
        """React to whatever is ready."""
        for key, _ in self.selector.select(max(wait, 0)):
            key.data()

    def drain(self) -> None:
        """Read what still lies in the pipes."""
        for name in self.read:
            while not getattr(self.keeper, name).closed and self.receive(name):
                pass

    def close(self) -> None:
        """Let go of everything. Closing the control socket is what ends the tree if we leave early."""
        for stream in (self.keeper.stdin, self.keeper.stdout, self.keeper.stderr):
            self._close(stream)
        self.selector.close()
        self.control.close()
        try:
            self.keeper.wait(self.limits.grace + BEYOND_GRACE)
        except subprocess.TimeoutExpired:
            self.keeper.kill()
            self.keeper.wait()


def converse(talk: Conversation, cancelled: Callable[[], bool]) -> None:
    """Go on until nothing runs any more, stopping it at its deadline or when the work is no longer wanted."""
    deadline = talk.began + talk.limits.seconds
    give_up: float | None = None
    while not talk.over and (give_up is None or time.monotonic() < give_up):
        talk.step(min(LOOK_EVERY, deadline - time.monotonic()) if not talk.stopped else LOOK_EVERY)
        if "exit" not in talk.told and not talk.stopped:
            if time.monotonic() >= deadline:
                talk.stop("timeout")
            elif cancelled():
                talk.stop("cancelled")
        if give_up is None and (talk.stopped or "exit" in talk.told):
            give_up = time.monotonic() + talk.limits.grace + BEYOND_GRACE
    talk.drain()


def spawn(
    argv: Sequence[str], *, home: str, cwd: str, env: Mapping[str, str], grace: float
) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Start the keeper, which starts `argv` in `cwd`. No preexec_fn: it is unsafe in a process with threads. Raises OSError, ValueError."""
    ours, theirs = socket.socketpair()
    try:
        keeper = subprocess.Popen(
            [sys.executable, "-I", "-S", KEEPER, str(theirs.fileno()), str(grace), home, *argv],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd=cwd,
            env=dict(env),
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
    return keeper, ours


def end_strays(home: str) -> None:
    """Kill what still runs with `home` as its home: all that can be known of a tree whose keeper was killed first."""
    mark = f"HOME={home}".encode()
    for place in Path("/proc").iterdir():
        with suppress(OSError):
            if place.name.isdigit() and mark in (place / "environ").read_bytes().split(b"\0"):
                os.kill(int(place.name), signal.SIGKILL)


def run(
    argv: Sequence[str],
    request: bytes,
    *,
    home: str,
    env: Mapping[str, str],
    limits: Limits,
    cancelled: Callable[[], bool],
    cwd: str = "",
) -> Ended:
    """Run `argv` in `cwd`, or else in `home`, with `request` on its stdin. Raises OSError or ValueError when not even the keeper starts."""
    began = time.monotonic()
    keeper, control = spawn(argv, home=home, cwd=cwd or home, env=env, grace=limits.grace)
    talk = Conversation(keeper, control, limits, memoryview(request), began)
    try:
        talk.open()
        converse(talk, cancelled)
    finally:
        talk.close()
        if talk.stopped == "lost" or keeper.returncode:
            end_strays(home)
    return Ended(
        stopped=talk.stopped,
        code=talk.told.get("exit"),
        errno=talk.told.get("start", 0),
        stdout=bytes(talk.read["stdout"]),
        stderr=bytes(talk.read["stderr"]),
        seconds=time.monotonic() - began,
    )
