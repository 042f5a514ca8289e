"""The main job over the API: save, start, perform, park, answer, finish, read everything."""

import pytest

from tests import builders
from tests.api import Api
from tests.builders import agent, approval, condition, design, output, person
from tests.fakes import ScriptedPerformer, structured

pytestmark = pytest.mark.django_db

DOCUMENT = design(
    agent("draft"),
    condition("good", "out.draft.risks > 1"),
    approval("review", question="Send it?", assignees=["user:ann"]),
    output("done", deliver="notification"),
)


def test_a_design_runs_parks_is_answered_and_finishes(performer: ScriptedPerformer) -> None:
    performer.does("draft", structured({"risks": 2}))
    builders.profile()
    ann = Api(person("ann", "reviewer"))
    api = Api(person("olga", "designer", "operator"))

    saved = api.post("/api/designs/", {"name": "brief", "dialect": "design", "document": DOCUMENT, "title": "Brief"}, status=201)
    assert (saved["version"], saved["document"]) == (1, DOCUMENT)

    started = api.post("/api/designs/brief/run/", {"input": {"text": "hello"}}, status=201)
    assert (started["status"], started["origin"]) == ("running", "api")
    builders.work(started["run_id"])

    inbox = ann.get("/api/gates/?status=open&mine=1")
    assert (inbox["count"], inbox["more"]) == (1, False)
    gate = inbox["results"][0]
    assert (gate["question"], gate["run_id"]) == ("Send it?", started["run_id"])

    answered = ann.post(f"/api/gates/{gate['gate_id']}/answer/", {"answer": "approve", "digest": gate["digest"], "comment": "fine"})
    assert answered["answers"] == {"review": "approve"}
    builders.work(started["run_id"])

    run = api.get(f"/api/runs/{started['run_id']}/")
    assert run["status"] == "done"
    assert run["outputs"]["draft"] == {"risks": 2}
    assert run["deliveries"][0]["ok"] is True
    assert [event["seq"] for event in api.get(f"/api/runs/{run['run_id']}/events/")["results"]] == list(range(1, run["seq"] + 1))
    assert api.get(f"/api/runs/{run['run_id']}/outputs/draft/") == {"risks": 2}
    receipt = api.get(f"/api/runs/{run['run_id']}/receipt/")
    assert receipt["gates"][0]["decisions"][0]["by"] == "ann"
    assert "hello" not in str(receipt)
    assert api.get("/api/runs/?status=done")["results"][0]["run_id"] == run["run_id"]
