"""What a subprocess profile runs: its settings, its command line, its environment and the directory it works in."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from hermes_workflow.core.errors import Malformed
from runs.seams.processes import GRACE, STDERR_LIMIT, STDOUT_LIMIT
from runs.seams.settings import number, only_known, words

PASSED_ON = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ")
LARGEST_LIMIT = 64 * 1_048_576
LONGEST_GRACE = 3.0


@dataclass(frozen=True, slots=True)
class Program:
    """A profile's settings. `env` names variables to pass on, `model_argv` is added when a model is asked for, limits are bytes."""

    argv: tuple[str, ...]
    model_argv: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    stdout_bytes: int = STDOUT_LIMIT
    stderr_bytes: int = STDERR_LIMIT
    grace_seconds: float = GRACE

    @classmethod
    def read(cls, settings: Mapping[str, Any]) -> "Program":
        """The program that `settings` describe. Raises Malformed naming the setting."""
        only_known(settings, cls)
        if not settings.get("argv"):
            raise Malformed("argv of the performer is missing")
        return cls(
            argv=words(settings, "argv"),
            model_argv=words(settings, "model_argv"),
            env=words(settings, "env"),
            stdout_bytes=int(number(settings, "stdout_bytes", STDOUT_LIMIT, LARGEST_LIMIT)),
            stderr_bytes=int(number(settings, "stderr_bytes", STDERR_LIMIT, LARGEST_LIMIT)),
            grace_seconds=number(settings, "grace_seconds", GRACE, LONGEST_GRACE),
        )

    def command(self, model: str) -> list[str]:
        """The command line, with the model in place of `{model}` if one is asked for."""
        return [*self.argv, *(word.replace("{model}", model) for word in self.model_argv if model)]

    def environment(self, home: str) -> dict[str, str]:
        """All that the program sees of our environment."""
        chosen = {name: os.environ[name] for name in (*PASSED_ON, *self.env) if name in os.environ}
        return {"PATH": os.defpath, **chosen, "HOME": home, "TMPDIR": home}


@contextmanager
def workplace() -> Iterator[str]:
    """A new empty directory for one attempt, gone afterwards whatever was put into it."""
    home = tempfile.mkdtemp(prefix="hermes-")
    try:
        yield home
    finally:
        remove(home)


def remove(home: str) -> None:
    """Remove a directory whose program may have closed parts of it to us."""
    shutil.rmtree(home, ignore_errors=True)
    if os.path.exists(home):
        with suppress(OSError):
            open_up(home)
        shutil.rmtree(home, ignore_errors=True)


def open_up(home: str) -> None:
    """Let ourselves into every directory below `home`, following no link out of it."""
    os.chmod(home, 0o700)
    for place, directories, _ in os.walk(home):
        for path in (os.path.join(place, name) for name in directories):
            if not os.path.islink(path):
                os.chmod(path, 0o700)
