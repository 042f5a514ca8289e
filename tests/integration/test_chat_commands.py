"""Commands typed in a chat, by people, by bots, and by people through bots."""

import re
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from approvals.check_codes import check_code
from approvals.models import Decision
from hermes_workflow.models import Channel, Design, Preference, Token
from hermes_workflow.rights import OPERATOR, REVIEWER, VIEWER, Principal
from runs.models import Gate, Run
from tests import builders as b
from tests.api import Api, error_of
from tests.bad_inputs import bad_inputs
from tests.fakes import ScriptedPerformer, failed
from tests.integration import approvals_builders as a

pytestmark = pytest.mark.django_db


def say(api: Api, text: str, *, status: int = 200, message: str = "m-1", by: str = "", **headers: str) -> Any:
    """Type a command; `by` is the chat account behind the bot."""
    source = {"source": {"channel": "telegram", "external_id": by, "message_id": message}} if by else {}
    answer = api.post("/api/chat/command/", {"text": f"/workflow {text}", **source}, status=status, **headers)
    assert answer["text"]
    assert "Traceback" not in answer["text"]
    return answer


def robot(*scopes: str) -> Api:
    _, secret = Token.objects.create(a.bot().user, name="chat", bot=True, scopes=["read", *scopes] if scopes else [])
    return Api(secret=secret)


@pytest.fixture
def ann(api: Api) -> Principal:
    """Starts and answers, and has a chat account."""
    who = b.person("ann", REVIEWER, OPERATOR)
    a.linked(who, "tg-ann")
    return who


def code_in(text: str) -> str:
    return re.findall(r"#([0-9a-f]{6})", text)[0]


def test_help_says_how_commands_are_written(api: Api) -> None:
    assert "/workflow run [--confirm] retry <run>" in say(api, "help")["text"]
    assert say(robot(), "", by="nobody")["text"].startswith("/workflow list")


def test_designs_are_listed_and_started_on_text_or_json(api: Api) -> None:
    assert say(api, "list")["text"] == "known"
    found = say(api, 'run known {"a": 1}')["data"]
    assert (found["input"], found["origin"], found["status"]) == ({"a": 1}, "chat", "awaiting_approval")
    assert say(api, "run Known Dear Sir,\nhello")["data"]["input"] == {"text": "Dear Sir,\nhello"}
    assert len(say(api, "runs")["text"].splitlines()) == 2
    error_of(say(api, "run unknown", status=404))


def test_status_shows_what_is_asked_and_the_lines_that_answer(api: Api, gate: Gate) -> None:
    text = say(api, f"status {gate.run_id[:6].upper()}")["text"]
    assert "> review?" in text
    assert f"/workflow answer {gate.run_id[:8]} yes #{check_code(gate)}" in text


def test_a_person_answers_the_one_gate_of_a_run(api: Api, gate: Gate, ann: Principal) -> None:
    said = say(Api(ann), f"answer {gate.run_id[:8]} yes well put")
    assert said["text"].startswith("Recorded: yes for review.")
    decision = Decision.objects.get()
    assert (decision.by, decision.answer, decision.comment, decision.digest_seen) == (ann.user, "yes", "well put", gate.digest)


def test_a_session_types_commands_too(gate: Gate, ann: Principal) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(ann.user, backend="django.contrib.auth.backends.ModelBackend")
    body = {"text": f"/workflow answer {gate.run_id[:8]} no"}
    assert client.post("/api/chat/command/", body, content_type="application/json").status_code == 403
    token = re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', client.get("/account/").text)[0]
    done = client.post("/api/chat/command/", body, content_type="application/json", headers={"X-CSRFToken": token})
    assert done.status_code == 200
    assert Decision.objects.get().answer == "no"


def test_a_relayed_answer_needs_the_code_of_what_was_shown(gate: Gate, ann: Principal) -> None:
    bot = robot("relay")
    refused = say(bot, f"answer {gate.run_id[:8]} yes", by="tg-ann", status=409)
    assert refused["error"]["code"] == "check_code_required"
    assert "> review?" in refused["text"]
    assert not Decision.objects.exists()
    said = say(bot, f"answer {gate.run_id[:8]} yes #{code_in(refused['text'])} fine", by="tg-ann")
    assert said["data"]["status"] == "done"
    decision = Decision.objects.get()
    assert (decision.on_behalf_of, decision.channel, decision.comment) == (ann.user, "telegram", "fine")
    again = say(bot, f"answer {gate.run_id[:8]} yes #{check_code(gate)} fine", by="tg-ann")
    assert again["data"]["status"] == "done"
    later = say(bot, f"answer {gate.run_id[:8]} yes", by="tg-ann", status=409, message="m-2")
    assert "Already answered yes by ann" in later["text"]
    assert Decision.objects.count() == 1


def test_a_code_of_something_else_shows_what_is_asked_now(gate: Gate, ann: Principal) -> None:
    for code in ("000000", "xyz", "é" * 6, "0" * 200):
        refused = say(robot("relay"), f"answer {gate.run_id[:8]} yes #{code}", by="tg-ann", status=409)
        assert refused["error"]["code"] == "stale"
        assert check_code(gate) in refused["text"]
    assert not Decision.objects.exists()


def test_what_changed_since_it_was_shown_is_not_answered(api: Api, ann: Principal) -> None:
    run_id = b.started(b.approval("review", timeout_minutes=1), name="timed")
    first = Gate.objects.get(run_id=run_id)
    with time_machine.travel(timezone.now() + timedelta(minutes=2)):
        b.read(run_id)
        say(api, f"run retry {run_id}")
        second = Gate.objects.get(run_id=run_id, status="open")
        refused = say(robot("relay"), f"answer {run_id} approve #{check_code(first)}", by="tg-ann", status=409)
        assert refused["error"]["code"] == "stale"
        assert check_code(second) in refused["text"]
        assert check_code(second) != check_code(first)
        assert say(robot("relay"), f"answer {run_id} approve #{check_code(second)}", by="tg-ann")["data"]["status"] == "done"


def test_two_gates_are_told_apart_by_their_codes(api: Api, ann: Principal) -> None:
    left = a.parked()
    right = Gate.objects.get(pk=left.pk)
    right.pk, right.key = None, "right"
    right.save(force_insert=True)
    for row in left.audiences.all():
        right.audiences.create(audience=row.audience, waiting_since=row.waiting_since, open=True)
    refused = say(Api(ann), f"answer {left.run_id} approve", status=409)
    assert check_code(left) in refused["text"]
    assert check_code(right) in refused["text"]
    say(Api(ann), f"answer {left.run_id} approve #{check_code(left).upper()}")
    assert [gate.key for gate in Gate.objects.filter(run_id=left.run_id, status="answered")] == ["review"]


def test_votes_are_counted_aloud(api: Api, ann: Principal) -> None:
    gate = a.parked(quorum=2)
    said = say(robot("relay"), f"answer {gate.run_id} approve #{check_code(gate)}", by="tg-ann")
    assert "Recorded: approve" in said["text"]
    assert "You have answered already." in said["text"]
    again = say(robot("relay"), f"answer {gate.run_id} approve #{check_code(gate)}", by="tg-ann", message="m-2", status=409)
    assert "you have already answered approve" in again["error"]["msg"]


def test_a_bot_decides_nothing_by_itself(gate: Gate) -> None:
    for line in (f"answer {gate.run_id} yes", f"answer {gate.run_id} yes #{check_code(gate)}"):
        assert "never decides" in error_of(say(robot(), line, status=403))
    assert not Decision.objects.exists()


def test_an_account_that_nobody_confirmed_does_nothing_and_is_told_how(gate: Gate) -> None:
    bot = robot("start", "relay")
    for line in ("list", "runs", "run known", f"status {gate.run_id}", f"answer {gate.run_id} yes", f"run retry {gate.run_id}"):
        refused = say(bot, line, by="tg-stranger", status=403)
        assert refused["link"]["url"].startswith("/account/link/?code=")
        assert "http://testserver/account/" in refused["text"]
    assert Run.objects.count() == 1
    assert "confirm that this account is yours" in say(bot, "link", by="tg-stranger")["text"]


def test_a_source_from_anyone_but_a_bot_is_refused(gate: Gate, ann: Principal) -> None:
    for line in ("list", "link", "link ABCD-EFGH", f"answer {gate.run_id} yes"):
        assert "source" in error_of(say(Api(ann), line, by="tg-ann", status=400))
    assert "source" in error_of(say(Api(ann), "link ABCD-EFGH", status=400))


def test_a_bot_that_may_not_relay_passes_nothing_on(gate: Gate, ann: Principal) -> None:
    for line in ("list", "link", "link ABCD-EFGH", f"answer {gate.run_id} yes #{check_code(gate)}"):
        error_of(say(robot("start"), line, by="tg-ann", status=403))


def test_a_message_starts_one_run_which_is_the_persons(api: Api, ann: Principal) -> None:
    bot = robot("relay")
    first, second = (say(bot, "run known hello", by="tg-ann") for _ in range(2))
    assert first["data"]["run_id"] == second["data"]["run_id"]
    assert second["text"].startswith("Started already")
    assert Run.objects.get().started_by == ann.user
    error_of(say(bot, "run known other", by="tg-ann", status=409))
    say(bot, "run known other", by="tg-ann", message="m-2")
    assert Run.objects.count() == 2


def test_the_persons_rights_count_whatever_the_bot_may(api: Api, gate: Gate) -> None:
    a.linked(b.person("vic", VIEWER), "tg-vic")
    bot = robot("start", "perform", "relay", "operate")
    assert say(bot, "list", by="tg-vic")["text"] == "known"
    error_of(say(bot, "run known", by="tg-vic", status=403))
    error_of(say(bot, f"answer {gate.run_id} yes #{check_code(gate)}", by="tg-vic", status=403))
    assert "Answering needs the role reviewer" in say(bot, f"status {gate.run_id}", by="tg-vic")["text"]


def test_a_bot_repeats_nothing_of_a_profile_it_is_not_in(api: Api, ann: Principal) -> None:
    secret = a.closed_profile(ann)
    b.saved(b.approval("review"), name="theirs", profile=secret.name)
    run_id = b.begun(Design.objects.get(slug="theirs"))
    bot = robot("relay")
    assert "theirs" in say(Api(ann), "list")["text"]
    assert "theirs" not in say(bot, "list", by="tg-ann")["text"]
    gate = Gate.objects.get(run_id=run_id)
    for line in (f"status {run_id}", "run theirs", f"answer {run_id} approve #{check_code(gate)}"):
        error_of(say(bot, line, by="tg-ann", status=404))
    secret.members.add(a.bot().user)
    assert say(bot, f"answer {run_id} approve #{check_code(gate)}", by="tg-ann")["data"]["status"] == "done"


def test_a_gate_for_the_site_says_where(api: Api, ann: Principal) -> None:
    gate = a.parked(relay=False)
    text = say(robot("relay"), f"status {gate.run_id}", by="tg-ann")["text"]
    assert f"http://testserver/inbox/{gate.pk}/" in text
    assert "/workflow answer" not in text
    error_of(say(robot("relay"), f"answer {gate.run_id} approve #{check_code(gate)}", by="tg-ann", status=403))


def test_a_failed_run_is_retried_by_its_beginning(api: Api, ann: Principal, performer: ScriptedPerformer) -> None:
    performer.does("draft", failed())
    run_id = b.started(b.agent("draft", retries=0), name="fails")
    b.work(run_id)
    text = say(robot("relay"), f"status {run_id[:6]}", by="tg-ann")["text"]
    assert "Failed at draft" in text
    said = say(robot("relay"), text.splitlines()[-1].removeprefix("/workflow "), by="tg-ann")
    assert said["data"]["status"] == "running"
    b.work(run_id)
    assert "> " in say(api, f"status {run_id}")["text"]


def test_a_beginning_that_two_runs_share_is_refused_with_both(api: Api, gate: Gate) -> None:
    other = b.begun(Design.objects.get())
    same = "abcdef" + gate.run_id[6:12]
    Run.objects.filter(pk=other).update(workflow_id="letter:42")
    assert say(api, "status letter:42")["data"]["run_id"] == other
    first = Run.objects.get(pk=gate.run_id)
    for number in range(7):
        Run.objects.create(
            id=f"{same}{number:020d}",
            design=first.design,
            version=first.version,
            profile=first.profile,
            plan_id=first.plan_id,
            origin="api",
            created_at=first.created_at,
            updated_at=first.updated_at,
        )
    refused = say(api, f"status {same}", status=409)
    assert refused["run_ids"]
    assert refused["run_ids"][0] in refused["text"]
    error_of(say(api, f"status {gate.run_id[:5]}", status=404))


def test_what_sends_needs_the_bots_scope_and_the_persons_word(api: Api, ann: Principal) -> None:
    Channel.objects.create(platform="telegram", url="tgram://{env:TELEGRAM_TOKEN}/{chat_id}")
    b.saved(b.approval("review"), b.output("out", deliver="channel", target="telegram:1"), name="sends")
    error_of(say(robot("start", "relay"), "run sends", by="tg-ann", status=403))
    bot = robot("start", "relay", "send")
    refused = say(bot, "run sends hello", by="tg-ann", status=409)
    assert "telegram:1" in refused["text"]
    assert "--confirm" in refused["text"]
    assert not Run.objects.exists()
    assert say(bot, "run --confirm sends hello", by="tg-ann")["data"]["status"] == "awaiting_approval"
    assert say(Api(ann), "run sends")["data"]["status"] == "awaiting_approval"


def test_times_are_the_readers(api: Api, ann: Principal) -> None:
    Preference.objects.create(user=ann.user, timezone="Asia/Tokyo")
    with time_machine.travel("2026-11-30T12:00:00Z", tick=False):
        run_id = b.started(b.approval("review", timeout_minutes=30), name="timed")
        assert "21:30" in say(robot("relay"), f"status {run_id}", by="tg-ann")["text"]


@pytest.mark.parametrize("bad", list(bad_inputs("json", kind="raw")), ids=lambda bad: bad.id)
def test_hostile_bodies_are_refused(api: Api, bad: Any) -> None:
    error_of(api("POST", "/api/chat/command/", bad.value))
    assert api.sent.status_code in bad.status


@pytest.mark.parametrize("bad", list(bad_inputs("mass-assignment")), ids=lambda bad: bad.id)
def test_no_other_field_is_taken(api: Api, bad: Any) -> None:
    answer = api.post("/api/chat/command/", {"text": "/workflow help", **bad.value}, status=400)
    assert next(iter(bad.value)) in error_of(answer)


@pytest.mark.parametrize("bad", [*bad_inputs("id", kind="field"), *bad_inputs("name", kind="field")], ids=lambda bad: bad.id)
@pytest.mark.parametrize("verb", ["status", "run retry", "run", "answer"])
def test_hostile_words_name_nothing(api: Api, verb: str, bad: Any) -> None:
    word = bad.value if isinstance(bad.value, str) else str(bad.value)
    answer = api.post("/api/chat/command/", {"text": f'/workflow {verb} "{word}" approve'.replace("\x00", "")}, status=None)
    assert api.sent.status_code in (400, 404)
    assert answer["text"]
    assert not Run.objects.exists()


@pytest.mark.parametrize("text", [None, 5, [], {}, "", "x" * 200_001, "\ud800"])
def test_text_is_text(api: Api, text: Any) -> None:
    error_of(api.post("/api/chat/command/", {"text": text}, status=400))
