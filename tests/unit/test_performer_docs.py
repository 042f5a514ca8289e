"""The reference of performers names every setting that they read, and no kind of failure that there is not."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from hermes_workflow.core.failures import HINTS
from runs.seams.coding_agents import TEMPLATES
from runs.seams.openai_endpoint import Endpoint
from runs.seams.program import Program

DOCS = Path(__file__).parents[2] / "docs"
REFERENCE = (DOCS / "performers.md").read_text()


@pytest.mark.parametrize(("reader", "heading"), [(Program, "## A program of your own"), (Endpoint, "## A chat model")])
def test_every_setting_has_its_row(reader, heading):
    section = REFERENCE.partition(heading)[2].partition("\n## ")[0].partition("| setting |")[2].partition("\n\n")[0]
    named = {name for line in section.splitlines() for name in re.findall(r"`(\w+)`", line.split(" | ")[0])}
    assert named == {field.name for field in fields(reader)}


def test_every_kind_of_failure_is_one():
    tables = REFERENCE.split("| what happened | kind |")[1:]
    rows = [line.split(" | ") for table in tables for line in table.partition("\n\n")[0].splitlines()[2:]]
    named = {kind for row in rows for kind in re.findall(r"`(\w+)`", row[1])}
    assert named <= set(HINTS)
    assert set(HINTS) - named == {"approval_timeout", "rejected", "blocked", "model_denied", "worker_lost", "internal"}


def test_every_variable_that_a_coding_agent_is_given_is_told():
    told = (DOCS / "how-to" / "coding-agents.md").read_text()
    for name, template in TEMPLATES.items():
        assert f"`{name}`" in told
        assert f"`{template.argv[0]} {' '.join(template.words)}" in told
