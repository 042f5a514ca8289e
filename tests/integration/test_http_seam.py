"""A call over HTTP ends in time, within its size, and says what went wrong."""

import threading
import time
from datetime import UTC, datetime

import httpx2
import pytest

from runs.seams import http, http_faults
from runs.seams.answers import Unusable
from runs.seams.http import Leash, LetGo
from tests.model_server import Answer, ModelServer, cuts, drips, floods, hangs, model_server, refuses, sends

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.fixture
def model():
    with model_server() as model:
        yield model


def call(model: ModelServer, *answers: Answer, url: str = "", **leash) -> http.Reply | Unusable:
    """One call, or why it brought nothing."""
    model.does(*answers)
    tether = Leash.of(leash.pop("seconds", 10), **leash)
    try:
        with http.client(tether, base_url=url or model.url) as caller:
            reply = http.exchange(caller, "POST", "/things", json={})
    except (LetGo, httpx2.HTTPError, httpx2.InvalidURL) as error:
        return http_faults.of_call(error, tether)
    return reply if reply.status == 200 else http_faults.of_status(reply.status, reply.headers, reply.body, now=NOW)


def test_a_whole_answer_comes_back_as_it_is(model):
    reply = call(model, sends(b'{"ok": ', b"true}"))
    assert (reply.status, reply.body) == (200, b'{"ok": true}')
    assert "accept-encoding" not in model.seen[0].headers


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(hangs(), id="nothing at all"),
        pytest.param(hangs(head=True), id="nothing after the headers"),
        pytest.param(drips(b"HTTP/1.1 200 OK\r\nX-Long: " + b"a" * 10_000), id="headers drop by drop"),
        pytest.param(drips(b"HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n" + b"a" * 10_000, every=0.01), id="a body drop by drop"),
    ],
)
def test_a_server_that_takes_its_time_is_left_at_the_deadline(model, answer):
    began = time.monotonic()
    fault = call(model, answer, seconds=0.6)
    assert (fault.kind, fault.code) == ("timeout", "timeout")
    assert 0.5 < time.monotonic() - began < 3


def test_a_call_that_nobody_wants_any_more_hangs_up_at_once(model):
    unwanted = threading.Event()
    threading.Timer(0.3, unwanted.set).start()
    began = time.monotonic()
    assert call(model, hangs(head=True), cancelled=unwanted.is_set).kind == "cancelled_by_owner"
    assert time.monotonic() - began < 3
    assert model.hung_up.wait(5)


@pytest.mark.parametrize("limits", [{"body": 1000}, {"body": 10_000_000, "line": 5000}])
def test_a_huge_body_is_left_at_its_limit(model, limits):
    assert call(model, floods(b"x" * 700), **limits).kind == "output_too_large"
    assert model.hung_up.wait(5)


def test_a_packed_body_is_refused(model):
    fault = call(model, sends(b"\x1f\x8b", Content_Encoding="gzip"))
    assert (fault.kind, fault.code) == ("invalid_output", "encoding")


def test_a_body_that_is_cut_is_no_answer(model):
    assert call(model, cuts(b'{"half": ')).kind == "unreachable"


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:9/v1", "http://no-such-host.invalid/v1", "ftp://127.0.0.1/", "not an address", "http://[::1", "http://a:b:c/"]
)
def test_an_address_where_nothing_is_is_unreachable(model, url):
    assert call(model, sends(b""), url=url).kind == "unreachable"


def test_bytes_that_are_no_http_are_no_answer(model):
    def garbage(handler):
        handler.write(b"SSH-2.0-OpenSSH_9.2\r\n")
        handler.close_connection = True

    assert call(model, garbage).kind == "unreachable"


def test_a_redirect_is_never_followed(model):
    fault = call(model, sends(b"", status=302, Location=f"{model.url}/elsewhere"))
    assert (fault.kind, len(model.seen)) == ("unreachable", 1)


def test_no_proxy_is_taken_from_the_environment(model, monkeypatch):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert call(model, sends(b"here")).body == b"here"


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (400, "This model's maximum context length is 8192 tokens", "context_overflow"),
        (400, "prompt is too long: 210000 tokens > 200000 maximum", "context_overflow"),
        (400, "API key not valid. Please pass a valid API key.", "auth"),
        (400, "temperature must be at most 2", "performer_failed"),
        (401, "Incorrect API key provided", "auth"),
        (403, "no", "auth"),
        (404, "The model `huge-9` does not exist or you do not have access to it.", "model_unknown"),
        (404, "model 'huge-9' not found, try pulling it first", "model_unknown"),
        (404, "no route", "unreachable"),
        (408, "slow", "timeout"),
        (413, "too much", "context_overflow"),
        (429, "slow down", "rate_limited"),
        (500, "oops", "performer_failed"),
        (500, "RESOURCE_EXHAUSTED: quota exceeded", "rate_limited"),
        (502, "bad gateway", "unreachable"),
        (503, "loading", "unreachable"),
        (504, "gateway", "timeout"),
        (529, "overloaded", "rate_limited"),
    ],
)
def test_every_status_has_its_kind(model, status, message, kind):
    fault = call(model, refuses(status, message))
    assert (fault.kind, fault.code) == (kind, f"http_{status}")
    assert message in fault.msg


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", ""),
        (b"<html><body>502</body></html>", ""),
        (b"upstream\n  gone", "upstream gone"),
        (b'{"error": "busy"}', "busy"),
        (b'{"detail": "busy"}', "busy"),
        (b'{"error": {"message": 7, "code": "x"}}', "x"),
        (b'{"error": null}', ""),
        (b"[1]", ""),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b'{"error": {"message": "' + b"a" * 90_000 + b'"}}', None),
    ],
)
def test_the_words_of_an_error_are_found_whatever_its_shape(body, said):
    found = http_faults.words_in(body)
    assert found == said if said is not None else len(found) <= 300


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0),
        (" 7.5 ", 7.5),
        ("Mon, 30 Nov 2026 12:01:00 GMT", 60.0),
        ("Mon, 30 Nov 2026 11:00:00 GMT", 0.0),
        ("999999999", 86_400.0),
        ("", None),
        ("soon", None),
        ("-3", None),
        ("nan", None),
        ("1e9", None),
        ("99999999999999999999", None),
        ("Mon, 99 Nov 2026 12:01:00 GMT", None),
    ],
)
def test_a_wish_to_wait_is_seconds_or_a_date(header, seconds):
    assert http_faults.retry_after(header, now=NOW) == seconds


def test_a_failure_shows_no_secret(monkeypatch):
    monkeypatch.setenv("MY_API_KEY", "wxyz-12345678")
    unusable = Unusable("auth", "http_401", "key wxyz-12345678 and prompt-of-mine are wrong")
    failed = http_faults.failed(unusable, hidden=["prompt-of-mine"], endpoint="http://x/wxyz-12345678", model="", ms=3)
    assert failed.msg == "key [redacted] and [redacted] are wrong"
    assert failed.diagnostics == {"code": "http_401", "endpoint": "http://x/[redacted]", "ms": 3}


@pytest.mark.parametrize("text", ["workflow:ab:ä:1", "a b", "", "a" * 256, "a\nb"])
def test_what_cannot_stand_in_a_header_is_sent_as_its_digest(text):
    assert http.header_text(text).startswith("sha256:")
    assert http.header_text("workflow:ab:c:1") == "workflow:ab:c:1"
