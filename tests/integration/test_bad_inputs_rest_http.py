"""Hostile HTTP at the REST API: hosts, headers, credentials, addresses and bodies out of measure."""

import base64
import json
import socket
from datetime import timedelta
from urllib.parse import urlsplit

import pytest
import time_machine
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from hermes_workflow.models import Token
from tests import builders
from tests.api import Api, error_of
from tests.bad_inputs import plays

pytestmark = pytest.mark.django_db


@plays("H001")
def test_another_host_name_is_refused_in_json(api: Api) -> None:
    assert error_of(api.get("/api/runs/", status=400, host="evil.test"))


@plays("H006")
@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "", "application/jsonp"])
def test_only_json_is_read(api: Api, content_type: str) -> None:
    answer = api.post("/api/designs/", json.dumps({"name": "x"}).encode(), status=415, content_type=content_type)
    assert answer["error"]["code"] == "unsupported_media_type"


@plays("H008")
@pytest.mark.parametrize("scheme", ["Token", "Bearer", "Basic", "token"])
@pytest.mark.parametrize("secret", ["", "abc", "a b", "x" * 1_000_000, "tökén", "%00", "0" * 64])
def test_a_wrong_token_is_401(scheme: str, secret: str) -> None:
    answer = Api().get("/api/runs/", status=401, authorization=f"{scheme} {secret}".encode().decode("latin-1"))
    assert answer["error"]["code"] == "unauthenticated"


def test_a_revoked_and_an_expired_token_are_refused_in_the_same_words(api: Api) -> None:
    with time_machine.travel(timezone.now() + timedelta(days=400)):
        expired = api.get("/api/runs/", status=401)
    Token.objects.all().delete()
    assert api.get("/api/runs/", status=401) == expired


@plays("H009")
def test_a_token_in_the_address_is_ignored(api: Api) -> None:
    secret = api.headers["authorization"].removeprefix("Token ")
    for name in ("token", "access_token", "api_key", "authorization"):
        Api().get(f"/api/runs/?{name}={secret}", status=401)


def basic(name: str, password: str) -> str:
    """The header of HTTP Basic."""
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


@plays("H002", "H010")
@pytest.mark.parametrize("name", ["ann", "nobody-of-that-name"])
def test_guessing_a_password_is_locked_and_a_spoofed_address_does_not_help(name: str) -> None:
    User.objects.create_user("ann", password="right")
    statuses, answers = [], []
    for number in range(8):
        api = Api()
        spoofed = {"x-forwarded-for": f"10.0.0.{number}", "authorization": basic(name, "wrong")}
        answers.append(api.post("/api/tokens/", {"name": "x"}, status=None, **spoofed))
        statuses.append(api.sent.status_code)
    assert (statuses[0], statuses[-1]) == (401, 429)
    assert answers[0]["error"]["msg"] == "wrong name or password"
    assert answers[-1]["error"]["code"] == "too_many_requests"
    api.post("/api/tokens/", {"name": "x"}, status=429, authorization=basic(name, "right"))


@pytest.mark.parametrize("name", ["a\x00b", "x" * 10_000, "", "ä" * 200])
def test_a_name_that_can_be_nobody_s_is_401(name: str) -> None:
    Api().post("/api/tokens/", {"name": "x"}, status=401, authorization=basic(name, "x"))
    Api().post("/api/tokens/", {"name": "x"}, status=401, authorization=basic("ann", "x\x00"))


@plays("H012")
def test_a_cookie_is_useless_after_logout_a_new_password_or_a_disabled_user() -> None:
    user = builders.person("ann", "viewer").user

    def signed_in() -> Client:
        client = Client()
        client.force_login(user)
        assert client.get("/api/runs/").status_code == 200
        return client

    left, changed, disabled = signed_in(), signed_in(), signed_in()
    cookies = left.cookies.output()
    left.logout()
    assert cookies
    user.set_password("another")
    user.save()
    assert (left.get("/api/runs/").status_code, changed.get("/api/runs/").status_code) == (401, 401)
    user.is_active = False
    user.save()
    assert disabled.get("/api/runs/").status_code == 401


@plays("H013")
@pytest.mark.parametrize(
    "path",
    [
        "/api//runs/",
        "/api/./runs/",
        "/api/%2e%2e/admin/",
        "/api/runs/;x",
        "/api/runs/%00",
        "/api/%C0%AE/",
        "/api/",
        "/api/no-such/",
        "/api/runs.json",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "PATCH"])
def test_a_strange_address_is_404_in_json(api: Api, path: str, method: str) -> None:
    answer = api(method, path)
    assert api.sent.status_code in (404, 400, 405)
    assert error_of(answer)


def exchange(url: str, request: bytes) -> bytes:
    """What a server answers to raw bytes until it falls silent or hangs up; empty when it hangs up at once."""
    host = urlsplit(url)
    with socket.create_connection((host.hostname, host.port), timeout=10) as wire:
        found = b""
        try:
            wire.sendall(request)
            while part := wire.recv(65_536):
                found += part
                wire.settimeout(1)
        except (ConnectionError, TimeoutError):
            pass
        return found


@plays("H003", "H004", "H016")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("headers", "body"),
    [
        (b"X-Same: 1\r\n" * 10_000, b""),
        (b"Cookie: " + b"a" * 65_536 + b"\r\n", b""),
        (b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\nContent-Type: application/json\r\n", b"0\r\n\r\n"),
    ],
)
def test_headers_out_of_measure_end_in_a_refusal(live_server_url: str, headers: bytes, body: bytes) -> None:
    answer = exchange(live_server_url, b"POST /api/runs/ HTTP/1.1\r\nHost: localhost\r\n" + headers + b"\r\n" + body)
    assert answer == b"" or answer.split(b" ", 2)[1] in (b"400", b"401", b"405", b"431")
    assert exchange(live_server_url, b"GET /api/runs/ HTTP/1.1\r\nHost: localhost\r\n\r\n").split(b" ", 2)[1] == b"401"


@pytest.mark.django_db(transaction=True)
def test_a_body_sent_in_chunks_is_read(live_server_url: str) -> None:
    user = builders.admin()
    builders.profile()
    secret = Token.objects.create(user.user, name="x")[1].encode()
    body = json.dumps({"document": {"nodes": []}}).encode()
    head = b"POST /api/designs/validate/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
    chunked = b"Transfer-Encoding: chunked\r\n\r\n" + f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n"
    answer = exchange(live_server_url, head + b"Authorization: Token " + secret + b"\r\n" + chunked)
    assert b'"defects":[{' in answer, answer


def test_a_session_needs_its_csrf_token() -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(builders.admin().user)
    answer = client.post("/api/designs/validate/", {"document": {}}, content_type="application/json")
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "csrf")
