"""Deliveries to channels against real servers: what is sent, what is said about it, and what is never followed."""

import hashlib
import hmac
import json
import socket
import threading
import time
from collections.abc import Iterator

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from hermes_workflow.models import Channel
from runs.seams import channel_apprise, channel_webhook, deliver
from runs.seams.deliver import Parcel, Receipt
from tests.bad_inputs import bad_inputs, plays

pytestmark = pytest.mark.django_db
SECRET = "s3cret-of-the-route"


def parcel(target: str, text: str = "the report", key: str = "workflow:ab12:tell:1") -> Parcel:
    """A text for a channel."""
    return Parcel("ab12", "tell", "channel", target, "Daily: tell", text, key)


def sent(target: str, text: str = "the report", **more: str) -> Receipt:
    """Its receipt."""
    return deliver.send(parcel(target, text, **more)).receipts[0]


@pytest.fixture
def hermes(httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> HTTPServer:
    """A Hermes Agent with a channel `agent` that leads to it."""
    monkeypatch.setenv("ROUTE_SECRET", SECRET)
    Channel.objects.create(platform="agent", kind="hermes", url=httpserver.url_for("").rstrip("/"), secret_env="ROUTE_SECRET")
    return httpserver


@pytest.fixture
def ntfy(httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> HTTPServer:
    """An ntfy server with a channel that leads to it."""
    monkeypatch.setenv("NTFY_TOKEN", "tk_0123456789abcdefghijklmnopqrs")
    url = f"ntfy://{{env:NTFY_TOKEN}}@{httpserver.host}:{httpserver.port}/{{chat_id}}"
    Channel.objects.create(platform="ntfy", url=url)
    return httpserver


def test_a_webhook_is_signed_and_says_that_it_delivered(hermes: HTTPServer):
    seen: list[Request] = []

    def take(request: Request) -> Response:
        seen.append(request)
        return Response(json.dumps({"status": "delivered"}), content_type="application/json")

    hermes.expect_request("/webhooks/reports", method="POST").respond_with_handler(take)
    assert sent("agent:reports") == Receipt("agent:reports", True, "delivered")
    request = seen[0]
    stamp = request.headers["X-Webhook-Timestamp"]
    proof = hmac.new(SECRET.encode(), f"{stamp}.".encode() + request.data, hashlib.sha256).hexdigest()
    assert request.headers["X-Webhook-Signature-V2"] == proof
    assert abs(time.time() - int(stamp)) < 60
    assert request.headers["X-Request-ID"] == "workflow:ab12:tell:1"
    assert request.json == {"title": "Daily: tell", "text": "the report", "run_id": "ab12", "node_id": "tell"}


def test_a_key_that_no_header_can_hold_becomes_its_digest(hermes: HTTPServer):
    hermes.expect_request("/webhooks/reports").respond_with_json({"status": "duplicate"})
    assert sent("agent:reports", key="workflow:ab12:größe:1").ok
    assert hermes.log[0][0].headers["X-Request-ID"].startswith("sha256:")


@pytest.mark.parametrize("status", [401, 404, 413, 429, 502, 500])
def test_a_refusal_is_a_receipt_that_says_so(hermes: HTTPServer, status: int):
    hermes.expect_request("/webhooks/reports").respond_with_data("no", status=status)
    receipt = sent("agent:reports")
    assert not receipt.ok
    assert str(status) in receipt.detail


def test_an_answer_of_200_that_says_nothing_of_a_delivery_is_none(hermes: HTTPServer):
    hermes.expect_request("/webhooks/reports").respond_with_data("<html>hello</html>")
    assert not sent("agent:reports").ok


@plays("D028")
def test_a_redirect_is_not_followed(hermes: HTTPServer):
    hermes.expect_request("/webhooks/reports").respond_with_data("", status=302, headers={"Location": hermes.url_for("/inside")})
    receipt = sent("agent:reports")
    assert (receipt.ok, "redirect" in receipt.detail) == (False, True)
    assert [request.path for request, _ in hermes.log] == ["/webhooks/reports"]


@pytest.fixture
def drip() -> Iterator[str]:
    """The address of a server whose answer never ends: one byte now and then."""
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
                while not stop.wait(0.05):
                    try:
                        connection.sendall(b" ")
                    except OSError:
                        return

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield "127.0.0.1:{1}".format(*listener.getsockname())
        stop.set()
        thread.join(5)


@plays("D029")
def test_a_webhook_that_drips_is_given_up(drip: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ROUTE_SECRET", SECRET)
    monkeypatch.setattr(channel_webhook, "SECONDS", 0.5)
    Channel.objects.create(platform="agent", kind="hermes", url=f"http://{drip}", secret_env="ROUTE_SECRET")
    began = time.monotonic()
    receipt = sent("agent:reports")
    assert not receipt.ok
    assert time.monotonic() - began < 5


@plays("D029")
def test_a_huge_answer_is_not_read(hermes: HTTPServer):
    hermes.expect_request("/webhooks/reports").respond_with_data("x" * 1_000_000)
    receipt = sent("agent:reports")
    assert (receipt.ok, "limit" in receipt.detail) == (False, True)


def test_a_service_gets_the_text_through_apprise(ntfy: HTTPServer):
    ntfy.expect_request("/").respond_with_json({"id": "1"})
    assert sent("ntfy:reports", "sums: 3") == Receipt("ntfy:reports", True, "sent")
    said = ntfy.log[0][0].json
    assert (said["topic"], said["title"], said["message"]) == ("reports", "Daily: tell", "sums: 3")


def test_a_service_that_refuses_is_quoted_without_the_secret(ntfy: HTTPServer):
    ntfy.expect_request("/").respond_with_json({"error": "bad token tk_0123456789abcdefghijklmnopqrs"}, status=403)
    receipt = sent("ntfy:reports")
    assert not receipt.ok
    assert "tk_0123456789" not in receipt.detail
    assert "403" in receipt.detail


def test_apprise_follows_no_redirect(ntfy: HTTPServer):
    ntfy.expect_request("/").respond_with_data("", status=307, headers={"Location": ntfy.url_for("/inside")})
    assert not sent("ntfy:reports").ok
    assert {request.path for request, _ in ntfy.log} == {"/"}


def test_a_service_that_drips_is_ended_with_its_process(drip: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(channel_apprise, "SECONDS", 3.0)
    Channel.objects.create(platform="ntfy", url=f"ntfy://{drip}/{{chat_id}}")
    began = time.monotonic()
    receipt = sent("ntfy:reports")
    assert (receipt.ok, "longer than 3 seconds" in receipt.detail) == (False, True)
    assert time.monotonic() - began < 10


def test_a_channel_that_is_absent_is_said():
    assert sent("telegram:1") == Receipt("telegram:1", False, "no channel is configured for telegram")


def test_a_secret_that_is_absent_is_said():
    Channel.objects.create(platform="telegram", url="tgram://{env:NO_SUCH_TOKEN}/{chat_id}")
    assert sent("telegram:1").detail == "the channel telegram needs the environment variable NO_SUCH_TOKEN, which is not set"


def test_a_channel_that_is_switched_off_is_said(ntfy: HTTPServer):
    Channel.objects.update(enabled=False)
    assert sent("ntfy:reports").detail == "the channel ntfy is switched off"
    assert ntfy.log == []


@pytest.mark.parametrize("bad", [entry.input for entry in bad_inputs("delivery", kind="field")])
def test_an_address_as_target_of_a_stored_design_is_a_receipt(ntfy: HTTPServer, bad: str):
    assert not sent(bad).ok
    assert not sent(f"ntfy:{bad}").ok
    assert ntfy.log == []


def test_a_text_that_is_silent_is_not_sent(ntfy: HTTPServer):
    receipt = sent("ntfy:reports", " [SILENT]\n")
    assert (receipt.ok, "nothing to send" in receipt.detail) == (True, True)
    assert ntfy.log == []
