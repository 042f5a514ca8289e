"""The `design` dialect: a graph of trigger, agent, condition, approval, output and note; edges are `after`."""

from hermes_workflow.dialects.design.compile import build_run_plan

__all__ = ["build_run_plan"]
