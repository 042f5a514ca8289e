"""What a subprocess profile runs: its settings, its command line, its environment and the directory it works in."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from hermes_workflow.core.errors import Malformed
from runs.seams.coding_agents import TEMPLATES
from runs.seams.processes import GRACE, STDERR_LIMIT, STDOUT_LIMIT
from runs.seams.settings import choice, number, only_known, text, words

PASSED_ON = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ")
LARGEST_LIMIT = 64 * 1_048_576
LONGEST_GRACE = 3.0


@dataclass(frozen=True, slots=True)
class Program:
    """A profile's settings. `env` names variables to pass on, `model_argv` is added when a model is asked for, limits are bytes.

    `template` names a coding agent whose command line and output are known; `args` are more words for it. `workdir` is where the program
    works, in place of an empty directory of its own.
    """

    argv: tuple[str, ...]
    template: str = ""
    args: tuple[str, ...] = ()
    workdir: str = ""
    model_argv: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    stdout_bytes: int = STDOUT_LIMIT
    stderr_bytes: int = STDERR_LIMIT
    grace_seconds: float = GRACE

    @classmethod
    def read(cls, settings: Mapping[str, Any]) -> "Program":
        """The program that `settings` describe. Raises Malformed naming the setting."""
        only_known(settings, cls)
        name = choice(settings, "template", ("", *TEMPLATES))
        template = TEMPLATES.get(name)
        if not settings.get("argv") and template is None:
            raise Malformed("argv of the performer is missing")
        if settings.get("args") and template is None:
            raise Malformed("args of the performer go with a template; without one put them into argv")
        known = {"argv": template.argv, "model_argv": template.model_argv} if template else {}
        given = {**known, **{key: value for key, value in settings.items() if value or key not in known}}
        return cls(
            argv=words(given, "argv"),
            template=name,
            args=words(settings, "args"),
            workdir=directory(settings),
            model_argv=words(given, "model_argv"),
            env=(*(template.env if template else ()), *words(settings, "env")),
            stdout_bytes=int(number(settings, "stdout_bytes", STDOUT_LIMIT, LARGEST_LIMIT)),
            stderr_bytes=int(number(settings, "stderr_bytes", STDERR_LIMIT, LARGEST_LIMIT)),
            grace_seconds=number(settings, "grace_seconds", GRACE, LONGEST_GRACE),
        )

    def command(self, model: str) -> list[str]:
        """The command line, with the model in place of `{model}` if one is asked for."""
        asked = [word.replace("{model}", model) for word in self.model_argv if model]
        template = TEMPLATES.get(self.template)
        if template is None:
            return [*self.argv, *asked]
        return [*self.argv, *template.words, *asked, *self.args, *template.last]

    def environment(self, home: str) -> dict[str, str]:
        """All that the program sees of our environment."""
        chosen = {name: os.environ[name] for name in (*PASSED_ON, *self.env) if name in os.environ}
        return {"PATH": os.defpath, **chosen, "HOME": home, "TMPDIR": home}


def directory(settings: Mapping[str, Any]) -> str:
    """An absolute path, or "". Raises Malformed."""
    given = text(settings, "workdir")
    if given and not os.path.isabs(given):
        raise Malformed("workdir of the performer must be an absolute path")
    return given


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
