"""The page about gates is true: its examples are accepted as they stand."""

import json
import re
from pathlib import Path

from approvals.replies import COMMENT_LIMIT
from approvals.sources import Source
from hermes_workflow.dialects.design import validate_designer_graph
from tests import builders as b

PAGE = (Path(__file__).parents[2] / "docs/how-to/gates.md").read_text()
EXAMPLES = [json.loads(text) for text in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]


def test_the_node_on_the_page_is_valid():
    node = next(example for example in EXAMPLES if example.get("type") == "approval")
    assert validate_designer_graph(b.design(b.agent("draft"), node)) == []


def test_the_source_on_the_page_is_accepted():
    Source(**next(example["source"] for example in EXAMPLES if "source" in example)).check()


def test_the_limit_on_the_page_is_the_one_that_is_kept():
    assert f"{COMMENT_LIMIT:,} characters" in PAGE
