"""The drawing of a workflow: layers, no overlap, straight chains, and hostile graphs."""

import re
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_workflow.graph_layout import NODE_HEIGHT, NODE_WIDTH, drawn, fitted, layout

NAMES = [f"n{number}" for number in range(9)]
graphs = st.tuples(
    st.lists(st.sampled_from(NAMES), unique=True),
    st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=20),
)


def boxes(nodes, edges):
    return {box.id: box for box in layout(nodes, edges).nodes}


def test_a_chain_is_one_straight_line_from_left_to_right():
    found = list(boxes("abcd", [("a", "b"), ("b", "c"), ("c", "d")]).values())
    assert len({box.y for box in found}) == 1
    assert all(one.x + one.w < other.x for one, other in pairwise(found))


def test_a_node_stands_right_of_everything_it_waits_for():
    found = boxes("abcd", [("a", "b"), ("b", "c"), ("a", "d"), ("c", "d")])
    assert found["d"].x > found["c"].x


def test_branches_stand_evenly_around_their_parent():
    found = boxes("abc", [("a", "b"), ("a", "c")])
    assert found["a"].y == (found["b"].y + found["c"].y) / 2


def test_branches_keep_apart_without_crossing():
    found = boxes(["a", "up", "low", "low end", "up end"], [("a", "up"), ("a", "low"), ("low", "low end"), ("up", "up end")])
    assert (found["up"].y < found["low"].y) == (found["up end"].y < found["low end"].y)


@given(graphs)
def test_no_two_nodes_overlap_and_all_fit_the_drawing(graph):
    plan = layout(*graph)
    for index, one in enumerate(plan.nodes):
        assert 0 <= one.x <= plan.width - NODE_WIDTH
        assert 0 <= one.y <= plan.height - NODE_HEIGHT
        assert all(abs(one.x - other.x) >= one.w or abs(one.y - other.y) >= one.h for other in plan.nodes[index + 1 :])


@given(graphs)
def test_every_line_stays_inside_the_drawing(graph):
    plan = layout(*graph)
    for edge in plan.edges:
        for command, numbers in re.findall(r"([MCHV])([^MCHV]*)", edge.d):
            values = [float(number) for number in numbers.split()]
            across = values if command == "H" else [] if command == "V" else values[::2]
            down = values if command == "V" else [] if command == "H" else values[1::2]
            assert all(0 <= x <= plan.width for x in across)
            assert all(0 <= y <= plan.height for y in down)


def lowest(edge):
    """The greatest y of a path that holds no V: every M and C ends in pairs, and a curve stays within its points."""
    return max(float(pair.split()[1]) for pair in re.findall(r"[-\d.e]+ [-\d.e]+", edge.d))


def test_an_edge_that_passes_below_every_node_makes_the_drawing_higher():
    questions = [("read", "dates"), ("dates", "keep"), ("read", "promises"), ("promises", "word")]
    plan = layout(["start", "read", "dates", "keep", "promises", "word", "publish"], [
        ("start", "read"), *questions, ("read", "publish"), ("keep", "publish"), ("word", "publish"),
    ])  # fmt: skip
    long = next(edge for edge in plan.edges if (edge.source, edge.target) == ("read", "publish"))
    assert max(box.y for box in plan.nodes) + NODE_HEIGHT < lowest(long) < plan.height


@given(graphs)
def test_every_drawable_edge_has_one_path_and_the_same_graph_the_same_drawing(graph):
    nodes, edges = graph
    wanted = dict.fromkeys((s, t) for s, t in edges if s in nodes and t in nodes and s != t)
    plan = layout(nodes, edges)
    assert [(edge.source, edge.target) for edge in plan.edges] == list(wanted)
    assert all(re.fullmatch(r"M[-\d. CHVMe]+", edge.d) for edge in plan.edges)
    assert layout(nodes, edges) == plan


def test_a_loop_runs_back_under_the_nodes():
    plan = layout("ab", [("a", "b"), ("b", "a")])
    assert "V" in plan.edges[1].d
    assert plan.height > layout("ab", [("a", "b")]).height


def test_an_edge_over_a_layer_goes_round_the_node_between():
    plan = layout("abc", [("a", "b"), ("b", "c"), ("a", "c")])
    assert "C" in plan.edges[2].d


def test_an_empty_graph_is_an_empty_drawing():
    assert layout([], []).nodes == ()


def test_two_thousand_nodes_that_all_hang_on_the_first_are_laid_out_in_seconds():
    nodes = [str(number) for number in range(2000)]
    started = time.perf_counter()
    layout(nodes, [*pairwise(nodes), *(("0", node) for node in nodes[2:])])
    assert time.perf_counter() - started < 5


def test_what_is_drawn_keeps_state_and_words():
    picture = drawn(
        [{"id": "a", "state": "done", "sub": "1.8 s"}, {"id": "b", "state": "waiting"}], [{"source": "a", "target": "b", "state": "taken"}]
    )
    assert picture["nodes"][0]["sub"] == "1.8 s"
    assert picture["edges"][0]["state"] == "taken"


@pytest.mark.parametrize(("text", "shown"), [
    ("publish", "publish"), ("legal_review", "legal_review"),
    ("confirm_wording", "confirm_wor…"), ("W" * 20, "WWWWWW…"), ("日" * 9, "日日日日日日…"),
])  # fmt: skip
def test_a_name_wider_than_its_box_ends_in_an_ellipsis(text, shown):
    assert fitted(text, 8.3) == shown


def test_a_picture_shows_short_words_and_keeps_the_whole_ones():
    node = drawn([{"id": "a_very_long_name_of_a_step", "state": "done", "sub": None}], [])["nodes"][0]
    assert (node["id"], node["short_id"][-1], node["short_sub"]) == ("a_very_long_name_of_a_step", "…", "")
