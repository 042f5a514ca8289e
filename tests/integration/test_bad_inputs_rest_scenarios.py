"""Every hostile scenario that the REST API can meet is played, here or in the tests of uploads and of HTTP beside this."""

import re
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.db import connections

from approvals.models import Decision
from hermes_workflow.models import Design, Token
from hermes_workflow.rights import OPERATOR, REVIEWER
from runs.models import Event, Gate
from tests import builders
from tests.api import Api, error_of
from tests.bad_inputs import bad_inputs, plays
from tests.builders import agent, design
from tests.fakes import ScriptedPerformer, failed
from tests.integration.approvals_builders import bot
from tests.integration.test_bad_inputs_rest import AREAS

pytestmark = pytest.mark.django_db

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
    sources = "".join(file.read_text() for file in Path(__file__).parent.glob("test_bad_inputs_rest*.py"))
    played = set(re.findall(r"[A-Z]\d{3}", "".join(re.findall(r"@plays\((.*?)\)", sources))))
    assert {bad.id for bad in bad_inputs(*AREAS, kind="scenario")} == played | set(ELSEWHERE)
    assert not played & set(ELSEWHERE)


def at_once(count: int, call: Callable[[int], int]) -> Counter[int]:
    """The statuses that many threads got, each with its own connection."""

    def one(number: int) -> int:
        try:
            return call(number)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(count) as pool:
        return Counter(pool.map(one, range(count)))


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


def test_a_failed_run_says_why_without_a_trace(api: Api, performer: ScriptedPerformer) -> None:
    performer.does("a", failed("auth", "no key"))
    run = builders.ran(agent("a", retries=0), name="fails")
    shown = api.get(f"/api/runs/{run['run_id']}/")
    assert shown["error"].keys() == {"node_id", "msg", "kind", "hint"}
