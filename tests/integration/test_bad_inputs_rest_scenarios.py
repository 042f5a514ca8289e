"""Every hostile scenario that the REST API can meet, played; those it cannot are named with the reason."""

import base64
import json
import socket
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
import time_machine
from django.contrib.auth.models import User
from django.db import connection, connections
from django.test import Client
from django.utils import timezone

from approvals.models import Decision
from hermes_workflow.models import Attachment, Design, Token
from hermes_workflow.rights import OPERATOR, REVIEWER
from runs.models import Event, Gate, Run
from tests import builders
from tests.api import Api, error_of
from tests.bad_inputs import bad_inputs
from tests.builders import agent, approval, design
from tests.fakes import ScriptedPerformer, failed
from tests.integration.approvals_builders import bot
from tests.integration.test_bad_inputs_rest import AREAS

pytestmark = pytest.mark.django_db

COVERED: set[str] = set()
Test = Callable[..., None]


def plays(*ids: str) -> Callable[[Test], Test]:
    """These scenarios are played by the test."""
    COVERED.update(ids)
    return lambda test: test


ELSEWHERE = {
    "P016": "there are no signed links that answer",
    "H011": "the API makes no sessions; the sign-in page does",
    "H017": "no request reaches the task queue's rows; the queue holds ids only",
    "H018": "the API redirects nowhere",
    "O024": "a performer's failure, held by the tests of performers",
    "O025": "a performer's failure, held by the tests of performers",
    "O028": "a performer's failure, held by the tests of performers",
    "O031": "a performer's failure, held by the tests of performers",
    "O032": "a performer's failure, held by the tests of performers",
}


def test_every_scenario_is_played_or_named() -> None:
    known = {bad.id for bad in bad_inputs(*AREAS, kind="scenario")}
    assert known == COVERED | set(ELSEWHERE)
    assert not COVERED & set(ELSEWHERE)


@pytest.fixture
def api() -> Api:
    """Somebody who may do everything, and the design `known`."""
    builders.profile()
    builders.saved(approval("review", options=["yes", "no"]), name="known")
    return Api(builders.admin())


@pytest.fixture
def gate(api: Api) -> Gate:
    """An open gate with the options yes and no."""
    return Gate.objects.get(run_id=builders.begun(Design.objects.get()))


def at_once(count: int, call: Callable[[int], int]) -> Counter[int]:
    """The statuses that many threads got, each with its own connection."""

    def one(number: int) -> int:
        try:
            return call(number)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(count) as pool:
        return Counter(pool.map(one, range(count)))


# --- names, answers and retries -----------------------------------------------------------------------------------------


@plays("N018")
@pytest.mark.django_db(transaction=True)
def test_twenty_threads_create_one_name_once(api: Api) -> None:
    secret = api.headers["authorization"].removeprefix("Token ")

    def create(_: int) -> int:
        one = Api(secret=secret)
        one("POST", "/api/designs/", {"name": "race", "document": design(agent("a"))})
        return one.sent.status_code

    assert at_once(20, create) == {201: 1, 409: 19}
    assert Design.objects.get(slug="race").versions.count() == 1


@plays("P008")
@pytest.mark.django_db(transaction=True)
def test_fifty_threads_answer_one_gate_once(gate: Gate) -> None:
    apis = [Api(builders.person(f"person-{number}", REVIEWER)) for number in range(50)]
    losers: list[Any] = []

    def answer(number: int) -> int:
        said = apis[number]("POST", f"/api/gates/{gate.pk}/answer/", {"answer": "yes" if number % 2 else "no"})
        if apis[number].sent.status_code == 409:
            losers.append(said)
        return apis[number].sent.status_code

    assert at_once(50, answer) == {200: 1, 409: 49}
    winner = Decision.objects.get()
    assert {said["winner"] for said in losers} == {winner.by.get_username()}
    assert all(said["answered_at"] and said["error"]["code"] == "already_decided" for said in losers)
    assert Event.objects.filter(run_id=gate.run_id, type="gate.answered").count() == 1


@plays("P009")
def test_the_same_key_and_body_answer_once(api: Api, gate: Gate) -> None:
    path, body = f"/api/gates/{gate.pk}/answer/", {"answer": "yes"}
    first = api.post(path, body, **{"Idempotency-Key": "k1"})
    assert api.post(path, body, **{"Idempotency-Key": "k1"}) == first
    assert Decision.objects.count() == 1


@plays("P010")
def test_the_same_key_with_another_body_is_refused(api: Api, gate: Gate) -> None:
    path = f"/api/gates/{gate.pk}/answer/"
    api.post(path, {"answer": "yes"}, **{"Idempotency-Key": "k1"})
    assert api.post(path, {"answer": "no"}, status=409, **{"Idempotency-Key": "k1"})["error"]["code"] == "idempotency_key_reused"


@plays("P013")
def test_who_started_the_run_may_not_answer_when_duties_are_separate(gate: Gate, settings: Any) -> None:
    settings.HERMES_SEPARATE_DUTIES = True
    starter = builders.person("starter", OPERATOR, REVIEWER)
    mine = Gate.objects.get(run_id=builders.begun(Design.objects.get(), by=starter))
    api = Api(starter)
    assert "started this run" in error_of(api.post(f"/api/gates/{mine.pk}/answer/", {"answer": "yes"}, status=403))
    api.post(f"/api/runs/{mine.run_id}/respond/", {"node_id": "review", "answer": "yes"}, status=403)
    api.post(f"/api/gates/{gate.pk}/answer/", {"answer": "yes"})


@plays("P014")
def test_ids_that_do_not_agree_find_nothing(api: Api, gate: Gate) -> None:
    other = builders.begun(Design.objects.get())
    body = {"node_id": "review", "gate_id": gate.pk, "answer": "yes"}
    api.post(f"/api/runs/{other}/respond/", body, status=404)
    api.post(f"/api/runs/{gate.run_id}/respond/", {**body, "run_id": other}, status=400)
    api.post(f"/api/runs/{gate.run_id}/respond/", {"node_id": "nowhere", "answer": "yes"}, status=404)
    assert Decision.objects.count() == 0


@plays("P015")
def test_looking_at_a_gate_answers_nothing(api: Api, gate: Gate) -> None:
    for method, status in (("GET", 405), ("HEAD", 405), ("OPTIONS", 200)):
        assert api.client.generic(method, f"/api/gates/{gate.pk}/answer/?answer=yes", headers=api.headers).status_code in (status, 400)
    api.get(f"/api/gates/{gate.pk}/")
    gate.refresh_from_db()
    assert (gate.status, Decision.objects.count()) == ("open", 0)


@plays("P017")
def test_a_bot_s_token_never_answers(gate: Gate) -> None:
    who = bot()
    api = Api(secret=Token.objects.create(who.user, name="bot", bot=True)[1])
    assert "never decides" in error_of(api.post(f"/api/gates/{gate.pk}/answer/", {"answer": "yes"}, status=403))
    assert "never decides" in error_of(api.post(f"/api/runs/{gate.run_id}/respond/", {"node_id": "review", "answer": "yes"}, status=403))


@plays("P019")
def test_an_answer_to_what_was_shown_before_is_refused_with_what_is_shown_now(api: Api, gate: Gate) -> None:
    said = api.post(f"/api/gates/{gate.pk}/answer/", {"answer": "yes", "digest": "sha256:" + "0" * 64}, status=409)
    assert said["error"]["code"] == "stale"
    assert said["pending"]["digest"] == gate.digest


@plays("P021")
def test_only_a_failed_run_is_retried(api: Api, gate: Gate, performer: ScriptedPerformer) -> None:
    done = builders.ran(agent("a"), name="other")["run_id"]
    running = builders.started(agent("a"), name="third")
    for run_id, word in ((gate.run_id, "waits at review"), (running, "running"), (done, "done")):
        assert word in error_of(api.post(f"/api/runs/{run_id}/retry/", status=409))


# --- outputs --------------------------------------------------------------------------------------------------------------


@plays("O022")
def test_an_output_with_a_nul_is_refused(api: Api) -> None:
    run_id = builders.started(agent("a"), perform="caller")
    assert "NUL" in error_of(api.post(f"/api/runs/{run_id}/respond/", b'{"node_id":"a","output":"\\u0000"}', status=400))


@plays("O030")
@pytest.mark.parametrize("value", [0, False, "", {}, [], None])
@pytest.mark.parametrize("field", ["structured", "output"])
def test_what_is_empty_is_an_output_all_the_same(api: Api, field: str, value: Any) -> None:
    run_id = builders.started(agent("a"), perform="caller")
    answer = api.post(f"/api/runs/{run_id}/respond/", {"node_id": "a", field: value})
    assert (answer["status"], answer["outputs"]) == ("done", {"a": value})
    assert api.get(f"/api/runs/{run_id}/outputs/a/") == value


# --- files ----------------------------------------------------------------------------------------------------------------

BOUNDARY = "-----edge"


def part(name: str, content: bytes, filename: str = "") -> bytes:
    """One part of a form."""
    file = f'; filename="{filename}"' if filename else ""
    return f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n'.encode() + content + b"\r\n"


def upload(api: Api, *parts: bytes, status: int, end: bytes = f"--{BOUNDARY}--\r\n".encode(), boundary: str = BOUNDARY) -> Any:
    """Start `known` on a form."""
    content_type = f"multipart/form-data; boundary={boundary}" if boundary else "multipart/form-data"
    return api.post("/api/designs/known/run/", b"".join(parts) + end, status=status, content_type=content_type)


def test_a_text_file_becomes_the_input(api: Api) -> None:
    fields = part("file", "Käse\n".encode(), "dir/notes.txt"), part("input", b'{"lang": "de"}'), part("workflow_id", b"w-1")
    run = upload(api, *fields, status=201)
    assert run["input"] == {"text": "Käse\n", "filename": "notes.txt", "lang": "de"}
    assert run["workflow_id"] == "w-1"
    kept = Attachment.objects.get()
    assert (bytes(kept.content), kept.filename, kept.uploaded_by) == ("Käse\n".encode(), "notes.txt", User.objects.get(username="root"))


PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 50
FILES = {
    "U001": ("x.svg", b"<svg><script>alert(1)</script></svg>"),
    "U002": ("x.png", b"<html><script>alert(1)</script></html>"),
    "U003": ("x.png", PNG),
    "U005": ("x.zip", b"PK\x03\x04../../evil\x00"),
    "U006": ("many.zip", b"PK\x03\x04" + b"\xff" * 1000),
    "U008": ("empty.txt", b""),
    "U010": ("x.gif", b"GIF89a=1;alert(1)"),
}


@plays(*FILES)
@pytest.mark.parametrize("case", FILES)
@pytest.mark.parametrize("renamed", [False, True])
def test_a_file_that_is_no_text_is_refused(api: Api, case: str, renamed: bool) -> None:
    name, content = FILES[case]
    harmless = renamed and case in ("U001", "U002", "U010")  # nothing but text once the name says so
    answer = upload(api, part("file", content, "x.txt" if renamed else name), status=201 if harmless else 400)
    if not harmless:
        assert error_of(answer).startswith("file: ")
        assert (Run.objects.count(), Attachment.objects.count()) == (0, 0)


@plays("U011")
def test_a_file_is_never_named_by_json(api: Api) -> None:
    api.post("/api/designs/known/run/", {"files": {"f": {"filepath": "/etc/passwd"}}}, status=400)
    api.post("/api/designs/known/run/", {"file": {"filepath": "/etc/passwd"}}, status=400)
    api.post("/api/designs/known/run/", {"file": "/etc/passwd"}, status=400)


@plays("U012")
@pytest.mark.parametrize("filename", ["", "a.txt"])
def test_a_form_of_very_many_parts_is_refused(api: Api, filename: str) -> None:
    for count in (3_000, 100_000):
        assert "the form" in error_of(upload(api, *(part(f"f{number}", b"", filename) for number in range(count)), status=413))


@plays("U013")
@pytest.mark.parametrize("boundary", ["", "x" * 100_000, "a\tb"])
def test_a_form_without_a_usable_boundary_is_refused(api: Api, boundary: str) -> None:
    upload(api, part("file", b"text", "a.txt"), status=400, boundary=boundary)


@plays("U014")
def test_a_form_that_was_cut_off_is_refused(api: Api) -> None:
    whole = part("file", b"line\n" * 1000, "a.txt")
    upload(api, whole[: len(whole) // 2], end=b"", status=400)
    upload(api, whole, end=b"", status=400)
    assert (Run.objects.count(), Attachment.objects.count()) == (0, 0)


@plays("U015")
@pytest.mark.skipif(connection.vendor != "sqlite", reason="only SQLite can be told that the disk is full")
def test_a_full_disk_is_said_and_leaves_nothing(api: Api) -> None:
    with connection.cursor() as cursor:
        pages = cursor.execute("PRAGMA page_count").fetchone()[0]
        cursor.execute(f"PRAGMA max_page_count = {pages}")
        try:
            answer = upload(api, part("file", b"text " * 200_000, "a.txt"), status=503)
        finally:
            cursor.execute("PRAGMA max_page_count = 1073741823")
    assert answer["error"]["code"] == "unavailable"
    assert (Run.objects.count(), Attachment.objects.count()) == (0, 0)


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"a" * (1024 * 1024 + 1), "at most"), (b"\xff\xfea\x00", "UTF-8"), (b"a\x00b", "NUL"), (b" \n", "empty")],
)
def test_a_text_file_has_rules(api: Api, content: bytes, said: str) -> None:
    answer = upload(api, part("file", content, "a.txt"), status=413 if said == "at most" else 400)
    assert said in error_of(answer)


def test_a_form_has_no_field_twice_and_no_unknown_one(api: Api) -> None:
    file = part("file", b"text", "a.txt")
    upload(api, file, file, status=400)
    upload(api, file, part("status", b"done"), status=400)
    upload(api, file, part("other", b"text", "b.txt"), status=400)
    assert "comes from the file" in error_of(upload(api, file, part("input", b'{"text": "two"}'), status=400))


# --- HTTP -----------------------------------------------------------------------------------------------------------------


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
    """The first bytes that a server answers to raw bytes; empty when it hangs up."""
    host = urlsplit(url)
    with socket.create_connection((host.hostname, host.port), timeout=10) as wire:
        try:
            wire.sendall(request)
            return wire.recv(65_536)
        except ConnectionError:
            return b""


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


def test_a_failed_run_says_why_without_a_trace(api: Api, performer: ScriptedPerformer) -> None:
    performer.does("a", failed("auth", "no key"))
    run = builders.ran(agent("a", retries=0), name="fails")
    shown = api.get(f"/api/runs/{run['run_id']}/")
    assert shown["error"].keys() == {"node_id", "msg", "kind", "hint"}
