"""The first lines of what an agent said."""

import pytest

from approvals.brief import LENGTH, LINES, brief_of


def test_a_summary_stands_for_its_value():
    assert brief_of({"extract": {"risks": [1], "summary": "Two risks."}}) == [{"node_id": "extract", "text": "Two risks.", "more": False}]


@pytest.mark.parametrize("value", ["x" * (LENGTH + 1), "a\n" * (LINES + 1)])
def test_a_long_text_is_cut_and_says_so(value):
    [part] = brief_of({"draft": value})
    assert part["more"]
    assert len(part["text"]) <= LENGTH
    assert part["text"].count("\n") < LINES


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (False, "false"), ({"summary": 3}, '{\n  "summary": 3\n}'), ("a\u200bb", "a[U+200B]b")]
)
def test_every_value_is_shown_as_text_without_anything_invisible(value, text):
    assert brief_of({"draft": value})[0]["text"] == text
