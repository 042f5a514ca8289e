"""Processes that end with their parent, however it ends: `python leash.py PARENT_PID PROGRAM ARG…`."""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
GONE = 70  # the exit status of a child whose parent was dead before it could be leashed

libc = ctypes.CDLL(None, use_errno=True)


def die_with(parent: int) -> None:
    """The kernel kills this process once the thread that started it is gone; a parent already gone ends it now."""
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "cannot be tied to the parent process")
    if os.getppid() != parent:
        os._exit(GONE)


def leash_forks() -> None:
    """Tie every process this one forks from now on; forks inherit this, but not the tie itself."""
    parent = os.getpid()

    def in_child() -> None:
        nonlocal parent
        die_with(parent)
        parent = os.getpid()

    os.register_at_fork(after_in_child=in_child)


def leashed(argv: list[str]) -> list[str]:
    """The command that runs `argv` tied to this process; start it from a thread that lives on."""
    return [sys.executable, "-P", __file__, str(os.getpid()), *argv]


if __name__ == "__main__":
    die_with(int(sys.argv[1]))
    os.execvp(sys.argv[2], sys.argv[2:])
