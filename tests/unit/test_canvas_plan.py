"""What a canvas compiles to, and the one message that each of its steps is given."""

from typing import Any

import pytest

from hermes_workflow.core.plan import Plan
from hermes_workflow.core.prompts import RENDERED_LIMIT
from hermes_workflow.core.reach import below, known_starts, starting_at
from hermes_workflow.dialects.canvas import build_canvas_plan
from hermes_workflow.dialects.canvas.message import given_to, images_of, message
from tests.canvas import canvas, edge, node


def plan(*paths: str, **nodes: dict[str, Any]) -> Plan:
    return build_canvas_plan(canvas(*paths, **nodes), "team")


def told(plan: Plan, key: str, *, results: dict[str, Any] | None = None, given: str | None = None, **skills: str) -> str:
    return message(plan, plan.step[key], results=results or {}, given=given, skills=skills)


def test_a_canvas_becomes_agent_steps_of_its_profile_in_run_order():
    found = plan("b>a>c", a={"agent": "codex", "apiMode": "codex_responses", "timeoutMinutes": 3})
    assert [step.id for step in found.steps] == ["b", "a", "c"]
    assert {step.kind for step in found.steps} == {"agent"}
    assert (found.dialect, found.policy.concurrency) == ("canvas", 8)
    kept = {key: found.step["a"].spec[key] for key in ("profile", "agent", "provider", "model", "api_mode", "timeout_minutes", "prompt")}
    assert kept == {
        "profile": "team", "agent": "codex", "provider": "demo", "model": "small", "api_mode": "codex_responses",
        "timeout_minutes": 3, "prompt": "do a",
    }  # fmt: skip


def test_a_plan_of_a_canvas_survives_being_stored():
    found = plan("a>b>d", "a>c>d")
    assert Plan.from_body(found.body()) == found


@pytest.mark.parametrize(
    "document",
    [
        None,
        {"nodes": None},
        {"nodes": [1], "edges": []},
        {"nodes": [{}], "edges": []},
        {"nodes": [node("a"), node("a")], "edges": []},
        {"nodes": [node("a")], "edges": [edge("a", "b")]},
        canvas("a>b>a"),
        {"nodes": [node("a")], "edges": [edge("a", "a")]},
    ],
)
def test_what_no_runner_could_follow_is_refused(document: Any):
    with pytest.raises(ValueError, match=r"canvas is|are objects|no id|duplicate|lead from|cycle"):
        build_canvas_plan(document)


def test_a_first_node_is_told_its_task_alone():
    assert told(plan("a>b"), "a") == "[Current task]\ndo a"


def test_a_node_is_told_what_came_before_in_the_order_of_the_connections_then_its_skills_then_its_task():
    document = {
        "nodes": [node("a"), node("b", title="Second"), node("c", skills=["write", "check"])],
        "edges": [edge("b", "c"), edge("a", "c")],
    }
    found = build_canvas_plan(document)
    assert told(found, "c", results={"a": "from a", "b": {"n": 1}}, write="Write well.", check="Check it.") == (
        "[Workflow upstream results]\n"
        "\n"
        "[Upstream: Second]\n"
        '{\n  "n": 1\n}\n'
        "\n"
        "[Upstream: A]\n"
        "from a\n"
        "\n"
        "[Workflow selected skills]\n"
        "\n"
        "[Skill: write]\n"
        "Write well.\n"
        "\n"
        "[Skill: check]\n"
        "Check it.\n"
        "\n"
        "[Current task]\n"
        "do c"
    )


@pytest.mark.parametrize("task", ["", "  \n"])
def test_without_a_task_a_node_is_told_to_execute(task: str):
    assert told(plan("a", a={"input": task}), "a").endswith("[Current task]\nExecute the current workflow node.")


def test_results_that_would_push_the_task_out_are_cut_visibly():
    found = told(plan("a>c", "b>c"), "c", results={"a": "x" * 100_000, "b": "short"})
    assert len(found) <= RENDERED_LIMIT
    assert "characters left out]" in found
    assert "[Upstream: B]\nshort\n" in found
    assert found.endswith("[Current task]\ndo c")


@pytest.mark.parametrize(
    ("given", "task"),
    [
        ({}, None),
        ({"text": "write"}, "write"),
        ({"text": "go", "filename": "x"}, "go"),
        ({"n": 1}, '{\n  "n": 1\n}'),
        ({"text": ""}, ""),
    ],
)
def test_the_input_of_a_run_is_the_task_of_the_nodes_it_starts_at(given: dict[str, Any], task: str | None):
    found = plan("a>b", "c>b")
    assert [given_to(found, found.step[key], {}, given) for key in "acb"] == [task, task, None]


def test_the_input_goes_to_the_nodes_that_the_start_named():
    part = starting_at(plan("a>b>c"), ["b", "c"])
    assert [given_to(part, part.step[key], {"starts": ["b", "c"]}, {"text": "x"}) for key in "bc"] == ["x", "x"]


def test_only_images_are_sent_as_images():
    assert images_of(["/up/1.PNG", "up\\photo.jpeg", "/up/report.pdf", "/up/png", "/up/a.png.exe"]) == (
        {"type": "image", "name": "1.PNG", "path": "/up/1.PNG", "media_type": "image/png"},
        {"type": "image", "name": "photo.jpeg", "path": "up\\photo.jpeg", "media_type": "image/jpeg"},
    )


def test_a_plan_started_at_a_node_holds_only_what_that_reaches():
    whole = plan("a>b>d", "a>c>d", "d>e")
    part = starting_at(whole, ["b"])
    assert [step.id for step in part.steps] == ["b", "d", "e"]
    assert [(one.source, one.target) for one in part.edges] == [("b", "d"), ("d", "e")]
    assert below(whole, ["c"]) == {"c", "d", "e"}


def test_starts_that_are_no_steps_are_left_out():
    assert known_starts(plan("a>b"), [12, "b", "gone", None, "b"]) == ["b"]
