"""What follows from the trigger node of a saved design: the webhook and the schedule it names."""

from collections.abc import Iterator
from typing import Any

from django.contrib.auth.models import User

from hermes_workflow import hooks, timetable
from hermes_workflow.dialects.defects import Defect
from hermes_workflow.models import Design


def defects_of(name: str, document: Any) -> Iterator[Defect]:
    """What a trigger asks for and the design of this name cannot have."""
    yield from hooks.defects_of(name, document)


def follow(design: Design, document: Any, author: User) -> None:
    """Make, change and remove what the trigger of a saved document names; in the transaction that saves it."""
    hooks.follow(design, document, author)
    timetable.follow(design, document, author)


def forget(design: Design) -> None:
    """A deleted design is started by nothing any more."""
    design.hooks.all().delete()
    design.schedules.all().delete()
