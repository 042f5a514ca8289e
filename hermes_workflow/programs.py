"""From a document to what runs: which rulebook and compiler each dialect has."""

from typing import Any

from hermes_workflow.core.errors import Invalid
from hermes_workflow.core.plan import FORMAT
from hermes_workflow.core.plan import Plan as Program
from hermes_workflow.dialects.defects import Defect
from hermes_workflow.dialects.design import build_run_plan, validate_designer_graph
from hermes_workflow.models import Plan


def defects_of(dialect: str, document: Any) -> list[Defect]:
    """Every defect of a document. Raises Invalid for a dialect that has no rulebook here."""
    if dialect != "design":
        raise Invalid(f"dialect must be design, got {dialect!r}"[:120])
    return validate_designer_graph(document)


def compile_document(dialect: str, document: Any) -> Program:
    """The plan of a valid document."""
    assert dialect == "design"
    return build_run_plan(document)


def store(program: Program) -> Plan:
    """The row of a plan; equal plans share one."""
    row, _ = Plan.objects.get_or_create(digest=program.digest, defaults={"format": FORMAT, "body": program.body()})
    return row
