"""Runs of canvas workflows: branches at work at the same time, failures, going on, and what each step is told."""

import threading
import time
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.utils import timezone

from hermes_workflow.core import events as e
from hermes_workflow.core.errors import Conflict, Forbidden, Malformed
from hermes_workflow.core.events import Event
from hermes_workflow.models import Profile
from runs import crew, engine, heartbeat, outbox, projections, pulse, reruns, services, starts, tasks, worker
from runs.crew import Crew
from runs.engine import Turn
from runs.models import Attempt, Run
from runs.seams.base import Assignment, Failed, Outcome, Performed
from runs.tries import tries_of
from tests import builders as b
from tests import canvas as c
from tests.fakes import ScriptedPerformer, failed, structured, text
from tests.processes import eventually

pytestmark = pytest.mark.django_db(transaction=True)

SOON = 15.0


class Together:
    """Performs a step once it may: `let_go` names the steps that do not wait, and `at_work` those that were begun."""

    keeps_transcript = False

    def __init__(self) -> None:
        self.let_go: set[str] = set()
        self.at_work: list[str] = []

    def perform(self, assignment: Assignment, *, cancelled, say=None) -> Outcome:
        """Wait, then answer with the name of the step."""
        self.at_work.append(assignment.node_id)
        while assignment.node_id not in self.let_go:
            if cancelled():
                return Failed("cancelled_by_owner", "stopped", "")
            time.sleep(0.01)
        return Performed(f"from {assignment.node_id}", structured=False)


@pytest.fixture
def together(monkeypatch: pytest.MonkeyPatch) -> Iterator[Together]:
    from runs import assignments

    performer = Together()
    monkeypatch.setitem(assignments.PERFORMERS, b.SCRIPTED, performer)
    monkeypatch.setattr(heartbeat, "_ending", threading.Event())
    yield performer
    performer.let_go.update("abcdefgh")
    eventually(lambda: not any(thread.name == "shift" for thread in threading.enumerate()), within=SOON, what="the end of every shift")


@pytest.fixture
def team(monkeypatch: pytest.MonkeyPatch, settings: object) -> Crew:
    """Rings are answered at once, by the threads of this process."""
    found = Crew(6)
    monkeypatch.setattr(crew, "_crew", found)
    monkeypatch.setattr(tasks, "PATIENCE", 0.0)
    from runs import announcements

    monkeypatch.setattr(announcements, "async_task", lambda name, run_id: tasks.drain(run_id))
    return found


def status(run_id: str) -> str:
    return Run.objects.get(pk=run_id).status


def test_branches_are_at_work_at_the_same_time_and_a_fast_one_does_not_wait_for_a_slow_one(together: Together, team: Crew):
    run_id = c.started("a>b>d", "a>c", "d>e", "c>e")
    together.let_go.update("abd")
    eventually(lambda: {"c", "d"} <= set(together.at_work), within=SOON, what="the step below the fast branch")
    eventually(lambda: b.history_of(run_id).settled("d"), within=SOON, what="the end of the fast branch")
    assert b.history_of(run_id).open_attempts.keys() == {"c"}
    assert "e" not in together.at_work
    together.let_go.update("ce")
    eventually(lambda: status(run_id) == "done", within=SOON, what="the end of the run")
    [slow], [fast], [below], [last] = (tries_of(b.events_of(run_id))[key] for key in "cbde")
    assert slow.ready_at < fast.ended_at < slow.ended_at
    assert below.ready_at < below.ended_at < slow.ended_at
    assert last.ready_at >= slow.ended_at
    assert b.document(run_id)["outputs"] == {key: f"from {key}" for key in "abcde"}


def test_no_more_steps_are_at_work_than_the_cap(together: Together, team: Crew, monkeypatch: pytest.MonkeyPatch):
    from hermes_workflow.dialects.canvas import compile

    monkeypatch.setattr(compile, "AT_ONCE", 3)
    run_id = c.started(*[f"{key}>h" for key in "abcdefg"])
    eventually(lambda: len(together.at_work) == 3, within=SOON, what="as many as may")
    time.sleep(0.2)
    assert sorted(together.at_work) == list("abc")
    together.let_go.add("a")
    eventually(lambda: "d" in together.at_work, within=SOON, what="the next one")
    together.let_go.update("bcdefgh")
    eventually(lambda: status(run_id) == "done", within=SOON, what="the end of the run")
    running, most = 0, 0
    for event in b.events_of(run_id):
        running += (event.type == e.STEP_SCHEDULED) - (event.type == e.STEP_COMPLETED)
        most = max(most, running)
    assert most == 3


def test_a_turn_that_opens_several_steps_rings_for_each_that_nobody_holds(performer: ScriptedPerformer, monkeypatch: pytest.MonkeyPatch):
    from runs import announcements

    rung: list[str] = []
    monkeypatch.setattr(announcements, "async_task", lambda name, run_id: rung.append(run_id))
    run_id = c.started("a>c", "b>c")
    assert rung == [run_id, run_id]
    run_id = c.started("a>b", "a>c", "a>d", name="fan")
    rung.clear()
    [lease] = outbox.claim("me", run_id=run_id)
    turn = worker.settle(lease, _work(lease), text("from a"), hold=True)
    assert turn is not None
    assert [held.key for held in turn.leases] == ["b"]
    turn.put_back()
    assert rung == [run_id, run_id]
    assert sorted(Attempt.objects.filter(run_id=run_id, status="ready").values_list("key", flat=True)) == ["c", "d"]


def _work(lease: object) -> object:
    with engine.glance(lease.run_id) as glance:
        return worker.prepare(lease, glance)


def test_a_failure_takes_back_what_nobody_began_and_lets_finish_what_is_at_work(performer: ScriptedPerformer):
    run_id = c.started("a>d", "b>d", "c>d")
    first, second = sorted(outbox.claim("me", run_id=run_id, limit=2), key=lambda lease: lease.key)
    worker.settle(first, _work(first), failed(msg="broken"), hold=True)
    assert status(run_id) == "running"
    assert dict(Attempt.objects.filter(run_id=run_id).values_list("key", "status")) == {"a": "failed", "b": "leased", "c": "cancelled"}
    worker.settle(second, _work(second), text("from b"), hold=True)
    document = b.document(run_id)
    assert (document["status"], document["error"]["node_id"], document["error"]["msg"]) == ("failed", "a", "broken")
    assert document["outputs"] == {"b": "from b"}
    assert document["attempts"] == {"a": 1, "b": 1}
    assert not projections.differences(Run.objects.select_related("version").get(pk=run_id))


def test_a_failure_does_not_wait_for_another_steps_retry(performer: ScriptedPerformer):
    run_id = c.started("a>c", "b>c")
    performer.does("a", failed("rate_limited"))
    performer.does("b", failed())
    b.work(run_id)
    assert status(run_id) == "failed"


def test_a_failed_run_is_retried_where_it_failed_and_what_was_taken_back_begins(performer: ScriptedPerformer):
    run_id = c.started("a>d", "b>d", "c>d")
    performer.does("a", failed())
    b.work(run_id)
    assert status(run_id) == "failed"
    services.retry_run(principal=b.admin(), run_id=run_id)
    b.work(run_id)
    document = b.document(run_id)
    assert document["status"] == "done"
    assert set(document["outputs"]) == set("abcd")
    assert len(performer.tries("a")) == 2
    assert all(len(performer.tries(key)) == 1 for key in "bcd")
    assert not projections.differences(Run.objects.select_related("version").get(pk=run_id))


def test_a_cancelled_run_stops_every_branch_and_starts_none(together: Together, team: Crew):
    run_id = c.started("a>c", "b>c")
    eventually(lambda: len(together.at_work) == 2, within=SOON, what="both branches at work")
    services.cancel_run(principal=b.admin(), run_id=run_id, reason="enough")
    together.let_go.update("ab")
    eventually(lambda: team.idle, within=SOON, what="the end of every shift")
    assert status(run_id) == "cancelled"
    assert set(Attempt.objects.filter(run_id=run_id).values_list("status", flat=True)) == {"cancelled"}
    assert "c" not in together.at_work


def test_a_step_is_told_what_came_before_and_its_task_in_one_message(performer: ScriptedPerformer):
    performer.does("a", text("a text"))
    run_id = c.started("a>c", "b>c", nodes={"b": {"title": "Second"}}, input={"text": "from outside"})
    b.work(run_id)
    [first], [last] = performer.tries("a"), performer.tries("c")
    assert first.rendered == "[Current task]\nfrom outside"
    assert last.rendered == (
        '[Workflow upstream results]\n\n[Upstream: A]\na text\n\n[Upstream: Second]\n{\n  "did": "b"\n}\n\n[Current task]\ndo c'
    )
    assert last.context == {"a": "a text", "b": {"did": "b"}}
    assert last.system.startswith("You are executing one node in a workflow.")


def test_only_steps_of_a_canvas_are_told_of_their_place(performer: ScriptedPerformer):
    b.ran(b.agent("a"))
    assert (performer.seen[0].system, performer.seen[0].message) == ("", "")


def test_the_profile_of_the_design_performs(performer: ScriptedPerformer):
    b.profile()
    b.profile("other", model="small")
    c.saved("a>b")
    document = c.canvas("a>b")
    c.designs.save_design(principal=b.admin(), name="flow", dialect="canvas", document=document, profile="other")
    run_id = b.begun(c.Design.objects.get())
    b.work(run_id)
    assert {given.profile for given in performer.seen} == {"other"}
    assert {given.model for given in performer.seen} == {"small"}


def test_a_profile_without_a_performer_parks_every_branch():
    b.profile(performer=Profile.Performer.NONE)
    run_id = c.started("a>c", "b>c")
    document = b.document(run_id)
    assert document["status"] == "awaiting_agent"
    assert [gate["node_id"] for gate in document["pendings"]] == ["a", "b"]
    for key in "abc":
        b.performed(run_id, key, f"by hand: {key}", structured=False)
    assert status(run_id) == "done"


def test_a_run_starts_at_given_nodes_and_does_what_they_reach(performer: ScriptedPerformer):
    design = c.saved("a>b>d", "a>c>d", "d>e")
    wanted = starts.Start(design=design, origin="api", starter=b.admin().user, starts=("b",), input={"text": "go"}, timeout_seconds=7)
    run, _ = starts.start(wanted)
    b.work(run.pk)
    assert set(b.document(run.pk)["outputs"]) == set("bde")
    assert performer.tries("b")[0].rendered == "[Current task]\ngo"
    assert performer.tries("d")[0].rendered.count("[Upstream:") == 1
    assert {given.timeout_seconds for given in performer.seen} == {7}
    assert not projections.differences(Run.objects.select_related("version").get(pk=run.pk))


@pytest.mark.parametrize(
    "more", [{"starts": ("gone",)}, {"timeout_seconds": 0}, {"timeout_seconds": True}, {"timeout_seconds": "9"}, {"timeout_seconds": 1e9}]
)
def test_a_start_that_means_nothing_is_refused(more: dict[str, object]):
    with pytest.raises(Malformed):
        starts.start(starts.Start(design=c.saved("a>b"), origin="api", starter=b.admin().user, **more))
    assert not Run.objects.exists()


def test_a_retry_with_a_newer_version_keeps_to_the_nodes_the_run_was_started_at(performer: ScriptedPerformer):
    design = c.saved("a>b>c")
    run, _ = starts.start(starts.Start(design=design, origin="api", starter=b.admin().user, starts=("b",)))
    performer.does("b", failed())
    b.work(run.pk)
    c.saved("a>b>c>d")
    services.retry_run(principal=b.admin(), run_id=run.pk, version="current")
    b.work(run.pk)
    document = b.document(run.pk)
    assert (document["status"], document["version"], set(document["outputs"])) == ("done", 2, set("bcd"))


def test_a_node_says_how_long_it_may_take(performer: ScriptedPerformer):
    b.work(c.started("a>b", nodes={"a": {"timeoutMinutes": 2}}))
    assert [given.timeout_seconds for given in performer.seen] == [120, 600]


def test_an_answer_that_nothing_follows_from_leaves_the_run_in_peace(performer: ScriptedPerformer):
    run_id = b.started(b.approval("review", quorum=2, timeout_minutes=30))
    due = Run.objects.get(pk=run_id).due_at

    def take_in(turn: Turn) -> None:
        data = {"round": 1, "by": "#ann", "name": "ann", "answer": "approve", "comment": "", "channel": "web", "left": 1}
        turn.record(Event(e.GATE_VOTED, "review", data))
        turn.defer = True

    engine.turn(run_id, take_in)
    now = timezone.now() + timedelta(seconds=1)
    assert Run.objects.get(pk=run_id).due_at < now
    assert pulse.turn_due(now) == 1
    assert Run.objects.get(pk=run_id).due_at == due
    assert pulse.turn_due(now) == 0


def test_a_structured_result_of_a_node_is_kept_as_it_is(performer: ScriptedPerformer):
    performer.does("a", structured([0, False, None]))
    run_id = c.started("a>b")
    b.work(run_id)
    assert b.document(run_id)["outputs"]["a"] == [0, False, None]


@pytest.mark.parametrize(("keep", "again"), [(False, "bd"), (True, "d")])
def test_a_finished_run_goes_back_to_a_node_and_keeps_what_is_beside_and_above(performer: ScriptedPerformer, keep: bool, again: str):
    run_id = c.started("a>b>d", "a>c>d", input={"text": "go"})
    b.work(run_id)
    performer.does("b", text("better"))
    reruns.rerun_from_node(principal=b.admin(), run_id=run_id, node_id="b", preserve_start_node=keep)
    assert status(run_id) == "running"
    b.work(run_id)
    document = b.document(run_id)
    assert document["status"] == "done"
    assert document["attempts"] == {key: 1 + (key in again) for key in "abcd"}
    assert document["outputs"]["b"] == ({"did": "b"} if keep else "better")
    assert ("better" in performer.tries("d")[-1].rendered) is not keep
    assert not projections.differences(Run.objects.select_related("version").get(pk=run_id))


def test_going_back_is_refused_to_who_may_not_and_where_something_above_is_missing(performer: ScriptedPerformer):
    run_id = c.started("a>b", "c>b")
    services.cancel_run(principal=b.admin(), run_id=run_id, reason="")
    with pytest.raises(Conflict, match="b needs a"):
        reruns.rerun_from_node(principal=b.admin(), run_id=run_id, node_id="b")
    with pytest.raises(Forbidden):
        reruns.rerun_from_node(principal=b.person("vera", "viewer"), run_id=run_id, node_id="a")
    assert status(run_id) == "cancelled"
    with pytest.raises(Conflict, match="b needs c"):
        reruns.rerun_from_node(principal=b.admin(), run_id=run_id, node_id="a")
