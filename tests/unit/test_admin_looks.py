"""Whatever a document holds, its field gives it back when nobody touched it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_workflow.admin.draft import shown
from hermes_workflow.admin.looks import ABSENT, LOOKS, is_blank, read_back, same
from hermes_workflow.admin.moves import remove, rename
from hermes_workflow.admin.node_fields import NodeField

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12) | st.sampled_from(
    ["", "true", "2", " 2 ", "2.0", "[]", '"a"', "a\r\nb", "a\rb", "\n", "{", "null"]
)
SCALAR = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
VALUE = st.recursive(SCALAR, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=8)


def as_sent(content):
    """What a browser sends: lines end in CR LF, a set has its blank first."""
    texts = [content] if isinstance(content, str) else ["", *content]
    return [text.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\r\n") for text in texts]


@pytest.mark.parametrize("look", LOOKS)
@given(value=VALUE)
def test_a_value_that_nobody_touched_comes_back(look, value):
    used, content = shown(NodeField("field", "Field", look), value)
    again = read_back(used, as_sent(content), value)
    assert same(again, value) or (again is ABSENT and is_blank(value))


@pytest.mark.parametrize(
    ("look", "typed", "value"),
    [
        ("count", "3", 3),
        ("count", " 3 ", 3),
        ("count", "3.0", "3.0"),
        ("count", "٣", "٣"),
        ("count", "", ABSENT),
        ("flag", "false", False),
        ("flag", "", ABSENT),
        ("lines", "a\r\n\r\n b ", ["a", "b"]),
        ("json", "{}", {}),
        ("json", "{", "{"),
        ("text", "a\r\nb", "a\nb"),
    ],
)
def test_what_is_typed_becomes_a_value_of_the_fields_type(look, typed, value):
    assert read_back(look, [typed], "before") == value


def test_a_set_keeps_its_order_and_adds_at_the_end():
    assert read_back("set", ["", "c", "a", "b"], ["b", "gone", "a"]) == ["b", "a", "c"]


def test_two_nodes_may_swap_their_names():
    nodes = [{"id": "b"}, {"id": "a"}, {"id": "c", "after": ["a", "b"], "expression": "out.a.x == 1"}]
    swapped = rename({"nodes": nodes}, {"a": "b", "b": "a"})["nodes"][2]
    assert swapped == {"id": "c", "after": ["b", "a"], "expression": "out.b.x == 1"}


def test_removing_a_node_leaves_odd_neighbours_as_they_are():
    nodes = [None, {"id": ["x"]}, {"id": "a", "after": "start"}, {"id": "b", "after": ["a", 7, "c"]}]
    assert remove({"nodes": nodes}, 2)["nodes"] == [None, {"id": ["x"]}, {"id": "b", "after": [7, "c"]}]
