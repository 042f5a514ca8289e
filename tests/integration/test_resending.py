"""Sending a delivery again: under the same key, with a receipt of its own, and with the run as it was."""

from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from pytest_httpserver import HTTPServer

from hermes_workflow.core import events as e
from hermes_workflow.models import Channel
from hermes_workflow.tokens import issue_token
from runs import outbox, resending, services
from runs.models import Attempt, Delivery, Notice, Run
from tests import builders as b
from tests.api import Api
from tests.bad_inputs import plays
from tests.builders import agent, approval, output
from tests.fakes import ScriptedPerformer, failed, text

pytestmark = pytest.mark.django_db


@pytest.fixture
def hermes(httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch, performer: ScriptedPerformer) -> HTTPServer:
    """A Hermes Agent behind the channel `agent`."""
    monkeypatch.setenv("ROUTE_SECRET", "s3cret")
    Channel.objects.create(platform="agent", kind="hermes", url=httpserver.url_for("").rstrip("/"), secret_env="ROUTE_SECRET")
    return httpserver


def nodes() -> list[dict[str, Any]]:
    """A step and where its result goes."""
    return [agent("write"), output("tell", deliver="channel", target="agent:reports")]


def answering(hermes: HTTPServer, *statuses: int) -> None:
    """What the agent answers, one after the other."""
    for status in statuses:
        hermes.expect_ordered_request("/webhooks/reports").respond_with_json({"status": "delivered"}, status=status)


def resend(run_id: str, node_id: str = "tell", **more: Any) -> None:
    """Asked for by somebody who may."""
    resending.resend(principal=b.admin(), run_id=run_id, node_id=node_id, **more)


def receipts(run_id: str) -> list[tuple[int, bool]]:
    """Number and success of each."""
    return list(Delivery.objects.filter(run_id=run_id, key="tell").order_by("id").values_list("number", "ok"))


def keys(hermes: HTTPServer) -> list[str]:
    """The keys that the agent saw."""
    return [request.headers["X-Request-ID"] for request, _ in hermes.log]


def test_a_failed_delivery_of_a_finished_run_is_sent_again_under_its_key(hermes: HTTPServer):
    answering(hermes, 502, 200)
    run_id = b.started(*nodes())
    b.work(run_id)
    before = Run.objects.get(pk=run_id)
    resend(run_id)
    assert b.document(run_id)["status"] == "done"
    b.work(run_id)
    after = Run.objects.get(pk=run_id)
    assert (after.status, after.ended_at, after.error) == ("done", before.ended_at, None)
    assert receipts(run_id) == [(1, False), (2, True)]
    assert keys(hermes) == [f"workflow:{run_id}:tell:1"] * 2
    assert b.types_of(run_id)[-2:] == [e.DELIVERY_REQUESTED, e.DELIVERY_TRIED]
    assert Attempt.objects.get(run_id=run_id, key="tell", number=2).status == "done"
    call_command("reproject", run_id, check=True, verbosity=0)


def test_a_third_time_has_the_first_key_too(hermes: HTTPServer):
    answering(hermes, 200, 200, 200)
    run_id = b.started(*nodes())
    for _ in range(2):
        b.work(run_id)
        resend(run_id)
    b.work(run_id)
    assert receipts(run_id) == [(1, True), (2, True), (3, True)]
    assert len(set(keys(hermes))) == 1


def test_a_run_that_waits_stays_waiting(hermes: HTTPServer):
    answering(hermes, 502, 200)
    run_id = b.started(*nodes(), approval("review"))
    b.work(run_id)
    resend(run_id)
    assert b.document(run_id)["status"] == "awaiting_approval"
    b.work(run_id)
    assert receipts(run_id) == [(1, False), (2, True)]
    assert b.document(run_id)["status"] == "awaiting_approval"
    b.vote(run_id, "review", "approve")
    assert b.document(run_id)["status"] == "done"
    call_command("reproject", run_id, check=True, verbosity=0)


def test_a_failed_run_stays_failed_and_can_still_be_retried(hermes: HTTPServer, performer: ScriptedPerformer):
    answering(hermes, 502, 200)
    performer.does("after", failed())
    run_id = b.started(*nodes(), agent("after"))
    b.work(run_id)
    resend(run_id)
    services.retry_run(principal=b.admin(), run_id=run_id)
    b.work(run_id)
    assert b.document(run_id)["status"] == "done"
    assert receipts(run_id) == [(1, False), (2, True)]
    call_command("reproject", run_id, check=True, verbosity=0)


def test_what_is_being_sent_is_not_sent_beside_itself(hermes: HTTPServer):
    answering(hermes, 200)
    run_id = b.started(*nodes())
    b.work(run_id)
    resend(run_id, key="click")
    resend(run_id, key="click")
    with pytest.raises(resending.Conflict, match="being sent now"):
        resend(run_id, key="another click")
    assert Attempt.objects.filter(run_id=run_id, key="tell").count() == 2


def test_a_click_that_comes_late_again_sends_nothing_more(hermes: HTTPServer):
    answering(hermes, 200, 200)
    run_id = b.started(*nodes())
    b.work(run_id)
    resend(run_id, key="click")
    b.work(run_id)
    resend(run_id, key="click")
    b.work(run_id)
    assert receipts(run_id) == [(1, True), (2, True)]


@plays("D030")
def test_a_worker_that_dies_after_sending_has_it_sent_once_more_under_the_same_key(hermes: HTTPServer):
    answering(hermes, 200, 200)
    run_id = b.started(*nodes())
    b.work(run_id)
    resend(run_id)
    (lease,) = outbox.claim("doomed", run_id=run_id)
    Attempt.objects.filter(pk=lease.id).update(lease_until=lease.claimed_at)
    b.work(run_id)
    assert receipts(run_id) == [(1, True), (2, True)]
    assert len(set(keys(hermes))) == 1


def test_a_cancel_stops_what_is_not_sent_yet(hermes: HTTPServer):
    answering(hermes, 502)
    run_id = b.started(*nodes(), approval("review"))
    b.work(run_id)
    resend(run_id)
    services.cancel_run(principal=b.admin(), run_id=run_id)
    b.work(run_id)
    assert receipts(run_id) == [(1, False)]
    with pytest.raises(resending.Conflict, match="cancelled"):
        resend(run_id)
    call_command("reproject", run_id, check=True, verbosity=0)


def test_what_was_never_sent_is_not_sent_again(hermes: HTTPServer):
    run_id = b.started(*nodes())
    with pytest.raises(resending.Conflict, match="not been sent yet"):
        resend(run_id)
    for node in ("write", "nowhere", ""):
        with pytest.raises(resending.NotFound):
            resend(run_id, node)


def test_a_notice_that_is_sent_again_is_not_shown_twice(performer: ScriptedPerformer):
    performer.does("write", text("hello"))
    run_id = b.started(agent("write"), output("tell", deliver="notification", target="user:root"))
    b.work(run_id)
    resend(run_id)
    b.work(run_id)
    assert Notice.objects.count() == 1
    assert receipts(run_id) == [(1, True), (2, True)]


def test_the_api_sends_again_and_answers_with_the_run(hermes: HTTPServer):
    answering(hermes, 502, 200)
    run_id = b.started(*nodes())
    b.work(run_id)
    api, path = Api(b.person("ann", "operator")), f"/api/runs/{run_id}/deliveries/tell/resend/"
    for _ in range(2):
        assert api.post(path, {}, idempotency_key="once")["status"] == "done"
    b.work(run_id)
    assert [sent["ok"] for sent in api.get(f"/api/runs/{run_id}/")["deliveries"]] == [False, True]
    api.post(f"/api/runs/{run_id}/deliveries/nowhere/resend/", {}, status=404)
    api.post(path, {"target": "telegram:1"}, status=400)


def test_a_bot_sends_again_only_with_its_scope_and_a_persons_word(hermes: HTTPServer):
    answering(hermes, 502)
    run_id = b.started(*nodes())
    b.work(run_id)
    path = f"/api/runs/{run_id}/deliveries/tell/resend/"

    def bot(*scopes: str) -> Api:
        return Api(secret=issue_token(principal=b.admin(), name="chat", bot=True, scopes=list(scopes))[1])

    bot("operate").post(path, {"confirm": True}, status=403)
    assert bot("operate", "send").post(path, {}, status=409)["error"]["code"] == "confirmation_required"
    bot("operate", "send").post(path, {"confirm": True})


def test_the_page_offers_it_to_who_may(hermes: HTTPServer):
    answering(hermes, 502, 200)
    run_id = b.started(*nodes())
    b.work(run_id)
    operator, viewer = Client(), Client()
    operator.force_login(b.person("ann", "operator").user)
    viewer.force_login(b.person("vic", "viewer").user)
    assert b"Send again" in operator.get(f"/runs/{run_id}/").content
    assert b"Send again" not in viewer.get(f"/runs/{run_id}/").content
    fields = {"node_id": "tell", "idempotency_key": "button"}
    assert viewer.post(f"/runs/{run_id}/resend/", fields).status_code == 403
    for _ in range(2):
        assert operator.post(f"/runs/{run_id}/resend/", fields).status_code == 302
    page = operator.get(f"/runs/{run_id}/").content
    assert b"being sent again" in page
    assert b"Send again" not in page
    b.work(run_id)
    assert b"Delivered to" in operator.get(f"/runs/{run_id}/").content
    assert operator.post(f"/runs/{run_id}/resend/", {"node_id": "x\x00"}).status_code in (400, 404)
