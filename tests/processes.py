"""Watching real processes: they carry a mark in their environment, so that none can hide."""

import os
import time
from collections.abc import Callable
from pathlib import Path


def marked(mark: str) -> dict[int, str]:
    """The living processes whose environment holds `mark`, with their command lines."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            environ, command = read(entry / "environ"), read(entry / "cmdline")
            if mark in environ and command:
                found[int(entry.name)] = command.replace("\0", " ")
    return found


def read(path: Path) -> str:
    """The file's text; a process that just ended has none."""
    try:
        return path.read_bytes().decode(errors="replace")
    except OSError:
        return ""


def eventually(holds: Callable[[], object], *, within: float, what: str) -> None:
    """Wait until `holds()`; fail naming `what` after `within` seconds."""
    end = time.monotonic() + within
    while not holds():
        assert time.monotonic() < end, f"{what} did not happen within {within:g} s"
        time.sleep(0.05)
