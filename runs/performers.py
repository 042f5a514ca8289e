"""Which profile performs an agent step, read once a second at most."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from hermes_workflow.core.plan import Plan, Step
from hermes_workflow.models import Profile

FRESH_FOR = 1.0  # seconds: an admin's change reaches every process within this time

_known: dict[str, tuple[float, "Performing | None"]] = {}


@dataclass(frozen=True, slots=True)
class Performing:
    """A profile's performer and its settings."""

    profile: str
    performer: str
    settings: dict[str, Any]
    model: str
    allow_model_override: bool
    catalogue: tuple[str, ...] = ()
    timeout_minutes: int | None = None

    @classmethod
    def of(cls, row: Profile) -> "Performing":
        """What the row says."""
        return cls(
            profile=row.name,
            performer=row.performer,
            settings=row.settings,
            model=row.model,
            allow_model_override=row.allow_model_override,
            catalogue=tuple(row.catalogue),
            timeout_minutes=row.timeout_minutes,
        )


def performing(name: str) -> Performing | None:
    """The profile of that name; None when there is none. The empty name is the default profile."""
    name = name or settings.HERMES_DEFAULT_PROFILE
    at, found = _known.get(name, (0.0, None))
    if time.monotonic() - at > FRESH_FOR or at == 0.0:
        row = Profile.objects.filter(name=name).first()
        found = Performing.of(row) if row else None
        _known[name] = (time.monotonic(), found)
    return found


def forget() -> None:
    """Read every profile anew."""
    _known.clear()


def resolver(plan: Plan) -> Callable[[Step], bool]:
    """Whether a step of `plan` has a performer now; an unknown profile counts as one, and fails the step by name."""

    def has_performer(step: Step) -> bool:
        found = performing(step.spec.get("profile", ""))
        return found is None or found.performer != Profile.Performer.NONE

    return has_performer
