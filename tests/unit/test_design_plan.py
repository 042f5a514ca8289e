"""From a graph to the plan that its runner follows."""

import copy
import json
from pathlib import Path

import pytest

from hermes_workflow.core.plan import Edge, Plan, Policy, Step
from hermes_workflow.dialects.design import build_run_plan
from tests.builders import agent, approval, condition, note, output, plan, trigger

EXAMPLES = sorted((Path(__file__).parents[2] / "hermes_workflow" / "examples" / "designs").glob("*.json"))


def planned(*nodes):
    return build_run_plan({"nodes": list(nodes)})


def ids(found):
    return [step.id for step in found.steps]


def test_trigger_and_notes_are_dropped_and_edges_from_the_trigger_kept():
    found = planned(note("n"), trigger("t"), agent("a", "t", "n"), output("o", "a", "a"))
    assert ids(found) == ["a", "o"]
    assert found.trigger == "t"
    assert found.edges == (Edge("t", "a"), Edge("a", "o"))
    assert found.policy == Policy(concurrency=1)


def test_the_order_is_topological_and_takes_the_lowest_document_index_first():
    assert ids(planned(trigger("t"), output("z", "b", "a"), agent("b", "t"), agent("a", "t"), agent("free"))) == ["b", "a", "z", "free"]


def test_edges_come_in_document_order():
    found = planned(trigger("t"), output("o", "b", "a"), agent("a", "t"), agent("b", "t"))
    assert [(edge.source, edge.target) for edge in found.edges] == [("b", "o"), ("a", "o"), ("t", "a"), ("t", "b")]


def test_defaults_are_filled_in_and_null_is_absent():
    found = planned(
        trigger("t"),
        agent("a", "t", retries=None),
        condition("c", "out.a.x == 1", "a"),
        approval("g", "c", options=None),
        output("o", "g", join="any"),
    )
    assert [(step.kind, dict(step.spec), step.join) for step in found.steps] == [
        ("agent", {"prompt": "do a", "profile": "", "model": "", "retries": 0, "timeout_minutes": None, "schema": None}, "all"),
        ("condition", {"expression": "out.a.x == 1", "reads": "a"}, "all"),
        (
            "approval",
            {
                "question": "g?",
                "options": ["approve", "reject"],
                "timeout_minutes": None,
                "on_timeout": "reject",
                "escalate_to": "",
                "assignees": [],
                "quorum": 1,
                "stop_on": [],
                "relay": True,
            },
            "all",
        ),
        ("output", {"deliver": "", "target": ""}, "any"),
    ]


def test_unknown_keys_do_not_reach_the_plan():
    assert "cmd" not in planned(trigger("t"), agent("a", "t", cmd="id")).steps[0].spec


def test_ids_are_matched_after_normalisation_and_kept_as_written():
    found = planned(trigger("t"), agent("cafe\u0301", "t"), condition("c", "out.caf\u00e9.x == 1", "caf\u00e9"))
    assert found.edges[1] == Edge("cafe\u0301", "c")
    assert found.step["c"].spec["reads"] == "cafe\u0301"


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ([agent("a"), agent("a")], "duplicate id 'a'"),
        ([agent("caf\u00e9"), output("cafe\u0301")], "duplicate id"),
        ([agent("a"), note("a")], "duplicate id"),
        ([{"type": "agent", "prompt": "p"}], "no id"),
        ([agent("")], "no id"),
        ([agent(5)], "no id"),
        ([{"id": "a", "type": "loop"}], "unknown kind 'loop'"),
        ([{"id": "a"}], "unknown kind null"),
        ([{"id": "a", "type": ["agent"]}], "unknown kind list"),
        ([trigger("t"), trigger("u")], "one trigger"),
        ([agent("a", "b"), agent("b", "a")], "cycle"),
        ([agent("a", "a")], "cycle"),
        ([agent("a", "zz")], "no such node"),
        ([agent("a", after="t")], "list of ids"),
        ([agent("a", after=[["t"]])], "list of ids"),
        ([condition("c", "nonsense")], "column 1"),
        ([{"id": "c", "type": "condition"}], "column 1"),
        ([approval("g", options="yes")], "options of 'g' must be a list"),
        ([None], "list of objects"),
        (None, "list of objects"),
    ],
)
def test_what_no_runner_could_follow_is_refused(nodes, words):
    with pytest.raises(ValueError, match=words):
        build_run_plan({"nodes": nodes})


@pytest.mark.parametrize("graph", [None, [], "x", {}, {"nodes": {}}])
def test_what_is_no_graph_is_refused(graph):
    with pytest.raises(ValueError, match="a design is an object"):
        build_run_plan(graph)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_planning_leaves_the_document_alone_and_the_plan_survives_storage(path):
    document = json.loads(path.read_text())["document"]
    before = copy.deepcopy(document)
    found = build_run_plan(document)
    assert document == before
    stored = json.loads(json.dumps(found.body()))
    assert Plan.from_body(stored) == found
    assert Plan.from_body(stored).digest == found.digest


def test_equal_graphs_share_a_digest_and_positions_do_not_count():
    assert plan(agent("a", x=1)).digest == plan(agent("a", x=2, note="?")).digest
    assert plan(agent("a")).digest != plan(agent("a", retries=1)).digest


def test_a_step_sees_the_nearest_producers_through_conditions_and_gates():
    found = planned(
        trigger("t"),
        agent("a", "t"),
        condition("c", "out.a.x == 1", "a"),
        approval("g", "c", "t"),
        agent("b", "g", "a"),
        output("o", "b"),
    )
    assert found.sources == {"a": ("t",), "c": ("a",), "g": ("a", "t"), "b": ("a", "t"), "o": ("b",)}


def test_the_conditions_that_read_a_node_are_known_once_each():
    found = planned(
        trigger("t"),
        agent("a", "t"),
        condition("c", "out.a.x == 1", "a"),
        condition("d", "out.a.x == 1", "a"),
        condition("e", "out.a.y == 1", "a"),
        condition("f", "out.t.text != ''", "a"),
    )
    assert found.readers == {"a": (("out.a.x == 1", ()), ("out.a.y == 1", ())), "t": (("out.t.text != ''", ()),)}


def test_neighbours_are_in_document_order_and_leave_the_trigger_out():
    found = planned(trigger("t"), agent("a", "t"), agent("b", "a", "t"), output("o", "b", "a"))
    assert found.parents == {"a": (), "b": (Edge("a", "b"),), "o": (Edge("b", "o"), Edge("a", "o"))}
    assert found.children == {"a": (Edge("a", "b"), Edge("a", "o")), "b": (Edge("b", "o"),), "o": ()}
    assert found.position == {"a": 0, "b": 1, "o": 2}


def test_a_plan_of_a_newer_format_is_refused():
    with pytest.raises(ValueError, match="needs newer code"):
        Plan.from_body({**plan(agent("a")).body(), "format": 99})


def test_steps_carry_routes_and_loops_for_other_dialects():
    found = Plan("sop", (Step("a", "agent"), Step("b", "agent")), (Edge("a", "b", "pass"), Edge("b", "a", "fail", 2)), policy=Policy(0, 1))
    assert Plan.from_body(json.loads(json.dumps(found.body()))) == found
