"""The seams: how a step is performed outside our process, behind one protocol of plain values."""

from runs.seams.base import Again, Assignment, Failed, Outcome, Performed, Performer

__all__ = ["Again", "Assignment", "Failed", "Outcome", "Performed", "Performer"]
