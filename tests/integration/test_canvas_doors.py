"""A canvas workflow through the doors there are: the API from check to outputs, the pages, and the admin's JSON editor."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from hermes_workflow.models import Design, DesignVersion, Hook
from runs.models import Run
from tests import builders as b
from tests import canvas as c
from tests.api import Api
from tests.bad_inputs import BadInput, bad_inputs
from tests.fakes import ScriptedPerformer, structured
from tests.integration.admin_forms import form_in, pressed
from tests.pages import browser

pytestmark = pytest.mark.django_db


@pytest.fixture
def door() -> Api:
    b.profile(model="small")
    return Api(b.admin())


def test_a_canvas_is_checked_saved_run_and_read(door: Api, performer: ScriptedPerformer):
    document = {**c.canvas("a>b>d", "a>c>d"), "viewport": {"x": 80, "y": -3.5, "zoom": 0.75}}
    assert door.post("/api/designs/validate/", {"dialect": "canvas", "document": document}) == {"ok": True, "defects": []}
    saved = door.post("/api/designs/", {"name": "fan", "dialect": "canvas", "document": document, "title": "Fan"}, status=201)
    assert (saved["dialect"], saved["version"], saved["document"]) == ("canvas", 1, document)
    run = door.post("/api/designs/fan/run/", {"input": {"text": "go"}}, status=201)
    assert (run["dialect"], run["status"], run["outputs"]) == ("canvas", "running", {})
    performer.does("d", structured({"n": 1}))
    b.work(run["run_id"])
    done = door.get(f"/api/runs/{run['run_id']}/")
    assert (done["status"], done["error"], done["attempts"]) == ("done", None, dict.fromkeys("abcd", 1))
    assert done["outputs"] == {"a": {"did": "a"}, "b": {"did": "b"}, "c": {"did": "c"}, "d": {"n": 1}}
    assert door.get(f"/api/runs/{run['run_id']}/outputs/d/") == {"n": 1}
    assert [event["type"] for event in door.get(f"/api/runs/{run['run_id']}/events/")["results"]][-1] == "run.completed"
    door.get(f"/api/runs/{run['run_id']}/receipt/")


def test_what_is_wrong_with_a_canvas_is_said_as_defects_and_nothing_is_saved(door: Api):
    document = c.canvas("a>b", "c>a>c", a={"title": ""}, b={"agent": "codex"})
    document["edges"].append(c.edge("b", "gone"))
    checked = door.post("/api/designs/validate/", {"dialect": "canvas", "document": document})
    assert [(defect["node"], defect["field"]) for defect in checked["defects"]] == [
        ("a", "title"), ("b", "apiMode"), ("", "edges"), ("a", "edges"),
    ]  # fmt: skip
    refused = door.post("/api/designs/", {"name": "bad", "dialect": "canvas", "document": document}, status=422)
    assert refused["defects"] == checked["defects"]
    assert not Design.objects.exists()


def test_a_saved_canvas_gets_versions_and_stays_a_canvas(door: Api):
    c.saved("a>b")
    door.put("/api/designs/flow/", {"dialect": "canvas", "document": c.canvas("a>b>c"), "base_version": 1})
    door.put("/api/designs/flow/", {"dialect": "canvas", "document": c.canvas("a"), "base_version": 1}, status=409)
    door.put("/api/designs/flow/", {"dialect": "design", "document": b.design(b.agent("a"))}, status=409)
    assert [one["version"] for one in door.get("/api/designs/flow/versions/")["results"]] == [2, 1]


def test_an_unknown_dialect_is_refused_by_name(door: Api):
    refused = door.post("/api/designs/validate/", {"dialect": "comic", "document": {}}, status=422)
    assert "design or canvas" in refused["error"]["msg"]


def test_a_canvas_makes_no_webhook_and_names_no_profile_of_its_own(door: Api):
    document = c.canvas("a>b")
    document["nodes"][0] |= {"profile": "nobody's", "hook": "mine", "deliver": "channel"}
    door.post("/api/designs/", {"name": "flow", "dialect": "canvas", "document": document}, status=201)
    document["nodes"][0]["type"] = "trigger"
    door.post("/api/designs/validate/", {"dialect": "canvas", "document": document})
    door.put("/api/designs/flow/", {"dialect": "canvas", "document": document}, status=422)
    assert not Hook.objects.exists()


def test_a_model_that_the_profile_does_not_allow_fails_the_node_visibly(door: Api, performer: ScriptedPerformer):
    c.saved("a>b", a={"model": "huge"})
    run = door.post("/api/designs/flow/run/", {}, status=201)
    b.work(run["run_id"])
    error = door.get(f"/api/runs/{run['run_id']}/")["error"]
    assert (error["node_id"], error["kind"]) == ("a", "model_denied")
    assert not performer.tries("a")


def test_a_skill_that_is_not_there_fails_its_node_clearly(door: Api, performer: ScriptedPerformer):
    c.saved("a>b", a={"skills": ["write"], "agent": "codex", "apiMode": "codex_responses"})
    run = door.post("/api/designs/flow/run/", {}, status=201)
    b.work(run["run_id"])
    error = door.get(f"/api/runs/{run['run_id']}/")["error"]
    assert (error["node_id"], error["kind"], error["msg"]) == ("a", "blocked", 'Skill "write" not found for codex')
    assert not performer.seen


def test_a_selected_skill_comes_before_the_task(door: Api, performer: ScriptedPerformer, settings: object, tmp_path: Path):
    for name, words in (("team/write", "Write well.\n"), (".hidden/secret", "no"), ("big", "x" * 70_000), ("odd", "\udcff")):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "SKILL.md").write_text(words, errors="surrogateescape")
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "SKILL.md").symlink_to("/etc/hostname")
    settings.HERMES_SKILLS_DIRS = [str(tmp_path / "gone"), str(tmp_path)]
    c.saved("a", a={"skills": ["write"]})
    b.work(door.post("/api/designs/flow/run/", {}, status=201)["run_id"])
    assert performer.seen[0].rendered == "[Workflow selected skills]\n\n[Skill: write]\nWrite well.\n\n[Current task]\ndo a"
    for name in ("secret", "big", "odd", "link", "team", "../write", "team/write", str(tmp_path)):
        c.saved("a", a={"skills": [name]})
        run_id = door.post("/api/designs/flow/run/", {}, status=201)["run_id"]
        b.work(run_id)
        assert door.get(f"/api/runs/{run_id}/")["error"]["kind"] == "blocked"
    assert len(performer.seen) == 1


@pytest.mark.parametrize("entry", list(bad_inputs("json", kind="field")) + list(bad_inputs("id", kind="field")), ids=lambda entry: entry.id)
@pytest.mark.parametrize("place", ["document", "nodes", "edges", "node", "id", "data", "title", "source", "skills"])
def test_hostile_values_in_a_canvas_are_refused_or_defects(door: Api, entry: BadInput, place: str):
    document: Any = c.canvas("a>b")
    places = {
        "document": lambda value: value,
        "nodes": lambda value: {**document, "nodes": value},
        "edges": lambda value: {**document, "edges": value},
        "node": lambda value: {**document, "nodes": [*document["nodes"], value]},
        "id": lambda value: {**document, "nodes": [{**c.node("a"), "id": value}, c.node("b")]},
        "data": lambda value: {**document, "nodes": [{**c.node("a"), "data": value}, c.node("b")]},
        "title": lambda value: c.canvas("a>b", a={"title": value}),
        "source": lambda value: {**document, "edges": [{**c.edge("a", "b"), "source": value}]},
        "skills": lambda value: c.canvas("a>b", a={"skills": value}),
    }
    try:
        body = json.dumps({"dialect": "canvas", "document": places[place](entry.value)}).encode()
    except (TypeError, ValueError, RecursionError):
        pytest.skip("no JSON")
    answer = door("POST", "/api/designs/validate/", body)
    assert door.sent.status_code in (200, 400, 413, 422), answer


@pytest.fixture
def admin(client: Client) -> Client:
    client.force_login(b.admin().user)
    return client


def test_the_pages_show_a_canvas_and_its_runs(performer: ScriptedPerformer, admin: Client):
    design = c.saved("start>b>d", "start>c>d")
    DesignVersion.objects.get()
    performer.does("c", RuntimeError("it broke"))
    run_id = b.begun(design)
    person = browser(b.admin())
    for stage in range(2):
        for path in ("/designs/", "/designs/flow/", "/runs/", f"/runs/{run_id}/"):
            page = person.get(path)
            assert page.status_code == 200, (stage, path)
        b.work(run_id)
    page = person.get(f"/runs/{run_id}/").content.decode()
    assert Run.objects.get().status == "failed"
    for key in ("start", "b", "c", "d"):
        assert f'data-node-id="{key}"' in page
    assert "do start" in person.get("/designs/flow/").content.decode()


def test_the_admin_edits_a_canvas_as_json(admin: Client):
    design = c.saved("a>b")
    url = reverse("admin:hermes_workflow_design_change", args=[design.pk])
    page = admin.get(url)
    assert page.status_code == 200
    form = form_in(page)
    assert form.fields["mode"] == ["json"]
    assert "tab:fields" not in form.buttons
    changed = {"document": json.dumps(c.canvas("a>b>c"))}
    assert admin.post(url, pressed(form, "save", **changed)).status_code == 302
    assert [node["id"] for node in DesignVersion.objects.latest("number").document["nodes"]] == ["a", "b", "c"]
    refused = admin.post(url, pressed(form, "save", document=json.dumps(c.canvas("a>b", a={"title": ""})), base_version="2"))
    assert refused.status_code == 422
    assert ("a", "title") in form_in(refused).defects
    for action in ("check", "tab:fields", "add:agent", "remove:0"):
        assert admin.post(url, pressed(form, action, base_version="2")).status_code in (200, 400, 422), action
    for name in ("history_list", "start"):
        assert admin.get(reverse(f"admin:hermes_workflow_design_{name}", args=[design.pk])).status_code == 200
    assert admin.get(reverse("admin:hermes_workflow_design_version", args=[design.pk, 1])).status_code == 200
    assert admin.post(reverse("admin:hermes_workflow_design_restore", args=[design.pk, 1])).status_code in (302, 200)
    assert DesignVersion.objects.latest("number").document == c.canvas("a>b")
