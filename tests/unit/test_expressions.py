"""Conditions: what parses, where refusals point, and how strictly values compare."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_workflow.core.expressions import Expression, evaluate, explain, parse
from tests.unit.hostile import entries

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


def refusal(text):
    """The message of the refusal; empty when `text` parses."""
    try:
        parse(text)
    except ValueError as error:
        return str(error)
    return ""


def holds(condition, output):
    return evaluate(condition, {"a": output})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("out.a.x == 1", Expression("a", ("x",), "==", 1)),
        ("  out.a.x==-1.5e2 ", Expression("a", ("x",), "==", -150.0)),
        ("out.legal review.0.x != 'it\\'s'", Expression("legal review", ("0", "x"), "!=", "it's")),
        ('out.a.x contains "\\u00e9\\n\\ud83d\\ude00"', Expression("a", ("x",), "contains", "é\n😀")),
        ("out.a.x >= true", Expression("a", ("x",), ">=", True)),
        ("out.a.x == False", Expression("a", ("x",), "==", False)),
        ("out.a.x == None", Expression("a", ("x",), "==", None)),
        ("out.a.größe-in_m <= 3", Expression("a", ("größe-in_m",), "<=", 3)),
    ],
)
def test_a_condition_is_read_into_its_parts(text, expected):
    parsed = parse(text)
    assert parsed == expected
    assert type(parsed.literal) is type(expected.literal)


@pytest.mark.parametrize(
    ("text", "column", "word"),
    [
        ("in.a.x == 1", 1, "form"),
        ("out.", 5, "id of a node"),
        ("out.a == 1", 6, "path"),
        ("out.a. == 1", 7, "segment"),
        ("out.a.x() == 1", 8, "operator"),
        ("out.a.x 1", 9, "operator"),
        ("out.a.x === 1", 9, "'==='"),
        ("out.a.x == 1 == 1", 14, "one comparison"),
        ("out.a.x == 1 and out.a.y == 2", 14, "one comparison"),
        ("out.a.x == yes", 12, "'yes'"),
        ("out.a.x == [1]", 12, "'['"),
        ("out.a.x == 01", 12, "number"),
        ("out.a.x == 1.", 14, "digit"),
        ("out.a.x == .5", 12, "literal"),
        ("out.a.x == +1", 12, "literal"),
        ("out.a.x == 1e", 14, "digit"),
        ('out.a.x == "\\x41"', 14, "escape"),
        ('out.a.x == "\\u00"', 15, "hexadecimal"),
        ('out.a.x == "\\u0000"', 13, "NUL"),
        ('out.a.x == "\\ud800"', 12, "surrogate"),
        ('out.a.x == "\\ud800\\u0041"', 13, "surrogate"),
        ('out.a.x == "a\nb"', 14, "control"),
        ("out.a\u200b.x == 1", 5, "invisible"),
        ("out.a" + ".x" * 17 + " == 1", 38, "16 segments"),
    ],
)
def test_a_refusal_names_the_column_and_what_is_accepted(text, column, word):
    with pytest.raises(ValueError, match=rf"column {column}: ") as refused:
        parse(text)
    assert word in str(refused.value)


@pytest.mark.parametrize("value", [None, 1, b"out.a.x == 1", ["out.a.x == 1"]])
def test_only_text_is_a_condition(value):
    with pytest.raises(ValueError, match="column 1"):
        parse(value)


@pytest.mark.parametrize("entry", entries("condition", "field"), ids=lambda entry: entry["id"])
def test_a_hostile_condition_is_refused_with_a_column_or_reads_a_key_that_is_not_there(entry):
    if msg := refusal(entry["value"]):
        assert msg.startswith("column ")
        assert len(msg) < 250
    else:
        assert explain(entry["value"], {"a": {"x": "text"}}) == (False, f"path missing: {entry['value'].split(' ')[0]}")


@pytest.mark.parametrize(
    ("entry_id", "condition", "expected"),
    [("C021", "out.a.x == 1", False), ("C022", "out.a.x > 9", False), ("C024", "out.a.0 == 1", True), ("C026", "out.a.x > 1.5", True)],
)
def test_a_hostile_output_compares_as_documented(entry_id, condition, expected):
    value = next(entry["value"] for entry in entries("condition", "agent_output") if entry["id"] == entry_id)
    verdict, trace = explain(condition, {"a": value})
    assert verdict is expected
    assert entry_id != "C022" or "string and number" in trace


@pytest.mark.parametrize(
    ("condition", "output", "expected"),
    [
        ("out.a.x == 1.0", {"x": 1}, True),
        ("out.a.x == true", {"x": 1}, False),
        ("out.a.x != true", {"x": 1}, True),
        ("out.a.x != 1", {"x": "1"}, True),
        ("out.a.x == null", {"x": None}, True),
        ("out.a.x < null", {"x": None}, False),
        ("out.a.x <= true", {"x": True}, False),
        ("out.a.x < 'b'", {"x": "a"}, True),
        ("out.a.x contains 'b'", {"x": "abc"}, True),
        ("out.a.x contains 1", {"x": [True]}, False),
        ("out.a.x contains 1", {"x": ["1", 1.0]}, True),
        ("out.a.x contains 'k'", {"x": {"k": None}}, True),
        ("out.a.x contains 'k'", {"x": 5}, False),
        ("out.a.x contains 1", {"x": "1"}, False),
        ("out.a.x == 1", {"x": [1]}, False),
        ("out.a.x.1 == 'b'", {"x": ["a", "b"]}, True),
        ("out.a.x.2 != 'b'", {"x": ["a", "b"]}, False),
        ("out.a.x.-1 == 'b'", {"x": ["a", "b"]}, False),
        ("out.a.0 == 1", {"0": 1}, True),
        ("out.a.answer == 'approve'", {"answer": "approve", "by": "ann"}, True),
    ],
)
def test_values_compare_by_value_and_type(condition, output, expected):
    assert holds(condition, output) is expected


@pytest.mark.parametrize("op", ["==", "!=", "<", "<=", ">", ">=", "contains"])
@pytest.mark.parametrize("output", [{}, {"x": None}, {"x": 1}, None, "plain", [], 0])
def test_a_missing_path_is_false_for_every_operator(op, output):
    verdict, trace = explain(f"out.a.x.y {op} 1", {"a": output})
    assert verdict is False
    assert trace == "path missing: out.a.x.y"


def test_a_node_without_output_is_a_missing_path():
    assert explain("out.b.x != 1", {}) == (False, "path missing: out.b.x")


@pytest.mark.parametrize("name", ["output", "text"])
def test_plain_text_is_readable_whole(name):
    assert holds(f"out.a.{name} contains 'dog'", "the lazy dog")
    assert holds(f"out.a.{name} contains 'x'", '{"x": 1}')
    assert holds(f"out.a.{name} == 0", 0)
    assert not holds(f"out.a.{name} == 0", {"other": 0})


@pytest.mark.parametrize("text", ['{"x": 3}', ' {"x": 3}\n', '```json\n{"x": 3}\n```', '```\n{"x": 3}\n```\n'])
def test_text_that_is_wholly_json_is_read_as_json(text):
    assert holds("out.a.x >= 3", text)


@pytest.mark.parametrize("text", ['so {"x": 3}', '```json\n{"x": 3}\n``` so', '{"x": 3', '{"x": 3, "x": 4}'])
def test_text_that_is_not_wholly_json_stays_text(text):
    assert not holds("out.a.x >= 3", text)


def test_an_id_is_compared_after_normalisation():
    assert evaluate("out.cafe\u0301.x == 1", {"caf\u00e9": {"x": 1}})
    assert evaluate("out.caf\u00e9.x == 1", {"cafe\u0301": {"x": 1}})


@pytest.mark.parametrize(
    ("condition", "output", "trace"),
    [
        ("out.a.x > 0", {"x": 3}, "3 > 0 is true"),
        ("out.a.x > 5", {"x": 3}, "3 > 5 is false"),
        ("out.a.x > 9", {"x": "10"}, "'10' > 9 is false, types differ: string and number"),
        ("out.a.x == 'y'", {"x": ["y"]}, "list == 'y' is false, types differ: list and string"),
    ],
)
def test_the_trace_says_why_in_one_line(condition, output, trace):
    assert explain(condition, {"a": output})[1] == trace


def test_a_trace_cuts_and_escapes_what_it_shows():
    _, trace = explain("out.a.x == 1", {"a": {"x": "line\nbreak\u202e" + "y" * 10_000}})
    assert len(trace) < 200
    assert "\n" not in trace
    assert "\u202e" not in trace


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("power", [400, 9000])
def test_huge_whole_numbers_compare_without_overflow(sign, power):
    assert holds("out.a.x > 1.5e300", {"x": sign * 10**power}) is (sign > 0)


@given(st.text(max_size=60) | st.builds("out.a.{}".format, st.text(alphabet="x.01 =!<>'\"\\ucontains()é", max_size=40)))
def test_any_text_parses_or_is_refused_with_a_column(text):
    assert refusal(text)[:7] in ("", "column ")


@given(st.sampled_from(["==", "!=", "<", "<=", ">", ">=", "contains"]), st.sampled_from(["1", "'a'", "true", "null", "1.5"]), json_values)
def test_any_output_can_be_compared(op, literal, output):
    verdict, trace = explain(f"out.a.x {op} {literal}", {"a": {"x": output}})
    assert verdict is evaluate(f"out.a.x {op} {literal}", {"a": {"x": output}})
    assert trace


@pytest.mark.parametrize(
    "text", ["out." + "a" * 496, "out.a" + "." * 495, "out.a.x == " + "9" * 489, "out.a.x == '" + "\\n" * 243, " " * 500]
)
def test_the_longest_condition_is_read_in_no_time(text):
    started = time.perf_counter()
    refusal(text)
    assert time.perf_counter() - started < 0.1
