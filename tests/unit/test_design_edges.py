"""How nodes hang together: edges, cycles, and what a condition may read."""

import random
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_workflow.dialects.design import build_run_plan, validate_designer_graph
from tests.builders import agent, approval, condition, note, output, trigger


def defects_of(*nodes):
    return validate_designer_graph({"nodes": list(nodes)})


def only(defects):
    assert len(defects) == 1, defects
    return defects[0]


def cycles(defects):
    return [found["msg"].partition("cycle: ")[2] for found in defects if "cycle: " in found["msg"]]


@pytest.mark.parametrize(
    ("after", "word"),
    [
        ("t", "list of ids"),
        ({"t": 1}, "list of ids"),
        (5, "list of ids"),
        ([1], "list of ids"),
        ([None], "list of ids"),
        ([["t"]], "list of ids"),
    ],
)
def test_after_is_a_list_of_ids(after, word):
    found = only(defects_of(trigger("t"), agent("a", after=after)))
    assert (found["node"], found["field"]) == ("a", "after")
    assert word in found["msg"]


@pytest.mark.parametrize(("parent", "word"), [("zz", "there is no 'zz'"), ("a", "the node itself"), ("n", "note"), ("", "there is no ''")])
def test_after_names_other_nodes_and_no_note(parent, word):
    assert word in only(defects_of(trigger("t"), note("n"), agent("a", "t", parent)))["msg"]


@pytest.mark.parametrize("slip", ["extrct", "extracct", "extrakt", "extract"])
def test_a_name_with_one_slip_brings_the_one_that_was_meant(slip):
    found = defects_of(trigger("t"), agent("extract" if slip != "extract" else "extracts", "t"), agent("a", slip))
    assert "did you mean 'extract" in only(found)["msg"]
    found = defects_of(trigger("t"), agent("extract", "t"), condition("c", "out.extrct.x == 1", "extract"))
    assert only(found)["msg"] == "column 5: there is no node 'extrct', did you mean 'extract'?"


@pytest.mark.parametrize("other", ["review", "ex", "e" * 200, "remember"])
def test_a_name_far_from_every_other_and_one_like_a_note_bring_nothing(other):
    found = defects_of(trigger("t"), agent("extract", "t"), note("remembers"), agent("a", other))
    assert "did you mean" not in only(found)["msg"]


def test_a_hundred_thousand_wrong_names_are_hinted_at_in_seconds():
    nodes = [trigger("t"), *(agent(f"a_name_that_is_rather_long_{number}", "t") for number in range(40))]
    started = time.perf_counter()
    assert len(defects_of(*nodes, agent("a", *(f"b_name_{number}" for number in range(100_000))))) == 100_000
    assert time.perf_counter() - started < 10


def test_each_wrong_parent_is_a_defect():
    assert len(defects_of(trigger("t"), note("n"), agent("a", "zz", "a", "n", "t"))) == 3


def test_edges_of_a_node_that_shares_its_id_are_checked_too():
    found = defects_of(trigger("t"), agent("a", "t"), agent("a", "zz"))
    assert sorted((entry["node"], entry["field"]) for entry in found) == [("a", "after"), ("a", "id")]


def test_duplicate_parents_and_none_at_all_are_fine():
    assert defects_of(trigger("t", after=[]), agent("a", "t", "t"), agent("b"), agent("c", after=[])) == []


def test_a_trigger_comes_after_nothing():
    found = only(defects_of(trigger("t", after=["a"]), agent("a", "t")))
    assert (found["node"], found["field"]) == ("t", "after")


@pytest.mark.parametrize(
    ("edges", "path"),
    [
        ({"a": ["b"], "b": ["a"]}, "a -> b -> a"),
        ({"a": ["t", "c"], "b": ["a"], "c": ["b"]}, "a -> b -> c -> a"),
        ({"a": ["t"], "b": ["a", "d"], "c": ["b"], "d": ["c"], "e": ["d"]}, "b -> c -> d -> b"),
        ({"c": ["b"], "b": ["a"], "a": ["c"]}, "c -> a -> b -> c"),
    ],
)
def test_a_cycle_is_one_defect_that_shows_its_closed_path_in_run_order(edges, path):
    found = defects_of(trigger("t"), *(agent(id_, *after) for id_, after in edges.items()))
    assert cycles([only(found)]) == [path]


def test_two_cycles_apart_from_each_other_are_two_defects():
    edges = {"a": ["b"], "b": ["a"], "c": ["d", "a"], "d": ["c"]}
    assert cycles(defects_of(trigger("t"), *(agent(id_, *after) for id_, after in edges.items()))) == ["a -> b -> a", "c -> d -> c"]


def test_a_self_edge_is_no_second_defect():
    assert cycles(defects_of(trigger("t"), agent("a", "t", "a"))) == []


@given(st.integers(2, 12), st.randoms(use_true_random=False))
def test_any_order_of_a_graph_without_cycles_is_valid_and_can_be_planned(count, chance):
    nodes = [trigger("t")]
    for number in range(count):
        nodes.append(agent(f"a{number}", *chance.sample([node["id"] for node in nodes], k=min(len(nodes), chance.randint(1, 3)))))
    chance.shuffle(nodes)
    assert validate_designer_graph({"nodes": nodes}) == []
    place = {step.id: at for at, step in enumerate(build_run_plan({"nodes": nodes}).steps)}
    assert all(place.get(parent, -1) < place[node["id"]] for node in nodes for parent in node.get("after", ()))


@given(st.dictionaries(st.sampled_from("abcdef"), st.lists(st.sampled_from("abcdef"), max_size=3), min_size=1))
def test_validator_and_plan_agree_on_what_is_a_cycle(edges):
    nodes = [trigger("t"), *(agent(id_, *(item for item in after if item in edges and item != id_)) for id_, after in edges.items())]
    found = cycles(validate_designer_graph({"nodes": nodes}))
    for path in found:
        names = path.split(" -> ")
        assert names[0] == names[-1]
        assert all(source in edges[target] for source, target in pairwise(names))
    if found:
        with pytest.raises(ValueError, match="cycle"):
            build_run_plan({"nodes": nodes})
    else:
        assert len(build_run_plan({"nodes": nodes}).steps) == len(edges)


def test_cycles_are_found_whatever_the_order_of_the_document():
    ring = [agent(f"r{number}", f"r{(number - 1) % 40}") for number in range(40)]
    random.Random(7).shuffle(ring)
    path = only(cycles(defects_of(trigger("t"), *ring)))
    assert path.startswith(f"{ring[0]['id']} -> ")


@pytest.mark.parametrize(
    "expression",
    ["out.a.x == 1", "out.b.output contains 'x'", "out.t.text contains 'x'", "out.g.answer == 'approve'", " out.a.0.y != null "],
)
def test_a_condition_reads_the_trigger_and_every_node_upstream(expression):
    nodes = (trigger("t"), agent("a", "t"), agent("b", "a"), approval("g", "b"), condition("c", expression, "g"))
    assert defects_of(*nodes) == []
    assert defects_of(*reversed(nodes)) == []


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("out.zz.x == 1", "column 5: there is no node 'zz'"),
        ("  out.zz.x == 1", "column 7: there is no node 'zz'"),
        ("out.c.result == true", "column 5: a condition cannot read itself"),
        ("out.n.text == 'x'", "column 5: 'n' is a note"),
        ("out.side.x == 1", "column 5: a condition reads the trigger or a node upstream"),
        ("out.below.x == 1", "upstream"),
        ("out.a.b.x == 1", "an id that holds a dot cannot be read: rename 'a.b'"),
        ("out.t.x = 1", "column 9: unknown operator '='"),
        ("__import__('os').system('id')", "column 1: a condition has the form"),
    ],
)
def test_a_condition_that_cannot_be_read_names_the_column(expression, words):
    found = only(
        defects_of(trigger("t"), note("n"), agent("a.b", "t"), agent("side", "t"), condition("c", expression, "a.b"), output("below", "c"))
    )
    assert (found["node"], found["field"]) == ("c", "expression")
    assert words in found["msg"]
    assert found["msg"].startswith("column ")
