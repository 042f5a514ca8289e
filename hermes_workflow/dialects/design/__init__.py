"""The `design` dialect: a graph of trigger, agent, condition, approval, output and note; edges are `after`."""

from hermes_workflow.dialects.design.compile import build_run_plan
from hermes_workflow.dialects.design.validate import RULES, rules_table, validate_designer_graph

__all__ = ["RULES", "build_run_plan", "rules_table", "validate_designer_graph"]
