"""From a document to what runs: which rulebook and compiler each dialect has, and how it speaks to a performer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hermes_workflow.core.errors import Invalid
from hermes_workflow.core.plan import FORMAT, Step
from hermes_workflow.core.plan import Plan as Program
from hermes_workflow.dialects.canvas import build_canvas_plan, defects_of_canvas
from hermes_workflow.dialects.canvas.message import SYSTEM_CONTEXT, given_to, message
from hermes_workflow.dialects.defects import Defect
from hermes_workflow.dialects.design import build_run_plan, validate_designer_graph
from hermes_workflow.models import Plan

RULEBOOKS: dict[str, Callable[[Any], list[Defect]]] = {"design": validate_designer_graph, "canvas": defects_of_canvas}


@dataclass(frozen=True, slots=True)
class Message:
    """What a performer is told: `text` is empty where the prompt and its context say it all, `system` where nothing is said before."""

    text: str = ""
    system: str = ""


def defects_of(dialect: str, document: Any) -> list[Defect]:
    """Every defect of a document. Raises Invalid for a dialect that has no rulebook here."""
    if dialect not in RULEBOOKS:
        raise Invalid(f"dialect must be {' or '.join(RULEBOOKS)}, got {dialect!r}"[:120])
    return RULEBOOKS[dialect](document)


def compile_document(dialect: str, document: Any, *, profile: str = "") -> Program:
    """The plan of a valid document. A canvas names no performer: its steps are those of `profile`."""
    return build_canvas_plan(document, profile) if dialect == "canvas" else build_run_plan(document)


def message_for(
    plan: Program, step: Step, *, started: Mapping[str, Any], given: Any, results: Mapping[str, Any], skills: Mapping[str, str]
) -> Message:
    """What the performer of a step is told, beyond its prompt. `results` are the outputs of the steps before it, `skills` the texts of
    those it selected, `started` what the run's first event says and `given` its input."""
    if plan.dialect != "canvas":
        return Message()
    task = given_to(plan, step, started, given)
    return Message(message(plan, step, results=results, given=task, skills=skills), SYSTEM_CONTEXT)


def store(program: Program) -> Plan:
    """The row of a plan; equal plans share one."""
    row, _ = Plan.objects.get_or_create(digest=program.digest, defaults={"format": FORMAT, "body": program.body()})
    return row
