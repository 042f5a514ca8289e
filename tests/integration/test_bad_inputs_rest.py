"""Every hostile input that is a value, sent through the REST API: refused in the one shape, nothing written, no time wasted."""

import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

from approvals.models import Decision
from hermes_workflow.core.text import hides_something
from hermes_workflow.models import Attachment, Design, DesignVersion, Plan, Token
from runs.models import Event, Gate, Run
from tests import builders
from tests.api import Api, error_of
from tests.bad_inputs import BadInput, bad_inputs
from tests.builders import agent, approval, condition, design

pytestmark = pytest.mark.django_db

AREAS = ("graph", "condition", "name", "id", "json", "http", "approval", "agent-output", "mass-assignment", "upload", "api")
SECONDS = 1.0  # of this thread's own time, so that a busy machine does not count
DOCUMENT = design(agent("a"))


def rows() -> list[int]:
    """How much is stored."""
    return [kind.objects.count() for kind in (Design, DesignVersion, Plan, Run, Event, Gate, Decision, Attachment, Token)]


def send(api: Api, bad: BadInput, method: str, path: str, body: Any = None, **headers: str) -> Any:
    """Send it and hold the answer to what must always be so."""
    before, began = rows(), time.thread_time()
    answer = api(method, path, body, **headers)
    taken, status = time.thread_time() - began, api.sent.status_code
    assert status in bad.status, f"{bad.id} {method} {path[:200]}: {status} {str(answer)[:400]}"
    assert taken < SECONDS, f"{bad.id}: {taken:.2f} s"
    if status >= 400:
        assert rows() == before, f"{bad.id}: a refusal wrote something"
        assert not hides_something(error_of(answer))
        assert len(error_of(answer)) < 1000
    return answer


def cases(kind: str, target: str = "", areas: tuple[str, ...] = AREAS) -> Any:
    """The inputs of a kind, as parameters."""
    found = [bad for bad in bad_inputs(*areas, kind=kind) if target in bad.target]
    return pytest.mark.parametrize("bad", [pytest.param(bad, id=bad.id) for bad in found])


@cases("design")
def test_a_hostile_document_is_refused_beside_its_node(api: Api, bad: BadInput) -> None:
    if bad.id == "G061":  # about the body of the request
        assert "owner" in error_of(send(api, bad, "POST", "/api/designs/", bad.value))
        return
    for method, path in (("POST", "/api/designs/"), ("PUT", "/api/designs/hostile/")):
        answer = send(api, bad, method, path, {"name": "hostile", "dialect": "design", "document": bad.value})
        if api.sent.status_code == 422:
            assert answer["defects"]
            assert all(set(found) == {"node", "field", "msg"} for found in answer["defects"])
        elif api.sent.status_code == 201:
            assert answer["document"] == bad.value
            return
    began = time.thread_time()
    verdict = api("POST", "/api/designs/validate/", {"dialect": "design", "document": bad.value})
    assert verdict["ok"] is False
    assert time.thread_time() - began < SECONDS


@cases("field", "condition expression")
def test_a_hostile_condition_is_refused_at_its_field(api: Api, bad: BadInput) -> None:
    nodes = design(agent("a"), condition("c", bad.value))
    answer = send(api, bad, "POST", "/api/designs/", {"name": "hostile", "document": nodes})
    if "defects" in answer:
        assert {(found["node"], found["field"]) for found in answer["defects"]} == {("c", "expression")}


EXPRESSIONS = {
    "C021": ("out.a.x == 1", False),
    "C022": ("out.a.x > 9", False),
    "C024": ("out.a.0 == 1", True),
    "C026": ("out.a.x > 9", True),
}


@cases("agent_output", areas=("condition",))
def test_a_condition_on_a_strange_output_is_true_or_false_but_never_a_crash(api: Api, bad: BadInput) -> None:
    expression, expected = EXPRESSIONS[bad.id]
    run_id = builders.started(agent("a"), condition("c", expression), agent("b"), perform="caller")
    answer = send(api, bad, "POST", f"/api/runs/{run_id}/respond/", {"node_id": "a", "structured": bad.value})
    assert answer["outputs"]["a"] == bad.value
    assert (answer["pending"] is not None) is expected
    trace = [event for event in api.get(f"/api/runs/{run_id}/events/")["results"] if event["type"] == "condition.evaluated"]
    assert trace[0]["data"]["result"] is expected


@cases("agent_output", areas=("agent-output",))
def test_a_hostile_output_travels_as_data(api: Api, bad: BadInput) -> None:
    run_id = builders.started(agent("a"), approval("review"), perform="caller")
    answer = send(api, bad, "POST", f"/api/runs/{run_id}/respond/", {"node_id": "a", "output": bad.value})
    assert answer["outputs"]["a"] == bad.value
    assert answer["pending"]["context"]["a"] == bad.value
    assert api.sent.headers["Content-Type"] == "application/json"
    assert api.sent.headers["X-Content-Type-Options"] == "nosniff"
    assert api.sent.headers["Content-Security-Policy"]


@cases("field", "design name")
def test_a_hostile_name_is_refused_in_the_body_and_in_the_address(api: Api, bad: BadInput) -> None:
    answer = send(api, bad, "POST", "/api/designs/", {"name": bad.value, "document": DOCUMENT})
    if api.sent.status_code == 201:
        assert api.get(f"/api/designs/{quote(bad.value, safe='')}/")["name"] == bad.value
        return
    assert error_of(answer).startswith("name: ")
    for method in ("GET", "PUT", "DELETE"):
        body = {"document": DOCUMENT} if method == "PUT" else None
        api(method, f"/api/designs/{quote(bad.value, safe='')}/", body)
        assert api.sent.status_code in (400, 404, 405)


RUN_PATHS = ("", "events/", "receipt/", "sessions/", "outputs/a/")


@cases("field", "run id in URL")
def test_a_hostile_run_id_is_not_found_like_a_foreign_run(api: Api, bad: BadInput) -> None:
    unknown = api.get(f"/api/runs/{'0' * 32}/", status=404)
    for path in RUN_PATHS:
        answer = send(api, bad, "GET", f"/api/runs/{quote(bad.value, safe='')}/{path}")
        assert answer == unknown or "/" in bad.value
    for action in ("respond", "retry", "cancel", "signal"):
        send(api, bad, "POST", f"/api/runs/{quote(bad.value, safe='')}/{action}/", {})


@cases("field", "pk in URL")
def test_a_hostile_gate_id_is_not_found(api: Api, bad: BadInput) -> None:
    assert send(api, bad, "GET", f"/api/gates/{bad.value}/") == api.get("/api/gates/999/", status=404)
    send(api, bad, "POST", f"/api/gates/{bad.value}/answer/", {"answer": "yes"})
    send(api, bad, "GET", f"/api/gates/?cursor={bad.value}")
    send(api, bad, "GET", f"/api/runs/?page_size={bad.value}")


BODIES = (
    ("POST", "/api/designs/"),
    ("PUT", "/api/designs/known/"),
    ("POST", "/api/designs/validate/"),
    ("POST", "/api/designs/known/run/"),
    ("POST", "/api/runs/{run}/respond/"),
    ("POST", "/api/runs/{run}/retry/"),
    ("POST", "/api/runs/{run}/cancel/"),
    ("POST", "/api/runs/{run}/signal/"),
    ("POST", "/api/gates/{gate}/answer/"),
)


@cases("raw", areas=("json",))
def test_a_hostile_body_is_refused_wherever_a_body_is_read(api: Api, gate: Gate, bad: BadInput) -> None:
    raw = bad.value
    for method, path in BODIES:
        send(api, bad, method, path.format(run=gate.run_id, gate=gate.pk), raw)


FIELDS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "base_version": ("/api/designs/known/", lambda value: {"document": DOCUMENT, "base_version": value}),
    "gate_id": ("/api/runs/{run}/respond/", lambda value: {"node_id": "review", "answer": "yes", "gate_id": value}),
}


@cases("field", "any number field")
def test_a_number_that_is_text_is_refused(api: Api, gate: Gate, bad: BadInput) -> None:
    for name, (path, body) in FIELDS.items():
        method = "PUT" if name == "base_version" else "POST"
        answer = send(api, bad, method, path.format(run=gate.run_id), body(bad.value))
        assert error_of(answer).startswith(f"{name}: must be a whole number")
    send(api, bad, "GET", f"/api/runs/?page_size={bad.value}")


@cases("field", "any date-time field")
def test_a_moment_must_be_exact(api: Api, bad: BadInput) -> None:
    for name in ("since", "until"):
        answer = send(api, bad, "GET", f"/api/runs/?{name}={quote(bad.value)}")
        assert error_of(answer).startswith(f"{name}: must be a date and time")


@cases("field", "list query")
def test_an_unknown_filter_is_refused_on_every_list(api: Api, bad: BadInput) -> None:
    run = builders.begun(Design.objects.get())
    for path in ("designs/", "runs/", "gates/", "profiles/", "designs/known/versions/", f"runs/{run}/events/", f"runs/{run}/sessions/"):
        send(api, bad, "GET", f"/api/{path}{bad.value}")


@cases("field", "answer of gate")
def test_only_the_exact_option_answers(api: Api, gate: Gate, bad: BadInput) -> None:
    for path, body in ((f"/api/gates/{gate.pk}/answer/", {}), (f"/api/runs/{gate.run_id}/respond/", {"node_id": "review"})):
        answer = send(api, bad, "POST", path, {**body, "answer": bad.value})
        assert error_of(answer).startswith("answer: ")
        assert answer["options"] == ["yes", "no"]
    gate.refresh_from_db()
    assert gate.status == "open"


@cases("field", "own profile / design / run / gate")
def test_nobody_sets_what_is_only_shown(api: Api, gate: Gate, bad: BadInput) -> None:
    (name,) = bad.value
    good = {
        "/api/designs/known/": {"document": DOCUMENT},
        "/api/designs/known/run/": {},
        "/api/runs/{run}/respond/": {"node_id": "review", "answer": "yes"},
        "/api/runs/{run}/retry/": {},
        "/api/runs/{run}/cancel/": {},
        "/api/gates/{gate}/answer/": {"answer": "yes"},
    }
    for path, body in good.items():
        method = "PUT" if path == "/api/designs/known/" else "POST"
        answer = send(api, bad, method, path.format(run=gate.run_id, gate=gate.pk), {**body, **bad.value})
        assert error_of(answer).startswith(f"{name}: ")
    assert Run.objects.get().status == "awaiting_approval"


TARGETS = (
    "condition expression", "design name", "run id in URL", "pk in URL", "any number field", "any date-time field", "list query",
    "answer of gate", "own profile / design / run / gate",
)  # fmt: skip


def test_every_value_of_these_areas_is_sent_by_a_test_above() -> None:
    fields = list(bad_inputs(*AREAS, kind="field"))
    assert [bad.id for bad in fields if not any(target in bad.target for target in TARGETS)] == []
    assert {bad.kind for bad in bad_inputs(*AREAS)} == {"design", "field", "raw", "agent_output", "scenario"}
    assert set(EXPRESSIONS) == {bad.id for bad in bad_inputs("condition", kind="agent_output")}
