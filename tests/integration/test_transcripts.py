"""Transcripts: they grow while an agent writes, end with its attempt, go with the run, and are seen by those who see the run."""

import threading
import time

import pytest
from django.db import connection

from hermes_workflow.models import Profile
from runs import live, outbox, services, worker
from runs.models import Message, Run, Session
from runs.seams.base import Again, Failed, Performed
from runs.watching import look
from tests import builders as b
from tests.api import Api
from tests.fakes import text
from tests.model_server import hangs, model_server, refuses, says
from tests.pages import browser

pytestmark = pytest.mark.django_db(transaction=True)

SCHEMA = {"type": "object", "properties": {"risks": {"type": "integer"}}, "required": ["risks"]}


@pytest.fixture
def model():
    with model_server() as model:
        yield model


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(live, "EVERY", 0.0)


def models(endpoint) -> None:
    """Steps of the default profile are performed by the model at `endpoint`."""
    b.profile(performer=Profile.Performer.OPENAI, settings={"base_url": endpoint.url}, model="big-1")


def roles() -> list[tuple[str, str]]:
    return list(Message.objects.order_by("session_id", "number").values_list("role", "content"))


class Writer:
    """Writes what a test tells it to, and lets the test look in between."""

    keeps_transcript = True

    def __init__(self, *moves) -> None:
        self.moves = list(moves)

    def perform(self, assignment, *, cancelled, say):
        """Do the next move."""
        return self.moves.pop(0)(assignment, cancelled, say)


@pytest.fixture
def writes(monkeypatch):
    """`writes(move, …)`: what the performer of the default profile does, try by try."""

    def chosen(*moves):
        b.profile(performer="writer")
        monkeypatch.setitem(worker.assignments.PERFORMERS, "writer", Writer(*moves))

    return chosen


def test_a_model_performs_a_design_and_its_transcript_says_all(model):
    models(model)
    model.does(says("There are two."), says('{"risks": 2}'), says("Done."))
    run = b.ran(b.agent("draft", schema=SCHEMA, retries=0), b.condition("many", "out.draft.risks > 1"), b.agent("tell"))
    assert run["status"] == "done"
    assert run["outputs"]["draft"] == {"risks": 2}
    assert run["outputs"]["tell"] == "Done."
    assert [role for role, _ in roles()] == ["user", "assistant", "user", "assistant", "user", "assistant"]
    first, second = Api(b.admin()).get(f"/api/runs/{run['run_id']}/sessions/")["results"]
    assert (first["external_id"], first["live"], first["model"]) == ("chatcmpl-7", False, "big-1")
    assert first["usage"] == {"prompt_tokens": 24, "completion_tokens": 6, "total_tokens": 30}
    assert second["usage"]["total_tokens"] == 15


def test_a_limit_is_waited_out_and_each_try_has_its_transcript(model):
    models(model)
    model.does(refuses(429, "slow down", Retry_After="20"), says("fine"))
    run_id = b.started(b.agent("draft"))
    b.work(run_id)
    (failed,) = [event for event in b.events_of(run_id) if event.type == "step.failed"]
    assert (failed.data["kind"], failed.data["retry_after"]) == ("rate_limited", 20.0)
    run = b.document(run_id)
    assert (run["status"], run["attempts"]) == ("running", {"draft": 2})
    assert [role for role, _ in roles()] == ["user", "error"]


def test_what_a_model_writes_is_seen_while_it_writes(model):
    models(model)
    model.does(hangs(b'data: {"id": "c", "choices": [{"index": 0, "delta": {"content": "So far **good** <b>"}}]}\n\n'))
    run_id = b.started(b.agent("draft"))
    before = look([("run", run_id)])
    seen: dict[str, str] = {}

    def watch() -> None:
        until = time.monotonic() + 15
        while not Message.objects.filter(role="assistant").exists() and time.monotonic() < until:
            time.sleep(0.05)
        page = browser(b.admin())
        seen["run"] = page.get(f"/runs/{run_id}/").text
        seen["session"] = page.get(f"/sessions/{Session.objects.get().pk}/").text
        seen["list"] = page.get("/sessions/").text
        seen["api"] = Api(b.admin()).get(f"/api/runs/{run_id}/sessions/")["results"][0]
        seen["changed"] = look([("run", run_id)]) != before
        services.cancel_run(principal=b.admin(), run_id=run_id, reason="enough")
        connection.close()

    watcher = threading.Thread(target=watch)
    watcher.start()
    b.work(run_id)
    watcher.join(20)
    assert "Being written, not verified" in seen["run"]
    assert "So far **good** &lt;b&gt;" in seen["run"]
    assert "<strong>good</strong> &lt;b&gt;" in seen["session"]
    assert "Running" in seen["list"]
    assert (seen["api"]["live"], seen["api"]["messages"][1]["content"]) == (True, "So far **good** <b>")
    assert seen["changed"]
    assert model.hung_up.wait(5)
    page = browser(b.admin()).get(f"/sessions/{Session.objects.get().pk}/").text
    assert "Cancelled" in page
    assert "hx-trigger" not in page.partition('id="session-page"')[2].partition(">")[0]


def test_pieces_are_written_once_a_second_at_most_and_never_in_a_transaction(writes, monkeypatch):
    monkeypatch.setattr(live, "EVERY", 1.0)
    wrote: list[bool] = []
    monkeypatch.setattr(live.Live, "_write", lambda self: wrote.append(connection.in_atomic_block))

    def talk(assignment, cancelled, say):
        for _ in range(1000):
            say("word ")
        assert not cancelled()
        return text("word " * 1000)

    writes(talk)
    assert b.ran(b.agent("draft"))["status"] == "done"
    assert wrote == [False]


def test_the_last_piece_before_a_pause_is_written_too(writes):
    def talk(assignment, cancelled, say):
        live.EVERY = 60.0
        say("first ")
        say("second")
        live.EVERY = 0.0
        cancelled()
        assert Message.objects.get(number=2).content == "first second"
        return text("first second third")

    writes(talk)
    b.ran(b.agent("draft"))
    assert Message.objects.get(number=2).content == "first second third"


def test_a_writer_who_lost_its_attempt_writes_no_more(writes):
    def lose(assignment, cancelled, say):
        say("mine")
        outbox.Attempt.objects.update(fence=99)
        say(" and more")
        return text("too late")

    writes(lose)
    run_id = b.started(b.agent("draft"))
    worker.drain(run_id=run_id, seconds=0)
    assert Message.objects.get(number=2).content == "mine"
    assert Session.objects.get().ended_at is None


def test_an_attempt_that_is_taken_up_again_goes_on_where_its_transcript_was(writes):
    def begin(assignment, cancelled, say):
        say("The first ")
        return Again(0.0, "remote-1")

    def go_on(assignment, cancelled, say):
        assert assignment.ref == "remote-1"
        say("and the second.")
        assert Message.objects.get(number=2).content == "The first and the second."
        return Performed("All of it.", False, usage={"total_tokens": 5, "text": "no", "nan": float("nan")}, session="remote-1" * 100)

    writes(begin, go_on)
    assert b.ran(b.agent("draft"))["status"] == "done"
    assert [content for _, content in roles()][1:] == ["All of it."]
    session = Session.objects.get()
    assert (session.usage, len(session.external_id)) == ({"total_tokens": 5}, 255)


def test_a_transcript_that_cannot_be_written_costs_the_step_nothing(writes, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("no room")

    def talk(assignment, cancelled, say):
        say("something")
        return text("the answer")

    monkeypatch.setattr(live.transcripts, "write", broken)
    writes(talk)
    run = b.ran(b.agent("draft"))
    assert (run["status"], run["outputs"]["draft"]) == ("done", "the answer")
    assert not Session.objects.exists()


def test_a_failure_keeps_what_was_said_before_it(writes):
    def fail(assignment, cancelled, say):
        return Failed("invalid_output", "no JSON", "hint", said=(("assistant", "hm"),), usage={"total_tokens": 3}, session="c-1")

    writes(fail)
    run = b.ran(b.agent("draft"))
    assert [role for role, _ in roles()] == ["user", "assistant", "error"]
    page = browser(b.admin()).get(f"/runs/{run['run_id']}/").text
    assert "c-1" in page


def test_transcripts_go_with_their_run(writes):
    writes(lambda assignment, cancelled, say: text("x"))
    run_id = b.ran(b.agent("draft"))["run_id"]
    assert Session.objects.count() == 1
    Run.objects.filter(pk=run_id).update(status="purged")
    Run.objects.get(pk=run_id).delete()
    assert not Session.objects.exists()
    assert not Message.objects.exists()


def test_only_who_may_see_the_run_may_see_its_transcripts(writes):
    writes(*[lambda assignment, cancelled, say: text("the secret word")] * 2)
    b.ran(b.agent("draft"))
    Profile.objects.update(is_open=False)
    (session,) = Session.objects.all()
    stranger, admin = browser(b.person("sue", "viewer")), browser(b.admin())
    assert stranger.get(f"/sessions/{session.pk}/").status_code == 404
    assert "draft" not in stranger.get("/sessions/").text
    assert "the secret word" in admin.get(f"/sessions/{session.pk}/").text
    assert admin.get("/sessions/999999999999999999/").status_code == 404


def test_the_list_is_paged_and_filtered(writes, monkeypatch):
    monkeypatch.setattr("runs.session_pages.SIZE", 2)
    writes(*[lambda assignment, cancelled, say: text("x")] * 5)
    page = browser(b.admin())
    assert "No agent has said anything yet" in page.get("/sessions/").text
    runs = [b.ran(b.agent(f"step{number}"))["run_id"] for number in range(5)]
    numbers = list(Session.objects.order_by("-id").values_list("id", flat=True))

    def listed(query: str = "") -> list[int]:
        shown = page.get(f"/sessions/{query}").text
        return [number for number in numbers if f'href="/sessions/{number}/"' in shown]

    assert listed() == numbers[:2]
    assert listed(f"?before={numbers[1]}") == numbers[2:4]
    assert listed(f"?after={numbers[4]}") == numbers[2:4]
    assert listed(f"?run={runs[0]}") == [numbers[4]]
    assert listed("?profile=default") == numbers[:2]
    assert listed("?profile=other") == []
    assert listed(f"?run={'f' * 32}") == []
    assert listed("?run=%00") == []
    for wrong in ("?before=x", "?after=-1", "?before=%F0%9D%9F%99", "?before=9999999999999999999"):
        assert page.get(f"/sessions/{wrong}").status_code == 400


def test_what_agents_say_is_never_markup(writes):
    hostile = "<script>alert(1)</script> [x](javascript:alert(1)) ![i](http://evil/i.png) \u202e"
    writes(lambda assignment, cancelled, say: text(hostile))
    run_id = b.ran(b.agent("draft", prompt="<img src=x onerror=alert(1)>"))["run_id"]
    shown = browser(b.admin()).get(f"/sessions/{Session.objects.get().pk}/").text
    assert "<script>alert" not in shown
    assert "javascript:alert" not in shown.replace("(javascript:alert", "")
    assert "<img" not in shown
    assert "\u202e" not in shown
    assert run_id in shown
