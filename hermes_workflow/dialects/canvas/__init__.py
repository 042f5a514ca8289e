"""The `canvas` dialect: agent nodes on a canvas and the connections between them, many at work at once."""

from hermes_workflow.dialects.canvas.compile import build_canvas_plan
from hermes_workflow.dialects.canvas.issues import CODES, Issue
from hermes_workflow.dialects.canvas.validate import defects_of_canvas, validate_canvas

__all__ = ["CODES", "Issue", "build_canvas_plan", "defects_of_canvas", "validate_canvas"]
