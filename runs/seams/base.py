"""What a performer is given and what it may answer: values only, no Django, no clock."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

from hermes_workflow.core.prompts import rendered


@dataclass(frozen=True)
class Assignment:
    """One try of one step.

    `context` is `{"input": {…}, "<producer id>": value}`; `number` rises after a known outcome and is part of `idempotency_key`;
    `ref` is what an earlier claim of the same number was told to come back with. `settings` belongs to the performer (for a
    subprocess: argv, limits, names of environment variables). Seconds throughout. `message`, where there is one, is the whole text for
    the performer, with the context in it, and `system` what a model is told before it.
    """

    run_id: str
    node_id: str
    number: int
    prompt: str
    context: Mapping[str, Any] = field(default_factory=dict)
    input: Mapping[str, Any] = field(default_factory=dict)
    profile: str = ""
    model: str = ""
    schema: Mapping[str, Any] | None = None
    correlation_id: str = ""
    idempotency_key: str = ""
    timeout_seconds: float = 600.0
    ref: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    message: str = ""
    system: str = ""

    @cached_property
    def rendered(self) -> str:
        """All that the performer is told, as one text: the message, else the prompt with the context."""
        return self.message or rendered(self.prompt, self.context)


@dataclass(frozen=True, slots=True)
class Performed:
    """The step's value: JSON when `structured`, else text.

    `provenance` says who did it, in a few short strings; `usage` counts what it cost; `session` is the performer's own name for the
    conversation, `said` what was said in it between the prompt and the value, as `(role, text)`.
    """

    value: Any
    structured: bool
    provenance: Mapping[str, Any] = field(default_factory=dict)
    usage: Mapping[str, Any] = field(default_factory=dict)
    session: str = ""
    said: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Failed:
    """One try that failed. `kind` is one of `core.failures.HINTS`; `retry_after` is the performer's own wish, in seconds.

    `usage`, `session` and `said` are as those of `Performed`.
    """

    kind: str
    msg: str
    hint: str
    retry_after: float | None = None
    diagnostics: Mapping[str, Any] = field(default_factory=dict)
    usage: Mapping[str, Any] = field(default_factory=dict)
    session: str = ""
    said: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Again:
    """Not finished: give up the lease and ask again with `ref` after `after` seconds; the number stays."""

    after: float
    ref: str


Outcome = Performed | Failed | Again

Say = Callable[[str], None]
"""Hears a piece of what the performer is writing, as it is written; cheap, and never raises."""


def unheard(piece: str) -> None:
    """Nobody reads along."""


class Performer(Protocol):
    """Does a step, in no transaction. `cancelled` is cheap and may be asked often; once true, stop and leave nothing running."""

    keeps_transcript: bool

    def perform(self, assignment: Assignment, *, cancelled: Callable[[], bool], say: Say = unheard) -> Outcome:
        """Answer with an outcome; a known failure is a `Failed`, never an exception."""
        ...


@runtime_checkable
class Stoppable(Protocol):
    """A performer whose work goes on elsewhere, under a `ref`, while no worker holds it."""

    def stop(self, settings: Mapping[str, Any], ref: str) -> bool:
        """Have that work end, in no transaction. False when it could not be told and may be asked again; never raises for what it meets."""
        ...
