"""What clients rely on: idempotent starts, pages by key, filters, versions, receipts, transcripts, and what a list costs."""

import hashlib
from datetime import timedelta
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
import time_machine
from django.utils import timezone

from hermes_workflow.core.documents import canonical
from hermes_workflow.models import Design, Profile
from runs.models import Run
from tests import builders
from tests.api import Api, error_of
from tests.builders import agent, approval, condition, design, output
from tests.fakes import ScriptedPerformer, failed, structured

pytestmark = pytest.mark.django_db

DOCUMENT = design(agent("a"))
BROKEN = design(agent("a", prompt=""), condition("c", "nonsense"))


@pytest.fixture(autouse=True)
def default_profile(performer: ScriptedPerformer) -> None:
    """Everybody belongs to it."""
    builders.profile()


@pytest.fixture
def api() -> Api:
    """Somebody who may do everything."""
    return Api(builders.admin())


def pages_of(api: Api, path: str) -> list[list[Any]]:
    """Every page, forwards, each also reached backwards from the next."""
    found, previous = [], None
    while path:
        page = api.get(path)
        if previous and page["previous"]:
            assert api.get(relative(page["previous"]))["results"] == previous
        found.append(page["results"])
        previous, path = page["results"], relative(page["next"])
    return found


def relative(url: str | None) -> str:
    """The address without its host; empty for none."""
    parts = urlsplit(url or "")
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


# --- designs --------------------------------------------------------------------------------------------------------------


def test_a_design_is_created_once_and_then_saved_as_versions(api: Api) -> None:
    body = {"name": "d.v1-x", "dialect": "design", "document": DOCUMENT, "title": "Title", "note": "first"}
    first = api.post("/api/designs/", body, status=201)
    assert (first["version"], first["profile"], first["title"]) == (1, "default", "Title")
    assert api.post("/api/designs/", body, status=409)["error"]["code"] == "conflict"
    second = api.put("/api/designs/d.v1-x/", {"document": design(agent("b")), "base_version": 1, "note": "second"})
    assert (second["version"], second["title"]) == (2, "Title")
    stale = api.put("/api/designs/d.v1-x/", {"document": DOCUMENT, "base_version": 1}, status=409)
    assert (stale["error"]["code"], stale["version"]) == ("stale", 2)
    versions = api.get("/api/designs/d.v1-x/versions/")["results"]
    assert [(found["version"], found["note"], found["author"], found["current"]) for found in versions] == [
        (2, "second", "root", True),
        (1, "first", "root", False),
    ]
    assert api.get("/api/designs/d.v1-x/")["document"] == design(agent("b"))


def test_put_creates_too(api: Api) -> None:
    assert api.put("/api/designs/fresh/", {"document": DOCUMENT}, status=201)["version"] == 1
    assert "in the address" in error_of(api.put("/api/designs/fresh/", {"name": "other", "document": DOCUMENT}, status=400))
    api.put("/api/designs/validate/", {"document": DOCUMENT}, status=405)


def test_a_deleted_design_is_gone_and_its_name_free_while_its_runs_stay(api: Api) -> None:
    run_id = builders.started(approval("review"), name="gone")
    api.delete("/api/designs/gone/")
    api.get("/api/designs/gone/", status=404)
    assert api.get(f"/api/runs/{run_id}/")["status"] == "awaiting_approval"
    assert api.post("/api/designs/", {"name": "gone", "document": DOCUMENT}, status=201)["version"] == 1


def test_every_defect_of_a_workflow_is_listed_and_nothing_is_saved(api: Api) -> None:
    verdict = api.post("/api/designs/validate/", {"dialect": "design", "document": BROKEN})
    assert verdict["ok"] is False
    refused = api.post("/api/designs/", {"name": "broken", "document": BROKEN}, status=422)
    assert refused["defects"] == verdict["defects"]
    assert {(found["node"], found["field"]) for found in verdict["defects"]} >= {("a", "prompt"), ("c", "expression")}
    assert Design.objects.count() == 0
    assert api.post("/api/designs/validate/", {"document": DOCUMENT}) == {"ok": True, "defects": []}
    api.post("/api/designs/validate/", {"dialect": "prose", "document": DOCUMENT}, status=422)


# --- starting -------------------------------------------------------------------------------------------------------------


def test_the_same_key_starts_one_run(api: Api) -> None:
    builders.saved(approval("review"))
    path, key = "/api/designs/flow/run/", {"Idempotency-Key": "start-1"}
    first = api.post(path, {"input": {"n": 1}}, status=201, **key)
    assert api.post(path, {"input": {"n": 1}}, status=200, **key) == first
    assert api.post(path, {"input": {"n": 2}}, status=409, **key)["error"]["code"] == "idempotency_key_reused"
    assert Run.objects.count() == 1


@pytest.mark.parametrize("key", ["", " ", "a b", "x" * 256, "ä", "a\tb"])
def test_an_idempotency_key_is_visible_ascii(api: Api, key: str) -> None:
    builders.saved(approval("review"))
    answer = api.post("/api/designs/flow/run/", {}, status=400, **{"Idempotency-Key": key.encode().decode("latin-1")})
    assert error_of(answer).startswith("Idempotency-Key: ")


def test_a_caller_performs_the_steps_itself(api: Api) -> None:
    builders.saved(agent("a"))
    run = api.post("/api/designs/flow/run/", {"perform": "caller", "workflow_id": "mine:1", "input": {"x": 1}}, status=201)
    assert (run["status"], run["pending"]["prompt"], run["workflow_id"]) == ("awaiting_agent", "do a", "mine:1")
    body = {"node_id": "a", "structured": {"sum": 3}, "gate_id": run["pending"]["gate_id"]}
    assert api.post(f"/api/runs/{run['run_id']}/respond/", body)["outputs"] == {"a": {"sum": 3}}
    taken = api.post("/api/designs/flow/run/", {"workflow_id": "mine:1"}, status=409)
    assert "mine:1" in error_of(taken)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"input": []}, "input"),
        ({"input": "text"}, "input"),
        ({"perform": "robot"}, "perform"),
        ({"perform": True}, "perform"),
        ({"workflow_id": "a b"}, "workflow_id"),
        ({"workflow_id": 5}, "workflow_id"),
        ({"version": 1}, "version"),
    ],
)
def test_a_start_takes_nothing_of_another_type(api: Api, body: Any, field: str) -> None:
    builders.saved(approval("review"))
    assert error_of(api.post("/api/designs/flow/run/", body, status=400)).startswith(f"{field}: ")
    assert Run.objects.count() == 0


def test_null_means_absent(api: Api) -> None:
    builders.saved(approval("review"))
    run = api.post("/api/designs/flow/run/", {"input": None, "workflow_id": None, "perform": None}, status=201)
    assert (run["input"], run["workflow_id"]) == ({}, None)


# --- steering -------------------------------------------------------------------------------------------------------------


def test_a_failed_run_is_retried_with_its_outputs_kept(api: Api, performer: ScriptedPerformer) -> None:
    performer.does("b", failed(), structured({"ok": 1}))
    run_id = builders.ran(agent("a", retries=0), agent("b", retries=0))["run_id"]
    assert api.get(f"/api/runs/{run_id}/")["status"] == "failed"
    assert api.post(f"/api/runs/{run_id}/retry/", {"version": "pinned"})["status"] == "running"
    builders.work(run_id)
    done = api.get(f"/api/runs/{run_id}/")
    assert (done["status"], done["attempts"]) == ("done", {"a": 1, "b": 2})


def test_cancelling_again_is_harmless(api: Api) -> None:
    run_id = builders.started(approval("review"))
    for _ in range(2):
        run = api.post(f"/api/runs/{run_id}/cancel/", {"reason": "not needed"})
        assert (run["status"], run["ok"], run["pending"]) == ("cancelled", True, None)
    assert "closed" in error_of(api.post(f"/api/runs/{run_id}/respond/", {"node_id": "review", "answer": "approve"}, status=409))


def test_no_run_waits_for_a_signal_yet(api: Api) -> None:
    run_id = builders.started(approval("review"))
    path = f"/api/runs/{run_id}/signal/"
    assert error_of(api.post(path, {"type": "paid", "key": "k", "payload": None}, status=409)) == "this run waits for no signal"
    assert error_of(api.post(path, {"key": "k"}, status=400)) == "type: is required"


# --- reading --------------------------------------------------------------------------------------------------------------


def test_reading_honours_the_deadline(api: Api) -> None:
    run_id = builders.started(approval("review", timeout_minutes=1))
    assert api.get("/api/gates/")["count"] == 1
    with time_machine.travel(timezone.now() + timedelta(minutes=2)):
        assert api.get("/api/gates/")["count"] == 0
        run = api.get(f"/api/runs/{run_id}/")
    assert (run["status"], run["error"]["kind"]) == ("failed", "approval_timeout")


def test_runs_are_filtered_newest_first(api: Api) -> None:
    builders.saved(approval("review"), name="one")
    builders.saved(agent("a"), name="two")
    ids = []
    for day, name in enumerate(["one", "two", "one"], 1):
        with time_machine.travel(f"2026-01-0{day}T00:00:00Z", tick=False):
            ids.append(builders.begun(Design.objects.get(slug=name), origin="page" if day == 3 else "api"))

    def found(query: str) -> list[str]:
        return [run["run_id"] for run in api.get(f"/api/runs/?{query}")["results"]]

    assert found("") == ids[::-1]
    assert found("name=one") == [ids[2], ids[0]]
    assert found("status=running") == [ids[1]]
    assert found("origin=page&name=one") == [ids[2]]
    assert found("since=2026-01-02T00:00:00Z&until=2026-01-03T01:00:00%2B01:00") == [ids[1]]
    assert found("name=none") == []
    assert "must be one of" in error_of(api.get("/api/runs/?status=odd", status=400))
    assert "2 times" in error_of(api.get("/api/runs/?name=one&name=two", status=400))


@pytest.mark.parametrize("size", [1, 2, 5, 7])
def test_pages_hold_each_row_once_in_both_directions(api: Api, size: int) -> None:
    builders.saved(approval("review"))
    with time_machine.travel("2026-01-01T00:00:00Z", tick=False):  # the same moment: the id decides
        ids = {builders.begun(Design.objects.get()) for _ in range(5)}
    for path in ("/api/runs/", "/api/gates/", f"/api/runs/{min(ids)}/events/"):
        pages = pages_of(api, f"{path}?page_size={size}")
        rows = [str(row.get("gate_id") or row.get("run_id") or row["seq"]) for page in pages for row in page]
        assert len(rows) == len(set(rows)) > 1
        assert all(len(page) <= size for page in pages)


@pytest.mark.parametrize("cursor", ["x", "", "AAAA", "W10", "bnVsbA", "WyJhIiwxXQ", "%00", "a" * 2000])
def test_a_cursor_of_one_s_own_making_is_refused(api: Api, cursor: str) -> None:
    for path in ("runs", "gates", "designs", "tokens"):
        assert error_of(api.get(f"/api/{path}/?cursor={cursor}", status=400)).startswith("cursor: ")


def test_large_outputs_are_referred_to_and_read_by_themselves(api: Api, performer: ScriptedPerformer) -> None:
    value, odd = {"text": "x" * 70_000}, "a/b ü?#"
    performer.does(odd, structured(value))
    run = builders.ran(agent(odd), output("out"))
    shown = api.get(f"/api/runs/{run['run_id']}/")["outputs"]
    assert api.get(shown[odd]["$ref"]) == value
    assert api.get(shown["out"]["$ref"]) == {odd: value}
    api.get(f"/api/runs/{run['run_id']}/outputs/none/", status=404)


def test_the_receipt_binds_who_did_what_and_repeats_nothing_that_was_said(api: Api, performer: ScriptedPerformer) -> None:
    performer.does("a", structured({"secret": "hunter2"}))
    run_id = builders.started(agent("a"), approval("review", question="Is hunter2 fine?"), output("out", deliver="notification"))
    builders.work(run_id)
    api.post(f"/api/runs/{run_id}/respond/", {"node_id": "review", "answer": "approve", "comment": "hunter2 it is"})
    builders.work(run_id)
    receipt = api.get(f"/api/runs/{run_id}/receipt/")
    assert "hunter2" not in str(receipt)
    seal = receipt.pop("sha256")
    assert seal == "sha256:" + hashlib.sha256(canonical(receipt).encode()).hexdigest()
    (gate,) = receipt["gates"]
    assert (gate["answer"], gate["decisions"][0]["by"], gate["decisions"][0]["channel"]) == ("approve", "root", "api")
    assert [attempt["kind"] for attempt in receipt["attempts"]] == ["agent", "deliver"]
    assert receipt["deliveries"][0]["ok"] is True
    assert {found["node_id"] for found in receipt["outputs"]} == {"a", "review", "out"}
    assert receipt["history"]["events"] == api.get(f"/api/runs/{run_id}/")["seq"]


def test_transcripts_say_what_was_asked_and_answered(api: Api, performer: ScriptedPerformer) -> None:
    performer.keeps_transcript = True
    performer.does("a", structured({"n": 1}))
    run_id = builders.ran(agent("a"))["run_id"]
    (session,) = api.get(f"/api/runs/{run_id}/sessions/")["results"]
    assert (session["node_id"], session["number"], session["profile"]) == ("a", 1, "default")
    assert [message["role"] for message in session["messages"]] == ["user", "assistant"]


def test_a_gate_says_whether_one_may_answer_it(api: Api) -> None:
    run_id = builders.started(approval("review"))
    gate_id = api.get(f"/api/runs/{run_id}/")["pending"]["gate_id"]
    assert api.get(f"/api/gates/{gate_id}/")["why_not"] == ""
    viewer = Api(builders.person("vera", "viewer"))
    assert "reviewer or admin" in viewer.get(f"/api/gates/{gate_id}/")["why_not"]
    assert (viewer.get("/api/gates/")["count"], viewer.get("/api/gates/?mine=1")["count"]) == (1, 0)
    api.post(f"/api/gates/{gate_id}/answer/", {"answer": "reject", "comment": "no"})
    gate = viewer.get(f"/api/gates/{gate_id}/")
    assert (gate["status"], gate["answer"], gate["decisions"][0]["comment"]) == ("answered", "reject", "no")
    assert api.get("/api/gates/?status=answered")["results"][0]["gate_id"] == gate_id


def test_profiles_show_who_performs_and_no_settings(api: Api) -> None:
    Profile.objects.update(settings={"argv": ["secret-command"]})
    (shown,) = api.get("/api/profiles/")["results"]
    assert (shown["name"], shown["default"], shown["open"]) == ("default", True, True)
    assert "secret-command" not in str(shown)


# --- what all routes share --------------------------------------------------------------------------------------------------


def test_an_address_works_without_its_slash(api: Api) -> None:
    builders.saved(approval("review"))
    run = api.post("/api/designs/flow/run", {}, status=201)
    assert api.get(f"/api/runs/{run['run_id']}")["run_id"] == run["run_id"]
    assert api.post(f"/api/runs/{run['run_id']}/respond", {"node_id": "review", "answer": "approve"})["status"] == "done"


def test_answers_are_json_that_no_cache_keeps(api: Api) -> None:
    api.get("/api/runs/", accept="text/html")
    assert (api.sent.headers["Content-Type"], api.sent.headers["Cache-Control"]) == ("application/json", "no-store")


def test_a_method_that_an_address_does_not_take_is_405(api: Api) -> None:
    assert api("PATCH", "/api/runs/", {}, status=405)["error"]["code"] == "method_not_allowed"
    assert "GET" in api.sent.headers["Allow"]


def test_a_mistake_of_ours_is_500_in_the_one_shape(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runs.services.honour_deadlines", lambda: 1 / 0)
    answer = api.get("/api/runs/", status=500)
    assert answer["error"]["code"] == "internal"
    assert "ZeroDivision" not in str(answer)


def test_all_wrong_fields_are_named_at_once(api: Api) -> None:
    said = error_of(api.post("/api/designs/", {"name": 5, "title": [], "base_version": "1", "separate_duties": 1}, status=400))
    assert all(f"{name}: " in said for name in ("name", "title", "base_version", "separate_duties", "document"))


def test_the_openapi_document_and_its_pages_are_served(api: Api) -> None:
    found = Api().get("/api/schema/", accept="application/json")
    assert "/api/designs/{name}/run/" in found["paths"]
    assert not [path for path in found["paths"] if not path.endswith("/")]
    page = api.client.get("/api/docs/").content.decode()
    assert "swagger-ui" in page
    assert "<style" not in page
    assert api.client.get("/api/docs/?script=").headers["Content-Type"].startswith("application/javascript")


@pytest.mark.parametrize("path", ["runs/", "gates/", "gates/?mine=1", "designs/", "profiles/", "designs/flow-0/versions/", "tokens/"])
def test_a_list_costs_the_same_however_long_it_is(api: Api, path: str, django_assert_max_num_queries: Any) -> None:
    for number in range(6):
        builders.started(approval("review"), name=f"flow-{number}")
        if path == "profiles/":  # elsewhere a scan per profile is meant
            builders.profile(f"profile-{number}")
        builders.saved(approval("review", question=f"{number}?"), name="flow-0")
    with django_assert_max_num_queries(12):
        assert len(api.get(f"/api/{path}")["results"]) >= (1 if path == "tokens/" else 6)


def test_an_odd_node_id_is_answered_by_its_name(api: Api) -> None:
    odd = "Prüfung 1/2"
    run_id = builders.started(approval(odd))
    assert api.get(f"/api/runs/{run_id}/outputs/{quote(odd, safe='')}/", status=404)
    api.post(f"/api/runs/{run_id}/respond/", {"node_id": odd, "answer": "approve"})
    assert api.get(f"/api/runs/{run_id}/outputs/{quote(odd, safe='')}/")["answer"] == "approve"
