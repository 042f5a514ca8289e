"""Prints the table of rules, from which docs/rules.md is written."""

import sys

from hermes_workflow.dialects.design.validate import rules_table

sys.stdout.write(rules_table())
