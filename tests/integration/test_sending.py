"""The switch before anything leaves: a bot's run that sends needs the scope of its token and, per start, a person's word."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from hermes_workflow.models import Design
from hermes_workflow.rights import Principal
from hermes_workflow.tokens import issue_token
from runs import worker
from runs.models import Run
from tests import builders
from tests.api import Api
from tests.builders import agent, output
from tests.fakes import ScriptedPerformer, failed

pytestmark = pytest.mark.django_db
CHANNEL = {"deliver": "channel", "target": "telegram:-1001"}


@pytest.fixture
def daily(db: None, performer: ScriptedPerformer) -> Design:
    """A design that sends."""
    return builders.saved(agent("write"), output("tell", **CHANNEL), name="daily")


def bot(*scopes: str) -> Api:
    """A bot's client."""
    _, secret = issue_token(principal=builders.admin(), name="chat", bot=True, scopes=list(scopes) or None)
    return Api(secret=secret)


@pytest.mark.parametrize("scopes", [(), ("start",), ("start", "perform", "relay")])
def test_a_bot_without_the_scope_starts_no_run_that_sends(daily: Design, scopes: tuple[str, ...]):
    answer = bot(*scopes).post("/api/designs/daily/run/", {"confirm": True}, status=403)
    assert "send" in answer["error"]["hint"]
    assert not Run.objects.exists()


def test_a_bot_with_the_scope_needs_a_persons_word_each_time(daily: Design):
    chat = bot("start", "send")
    answer = chat.post("/api/designs/daily/run/", {}, status=409)
    assert (answer["error"]["code"], answer["targets"]) == ("confirmation_required", ["telegram:-1001"])
    assert "telegram:-1001" in answer["error"]["msg"]
    assert not Run.objects.exists()
    chat.post("/api/designs/daily/run/", {"confirm": True}, status=201)
    chat.post("/api/designs/daily/run/", {}, status=409)
    chat.post("/api/designs/daily/run/", {"confirm": "yes"}, status=400)


def test_a_word_repeated_under_its_key_is_one_run(daily: Design):
    chat = bot("start", "send")
    first = chat.post("/api/designs/daily/run/", {"confirm": True}, status=201, idempotency_key="k1")
    assert chat.post("/api/designs/daily/run/", {"confirm": True}, status=200, idempotency_key="k1")["run_id"] == first["run_id"]


def test_a_form_carries_the_word_too(daily: Design):
    chat = bot("start", "send")
    data = {"file": SimpleUploadedFile("a.txt", b"text"), "confirm": "true"}
    assert chat.client.post("/api/designs/daily/run/", data, headers=chat.headers).status_code == 201


def test_a_bots_run_that_tells_only_people_here_is_not_asked(performer: ScriptedPerformer):
    builders.saved(agent("write"), output("tell", deliver="notification", target="user:root"), name="quiet")
    bot("start").post("/api/designs/quiet/run/", {}, status=201)


def test_a_person_is_not_asked(daily: Design):
    Api(builders.person("ann", "operator")).post("/api/designs/daily/run/", {}, status=201)


def test_a_bot_that_retries_is_asked_as_well(daily: Design, performer: ScriptedPerformer):
    performer.does("write", failed())
    run_id = builders.begun(daily)
    builders.work(run_id)
    bot("operate").post(f"/api/runs/{run_id}/retry/", {"confirm": True}, status=403)
    chat = bot("operate", "send")
    assert chat.post(f"/api/runs/{run_id}/retry/", {}, status=409)["error"]["code"] == "confirmation_required"
    assert builders.document(run_id)["status"] == "failed"
    assert chat.post(f"/api/runs/{run_id}/retry/", {"confirm": True})["status"] == "running"


def test_a_token_says_what_it_may_send(daily: Design):
    token, _ = issue_token(principal=builders.admin(), name="all", bot=True)
    assert not Principal(token.user, token).may("send")
    assert Principal(token.user, token).may("start")


def test_an_absent_channel_is_a_receipt_and_the_run_is_done(daily: Design):
    run_id = builders.begun(daily)
    worker.drain(run_id=run_id)
    document: dict[str, Any] = builders.document(run_id)
    assert document["status"] == "done"
    assert document["deliveries"] == [
        {"node_id": "tell", "target": "telegram:-1001", "ok": False, "detail": "no channel is configured for telegram"}
    ]
