"""Tools of chat agents: their schemas describe what is accepted, and each does what its REST address does."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from hermes_workflow.models import Design, Token
from hermes_workflow.rights import DESIGNER, OPERATOR, VIEWER
from runs.models import Run
from tests import builders as b
from tests.api import Api, error_of
from tests.bad_inputs import bad_inputs
from tests.fakes import ScriptedPerformer, failed
from tests.integration import approvals_builders as a

pytestmark = pytest.mark.django_db

NAMES = [f"workflow_design_{name}" for name in ("list", "get", "save", "validate", "delete", "run", "runs", "respond", "schedule")]
DOCUMENT = b.design(b.approval("review"), b.output("out"))
FITTING: dict[str, dict[str, Any]] = {
    "workflow_design_list": {"limit": 5},
    "workflow_design_get": {"name": "known"},
    "workflow_design_save": {"name": "fresh", "document": DOCUMENT, "title": "Fresh", "note": "first"},
    "workflow_design_validate": {"document": DOCUMENT, "dialect": "design"},
    "workflow_design_delete": {"name": "known"},
    "workflow_design_run": {"name": "known", "input": {"text": "hi"}, "perform": "caller"},
    "workflow_design_runs": {"status": "done", "origin": "chat"},
    "workflow_design_respond": {"run_id": "abcdef123456", "node_id": "review", "answer": "yes"},
    "workflow_design_schedule": {"action": "list"},
}


def bot_api(*scopes: str) -> Api:
    _, secret = Token.objects.create(a.bot().user, name="chat", bot=True, scopes=["read", *scopes] if scopes else [])
    return Api(secret=secret)


def tool(api: Api, name: str, body: Any = None, *, status: int = 200, **headers: str) -> Any:
    return api.post(f"/api/tools/workflow_design_{name}/", {} if body is None else body, status=status, **headers)


def schemas(api: Api) -> dict[str, dict[str, Any]]:
    return {found["name"]: found for found in api.get("/api/tools/")["results"]}


def test_every_tool_is_listed_as_an_agent_registers_it(api: Api) -> None:
    found = schemas(api)
    assert sorted(found) == sorted(NAMES)
    for one in found.values():
        assert set(one) == {"name", "description", "parameters"}
        assert len(one["description"]) > 20
        Draft202012Validator.check_schema(one["parameters"])
        assert one["parameters"]["type"] == "object"
        assert one["parameters"]["additionalProperties"] is False
        assert set(one["parameters"]["required"]) <= set(one["parameters"]["properties"])


@pytest.mark.parametrize("name", NAMES)
def test_what_fits_the_schema_is_accepted_and_what_does_not_is_refused_by_name(api: Api, name: str) -> None:
    body = dict(FITTING[name])
    if "run_id" in body:
        body["run_id"] = b.begun(Design.objects.get(slug="known"))
    check = Draft202012Validator(schemas(api)[name]["parameters"])
    check.validate(body)
    with pytest.raises(ValidationError):
        check.validate({**body, "is_staff": True})
    assert "is_staff" in error_of(api.post(f"/api/tools/{name}/", {**body, "is_staff": True}, status=400))
    answer = api.post(f"/api/tools/{name}/", body)
    assert answer["ok"] is True
    assert answer["next"]


@pytest.mark.parametrize("name", NAMES)
def test_the_schema_and_the_reader_agree_on_wrong_types(api: Api, name: str) -> None:
    check = Draft202012Validator(schemas(api)[name]["parameters"])
    for field, schema in check.schema["properties"].items():
        for wrong in (5.5, [], "x" * 20_000, {"a": 1}, True):
            body = {**FITTING[name], field: wrong}
            if schema.keys() & {"type", "enum"} and not check.is_valid(body):
                assert field in error_of(api.post(f"/api/tools/{name}/", body, status=400)), (field, wrong)


def test_a_design_is_saved_checked_read_listed_and_deleted(api: Api) -> None:
    made = tool(api, "save", {"name": "letter", "document": DOCUMENT, "title": "Letter"})
    assert (made["name"], made["version"], made["created"]) == ("letter", 1, True)
    assert tool(api, "get", {"name": "letter"})["document"] == DOCUMENT
    assert [one["name"] for one in tool(api, "list")["designs"]] == ["known", "letter"]
    first = tool(api, "list", {"limit": 1})
    assert (first["more"], [one["name"] for one in first["designs"]]) == (True, ["known"])
    assert [one["name"] for one in tool(api, "list", {"limit": 1, "after": "known"})["designs"]] == ["letter"]
    assert error_of(tool(api, "save", {"name": "letter", "document": DOCUMENT, "create_only": True}, status=409))
    assert error_of(tool(api, "save", {"name": "letter", "document": DOCUMENT, "base_version": 7}, status=409))
    assert tool(api, "delete", {"name": "letter"})["deleted"] is True
    error_of(tool(api, "get", {"name": "letter"}, status=404))


def test_defects_come_beside_their_nodes_and_nothing_invalid_is_saved(api: Api) -> None:
    broken = {"nodes": [{"id": "only", "type": "agent"}]}
    found = tool(api, "validate", {"document": broken})
    assert found["ok"] is False
    assert {"node", "field", "msg"} <= found["defects"][0].keys()
    assert tool(api, "save", {"name": "bad", "document": broken}, status=422)["defects"]
    assert not Design.objects.filter(slug="bad").exists()


def test_a_run_is_started_answered_and_read(api: Api) -> None:
    begun = tool(api, "run", {"name": "known", "input": {"text": "hi"}}, **{"Idempotency-Key": "k1"})
    assert (begun["status"], begun["origin"], begun["new"]) == ("awaiting_approval", "chat", True)
    again = tool(api, "run", {"name": "known", "input": {"text": "hi"}}, **{"Idempotency-Key": "k1"})
    assert (again["run_id"], again["new"]) == (begun["run_id"], False)
    run_id = begun["run_id"]
    refused = tool(api, "respond", {"run_id": run_id, "node_id": "review", "answer": "maybe"}, status=400)
    assert refused["options"] == ["yes", "no"]
    assert tool(api, "respond", {"run_id": run_id, "node_id": "review", "answer": "yes"})["status"] == "done"
    assert [run["run_id"] for run in tool(api, "runs", {"name": "known"})["runs"]] == [run_id]
    assert tool(api, "runs", {"run_id": run_id})["answers"] == {"review": "yes"}


def test_a_failed_run_is_retried_and_nothing_else_may_be_said_with_it(api: Api, performer: ScriptedPerformer) -> None:
    performer.does("draft", failed(), failed())
    run_id = b.started(b.agent("draft", retries=0), name="fails")
    b.work(run_id)
    error_of(tool(api, "run", {"retry": run_id, "input": {}}, status=400))
    error_of(tool(api, "run", {"retry": run_id, "name": "known"}, status=400))
    error_of(tool(api, "run", {}, status=400))
    error_of(tool(api, "run", {"retry": run_id[:8]}, status=404))
    assert tool(api, "run", {"retry": run_id})["status"] == "running"


def test_a_bot_performs_what_waits_for_an_agent_but_never_decides(api: Api) -> None:
    robot = bot_api("start", "perform", "relay")
    b.saved(b.agent("draft"), b.approval("check"), name="both")
    run = tool(robot, "run", {"name": "both", "perform": "caller"})
    assert run["pending"]["prompt"] == "do draft"
    waits = tool(robot, "respond", {"run_id": run["run_id"], "node_id": "draft", "structured": {"words": 0}})
    assert (waits["status"], waits["outputs"]["draft"]) == ("awaiting_approval", {"words": 0})
    answer = {"run_id": run["run_id"], "node_id": "check", "answer": "approve"}
    assert "never decides" in error_of(tool(robot, "respond", answer, status=403))
    source = {"channel": "telegram", "external_id": "tg-1", "message_id": "m-1"}
    relayed = {**answer, "source": source, "digest": waits["pending"]["digest"]}
    refused = tool(robot, "respond", relayed, status=403)
    assert refused["link"]["url"].startswith("/account/link/")
    a.linked(a.reviewer("ann"), "tg-1")
    assert tool(robot, "respond", relayed)["status"] == "done"


def test_a_bot_saves_and_retries_only_where_its_token_names_that(api: Api, performer: ScriptedPerformer) -> None:
    performer.does("draft", failed())
    run_id = b.started(b.agent("draft", retries=0), name="fails")
    b.work(run_id)
    saving = {"name": "made-by-bot", "document": DOCUMENT}
    unnamed = bot_api()
    error_of(tool(unnamed, "save", saving, status=403))
    error_of(tool(unnamed, "run", {"retry": run_id}, status=403))
    named = bot_api("start", "design", "operate")
    assert tool(named, "save", saving)["created"] is True
    assert tool(named, "run", {"retry": run_id})["ok"] is True


def test_a_schedule_is_made_changed_paused_resumed_and_deleted(api: Api) -> None:
    made = tool(api, "schedule", {"action": "create", "design": "known", "cron": "0 6 * * 1-5", "timezone": "Europe/Berlin"})
    assert (made["design"], made["enabled"], len(made["next_times"])) == ("known", True, 5)
    which = {"id": made["id"]}
    assert tool(api, "schedule", {"action": "update", **which, "cron": "@daily"})["cron"] == "@daily"
    assert tool(api, "schedule", {"action": "pause", **which})["next_times"] == []
    assert tool(api, "schedule", {"action": "resume", **which})["enabled"] is True
    assert [one["id"] for one in tool(api, "schedule", {"design": "known"})["schedules"]] == [made["id"]]
    assert tool(api, "schedule", {"action": "delete", **which})["deleted"] is True
    assert tool(api, "schedule")["schedules"] == []


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"action": "create", "design": "known"}, "cron"),
        ({"action": "create", "cron": "@daily"}, "design"),
        ({"action": "create", "design": "known", "cron": "* * *"}, "cron"),
        ({"action": "create", "design": "known", "cron": "@daily", "timezone": "Mars/Base"}, "timezone"),
        ({"action": "create", "design": "known", "cron": "@daily", "id": 1}, "id"),
        ({"action": "pause"}, "id"),
        ({"action": "list", "cron": "@daily"}, "cron"),
        ({"action": "stop"}, "action"),
        ({"action": "delete", "id": 2**64}, "id"),
    ],
)
def test_a_schedule_that_cannot_be_is_refused_by_field(api: Api, body: Any, says: str) -> None:
    assert says in error_of(tool(api, "schedule", body, status=400))


def test_a_bot_lets_no_schedule_send(api: Api) -> None:
    body = {"action": "create", "design": "known", "cron": "@daily"}
    error_of(tool(bot_api("start"), "schedule", body, status=403))
    bot = bot_api("start", "send", "design")
    error_of(tool(bot, "schedule", {**body, "may_send": True}, status=403))
    assert tool(bot, "schedule", body)["may_send"] is False
    error_of(tool(bot, "schedule", {"action": "delete", "id": 999}, status=404))


@pytest.mark.parametrize(
    ("role", "name", "body"),
    [(VIEWER, "run", {"name": "known"}), (OPERATOR, "save", {"name": "x", "document": DOCUMENT}), (OPERATOR, "delete", {"name": "known"})],
)
def test_rights_are_those_of_the_rest_api(api: Api, role: str, name: str, body: Any) -> None:
    error_of(tool(Api(b.person("somebody", role)), name, body, status=403))


def test_what_belongs_to_another_profile_does_not_exist(api: Api) -> None:
    b.saved(b.approval("review"), name="theirs", profile=a.closed_profile().name)
    run_id = b.begun(Design.objects.get(slug="theirs"))
    outsider = Api(b.person("dora", DESIGNER))
    for name, body in (
        ("get", {"name": "theirs"}),
        ("delete", {"name": "theirs"}),
        ("run", {"name": "theirs"}),
        ("run", {"retry": run_id}),
        ("runs", {"run_id": run_id}),
        ("respond", {"run_id": run_id, "node_id": "review", "answer": "approve"}),
    ):
        error_of(tool(outsider, name, body, status=404))
    assert [one["name"] for one in tool(outsider, "list")["designs"]] == ["known"]
    assert tool(outsider, "runs")["runs"] == []


@pytest.mark.parametrize("name", ["workflow_design_nothing", "workflow_design_run%00", "__class__", "..", "x" * 500])
def test_there_is_no_other_tool(api: Api, name: str) -> None:
    assert api.post(f"/api/tools/{name}/", {}, status=404)["ok"] is False


@pytest.mark.parametrize("bad", list(bad_inputs("json", kind="raw")), ids=lambda bad: bad.id)
@pytest.mark.parametrize("name", ["workflow_design_save", "workflow_design_run", "workflow_design_respond"])
def test_hostile_bodies_are_refused(api: Api, name: str, bad: Any) -> None:
    before = (Design.objects.count(), Run.objects.count())
    error_of(api("POST", f"/api/tools/{name}/", bad.value))
    assert api.sent.status_code in bad.status
    assert (Design.objects.count(), Run.objects.count()) == before


@pytest.mark.parametrize("bad", list(bad_inputs("mass-assignment")), ids=lambda bad: bad.id)
@pytest.mark.parametrize("name", NAMES)
def test_no_field_that_is_not_asked_for_is_taken(api: Api, name: str, bad: Any) -> None:
    known = schemas(api)[name]["parameters"]["properties"]
    extra = {field: value for field, value in bad.value.items() if field not in known}
    if extra:
        assert next(iter(extra)) in error_of(api.post(f"/api/tools/{name}/", {**FITTING[name], **extra}, status=400))


@pytest.mark.parametrize("bad", [bad for bad in bad_inputs("name", kind="field") if 201 not in bad.status], ids=lambda bad: bad.id)
def test_hostile_names_name_nothing(api: Api, bad: Any) -> None:
    assert tool(api, "save", {"name": bad.value, "document": DOCUMENT}, status=400)["ok"] is False
    for name in ("get", "delete", "run"):
        api.post(f"/api/tools/workflow_design_{name}/", {"name": bad.value}, status=None)
        assert api.sent.status_code in (400, 404)
    assert Design.objects.count() == 1


@pytest.mark.parametrize("bad", list(bad_inputs("id", kind="field")), ids=lambda bad: bad.id)
def test_hostile_ids_name_nothing(api: Api, bad: Any) -> None:
    for name, body in (("runs", {"run_id": bad.value}), ("run", {"retry": bad.value})):
        api.post(f"/api/tools/workflow_design_{name}/", body, status=None)
        assert api.sent.status_code in (400, 404), json.dumps(body)
