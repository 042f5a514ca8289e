"""What follows from the trigger node of a saved design: the webhook and the schedule it names."""

from collections.abc import Iterator
from typing import Any

from hermes_workflow import hooks, timetable
from hermes_workflow.dialects.defects import Defect
from hermes_workflow.models import Design
from hermes_workflow.rights import Principal


def defects_of(name: str, document: Any) -> Iterator[Defect]:
    """What a trigger asks for and the design of this name cannot have."""
    yield from hooks.defects_of(name, document)


def follow(design: Design, document: Any, principal: Principal) -> None:
    """Make, change and remove what the trigger of a saved document names; in the transaction that saves it.

    What a bot saved sends to channels only once a person has allowed it anew: the version may name other channels and other words.
    """
    hooks.follow(design, document, principal.user)
    timetable.follow(design, document, principal.user)
    if principal.is_bot:
        design.hooks.update(may_send=False)
        design.schedules.update(may_send=False)


def forget(design: Design) -> None:
    """A deleted design is started by nothing any more."""
    design.hooks.all().delete()
    design.schedules.all().delete()
