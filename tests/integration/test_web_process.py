"""The web process: what every response carries, who may open a socket, and what a request leaves behind."""

import asyncio
import urllib.error
import urllib.request
from email.message import Message

import pytest
import websockets

pytestmark = pytest.mark.django_db(transaction=True)

POLICY = "Content-Security-Policy"


def fetch(url: str, **headers: str) -> tuple[int, Message]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10) as answer:
            return answer.status, answer.headers
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code, refusal.headers


@pytest.mark.parametrize("path", ["/admin/login/", "/no-such-page/", "/static/hermes/missing.css"])
def test_every_response_says_what_a_browser_may_do(live_server_url, path):
    _, headers = fetch(live_server_url + path)
    assert "frame-ancestors 'none'" in headers[POLICY]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert headers["Server"] is None


def test_the_policy_is_loosened_in_the_admin_alone_and_never_for_inline_script(live_server_url, client):
    assert "unsafe" not in fetch(live_server_url + "/no-such-page/")[1][POLICY]
    rules = dict(rule.split(" ", 1) for rule in client.get("/admin/")[POLICY].split("; ") if " " in rule)
    assert rules["script-src"] == "'self' 'unsafe-eval'"


def test_a_static_file_is_served_whole(live_server_url):
    with urllib.request.urlopen(live_server_url + "/static/admin/css/base.css", timeout=10) as answer:
        assert len(answer.read()) == int(answer.headers["Content-Length"]) > 1000
        assert answer.headers["Access-Control-Allow-Origin"] is None


def test_a_part_of_a_static_file_can_be_asked_for(live_server_url):
    status, headers = fetch(live_server_url + "/static/admin/css/base.css", Range="bytes=0-9")
    assert (status, headers["Content-Length"]) == (206, "10")


def test_a_host_name_of_somebody_else_is_refused(live_server_url):
    assert fetch(live_server_url + "/admin/login/", Host="evil.example")[0] == 400


@pytest.mark.parametrize("origin", ["http://evil.example", "null", None])
def test_a_page_from_elsewhere_gets_no_socket(live_server_url, origin):
    async def knock() -> None:
        async with websockets.connect(live_server_url.replace("http", "ws") + "/ws/inbox/", origin=origin):
            pass

    with pytest.raises(websockets.exceptions.InvalidStatus) as refused:
        asyncio.run(knock())
    assert refused.value.response.status_code == 403
