"""The rulebook of a canvas, without a database: every code, all at once, whatever it is given."""

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_workflow.dialects.canvas import CODES, defects_of_canvas, validate_canvas
from hermes_workflow.dialects.canvas.validate import rules_table
from tests.canvas import canvas, edge, node


def codes(document: dict[str, Any]) -> list[str]:
    return [found["code"] for found in validate_canvas(document["nodes"], document["edges"])]


@pytest.mark.parametrize("paths", [["a"], ["a>b"], ["a>b>d", "a>c>d"], ["a>c", "b>c"], ["a>b", "a>c"]])
def test_a_canvas_that_is_one_flow_may_run(paths: list[str]):
    assert codes(canvas(*paths)) == []


@pytest.mark.parametrize("nodes", [None, [], {}, "nodes", 0])
def test_at_least_one_node_is_needed(nodes: Any):
    assert [found["code"] for found in validate_canvas(nodes, [])] == ["no_nodes"]


@pytest.mark.parametrize("code", ["title", "provider", "model", "input"])
@pytest.mark.parametrize("value", [None, "", "  \n", 7, ["x"], {}])
def test_every_node_is_filled_in(code: str, value: Any):
    [found] = validate_canvas([node("a", **{code: value})], [])
    assert (found["code"], found["node_id"]) == (code, "a")


def test_a_node_without_data_lacks_everything():
    assert [found["code"] for found in validate_canvas([{"id": "a"}], [])] == ["title", "provider", "model", "input"]


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
@pytest.mark.parametrize("mode", [None, "", "fast", 3, []])
def test_a_coding_agent_needs_an_api_mode(agent: str, mode: Any):
    [found] = validate_canvas([node("a", agent=agent, apiMode=mode)], [])
    assert (found["code"], found["node_id"]) == ("api_mode", "a")


@pytest.mark.parametrize("agent", ["hermes", None, "somebody", 7, []])
def test_hermes_and_whoever_stands_for_it_need_no_api_mode(agent: Any):
    assert validate_canvas([node("a", agent=agent)], []) == []


@pytest.mark.parametrize("mode", ["chat_completions", "codex_responses", "anthropic_messages"])
def test_a_coding_agent_with_an_api_mode_may_run(mode: str):
    assert validate_canvas([node("a", agent="codex", apiMode=mode)], []) == []


@pytest.mark.parametrize("ends", [{"source": "gone"}, {"target": "gone"}, {"source": None}, {"target": ["a"]}, {"source": {}}])
def test_a_connection_joins_nodes_of_the_canvas(ends: dict[str, Any]):
    document = canvas("a>b")
    document["edges"].append({**edge("a", "b"), "id": "odd", **ends})
    [found] = validate_canvas(**document)
    assert (found["code"], found["edge_id"]) == ("edge_node", "odd")


@pytest.mark.parametrize("side", [{"sourceHandle": "input"}, {"targetHandle": "output"}, {"sourceHandle": "top"}, {"targetHandle": 1}])
def test_a_connection_goes_from_output_to_input(side: dict[str, Any]):
    [found] = validate_canvas([node("a"), node("b")], [edge("a", "b", **side)])
    assert (found["code"], found["edge_id"]) == ("edge_handle", "a-b")


def test_a_connection_stored_without_handles_has_the_only_two_there_are():
    assert validate_canvas([node("a"), node("b")], [{"id": "x", "source": "a", "target": "b"}]) == []


def test_a_node_beside_the_flow_is_disconnected():
    document = canvas("a>b", "c")
    [found] = validate_canvas(**document)
    assert (found["code"], found["node_id"]) == ("disconnected", "c")


def test_a_single_node_needs_no_connection():
    assert codes(canvas("a")) == []


def test_two_flows_are_islands():
    [found] = validate_canvas(**canvas("a>b", "c>d"))
    assert found["code"] == "islands"
    assert "'A', 'B'; 'C', 'D'" in found["msg"]


def test_a_cycle_is_shown_as_its_path_in_run_order():
    [found] = validate_canvas(**canvas("a>b>c>a"))
    assert (found["code"], found["node_id"]) == ("cycle", "a")
    assert "a -> b -> c -> a" in found["msg"]


def test_a_connection_to_itself_is_a_cycle_and_connects_nothing():
    document = canvas("a>b")
    document["nodes"].append(node("c"))
    document["edges"].append(edge("c", "c"))
    assert codes(document) == ["disconnected", "cycle"]


def test_each_cycle_is_named():
    document = canvas("a>b>a", "b>c", "c>d>c")
    assert [found["msg"].partition(": ")[2] for found in validate_canvas(**document)] == ["a -> b -> a", "c -> d -> c"]


def test_a_node_below_a_cycle_is_not_in_it():
    assert codes(canvas("a>b>a", "b>c>d")) == ["cycle"]


def test_an_id_is_used_once_and_two_nodes_are_connected_once():
    document = canvas("a>b")
    document["nodes"].append(node("a"))
    document["edges"].append(edge("a", "b", id="again"))
    assert [(found["code"], found.get("node_id"), found.get("edge_id")) for found in validate_canvas(**document)] == [
        ("duplicate", "a", None),
        ("duplicate", None, "again"),
    ]


@pytest.mark.parametrize("id_", [None, 1, "", " a", "a\u200b", "x" * 129, [], {}])
def test_a_node_without_a_usable_id_is_named_by_its_place(id_: Any):
    found = validate_canvas([{**node("a"), "id": id_}], [])
    assert [(one["code"], one["node_id"]) for one in found] == [("shape", "#0")]


@pytest.mark.parametrize(
    "data", [{"skills": "one"}, {"skills": [1]}, {"images": [""]}, {"skills": ["x"] * 51}, {"timeoutMinutes": 0}, {"timeoutMinutes": True}]
)
def test_what_else_a_node_holds_has_a_shape(data: dict[str, Any]):
    assert [found["code"] for found in validate_canvas([node("a", **data)], [])] == ["shape"]


def test_too_many_nodes_or_connections_are_refused_before_they_are_read():
    many = [node(f"n{number}") for number in range(201)]
    assert [found["code"] for found in validate_canvas(many, [])] == ["shape"]
    assert [found["code"] for found in validate_canvas([node("a")], [{}] * 2001)] == ["shape"]


def test_everything_is_said_at_once():
    document = canvas("a>b>a", "c>d", "e", b={"title": ""}, d={"agent": "codex"})
    document["edges"] += [edge("a", "gone"), edge("c", "d", id="back", targetHandle="output")]
    assert set(codes(document)) == {"title", "api_mode", "edge_node", "edge_handle", "disconnected", "islands", "cycle"}


def test_ids_that_look_the_same_are_the_same():
    assert validate_canvas([node("caf\u00e9"), node("b")], [edge("cafe\u0301", "b")]) == []


class Odd(dict):
    def get(self, *names: Any) -> Any:
        raise RuntimeError("no")


def test_an_object_that_misbehaves_is_a_defect_and_no_error():
    assert [found["code"] for found in validate_canvas([Odd()], [])] == ["shape"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
WORDS = st.sampled_from(["a", "b", "c", "", "output", "input", "codex", None]) | JSON
NODES = st.fixed_dictionaries(
    {},
    optional={"id": WORDS, "type": WORDS, "data": JSON | st.dictionaries(st.sampled_from(["title", "agent", "model", "skills"]), WORDS)},
)
EDGES = st.fixed_dictionaries({}, optional=dict.fromkeys(("id", "source", "target", "sourceHandle", "targetHandle"), WORDS))


@settings(max_examples=150, deadline=None)
@given(st.lists(NODES | JSON, max_size=6) | JSON, st.lists(EDGES | JSON, max_size=8) | JSON)
def test_nothing_raises_or_is_changed_and_every_code_is_known(nodes: Any, edges: Any):
    before = copy.deepcopy((nodes, edges))
    for found in validate_canvas(nodes, edges):
        assert found["code"] in CODES
        assert found["msg"]
    for defect in defects_of_canvas({"nodes": nodes, "edges": edges}):
        assert set(defect) == {"node", "field", "msg"}
    assert repr((nodes, edges)) == repr(before)


@pytest.mark.parametrize("document", [None, [], "x", 7])
def test_a_document_that_is_no_object_is_one_defect(document: Any):
    assert [(found["node"], found["field"]) for found in defects_of_canvas(document)] == [("", "")]


def test_an_issue_becomes_a_defect_at_its_field():
    document = canvas("a>b", a={"agent": "codex", "input": ""})
    document["edges"].append(edge("b", "gone"))
    assert [(found["node"], found["field"]) for found in defects_of_canvas(document)] == [("a", "input"), ("a", "apiMode"), ("", "edges")]
    assert "b-gone" in defects_of_canvas(document)[-1]["msg"]


def test_the_how_to_has_the_table_of_codes_and_an_example_that_may_run():
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "canvas.md").read_text()
    assert rules_table() in page
    assert set(re.findall(r"`([a-z_]+)`", rules_table())) == set(CODES)
    example = json.loads(page.partition("```json\n")[2].partition("```")[0])
    assert defects_of_canvas(example["document"]) == []
