"""Votes and quorum, stop_on, separation of duties, and agent steps that wait for somebody to perform them."""

from datetime import timedelta

import pytest
import time_machine
from django.utils import timezone

from approvals.models import Decision
from approvals.services import answer_gate, respond
from hermes_workflow.core import events as e
from hermes_workflow.core.errors import AlreadyDecided, AnswerNotOffered, Conflict, Forbidden, KeyReused, Malformed, TooLarge
from hermes_workflow.models import Design
from hermes_workflow.rights import ADMIN, VIEWER
from runs import services
from runs.models import Gate
from tests import builders as b
from tests.integration import approvals_builders as a

pytestmark = pytest.mark.django_db


def vote(gate: Gate, name: str, answer: str = "approve", **more: object) -> None:
    answer_gate(principal=a.reviewer(name), gate_id=gate.pk, answer=answer, **more)


def test_k_of_n_people_decide_and_each_has_one_vote():
    gate = a.parked(quorum=2)
    vote(gate, "ann")
    with pytest.raises(AlreadyDecided, match="you have already"):
        vote(gate, "ann")
    shown = b.document(gate.run_id)
    assert (shown["status"], len(shown["pending"]["votes"])) == ("awaiting_approval", 1)
    vote(gate, "bob")
    assert b.document(gate.run_id)["answers"] == {"review": "approve"}
    with pytest.raises(AlreadyDecided) as refused:
        vote(gate, "cid")
    assert refused.value.extra["winner"] == "bob"
    assert Decision.objects.count() == 2


def test_one_vote_to_stop_fails_the_run_with_the_reason():
    gate = a.parked(quorum=2, stop_on=["reject"])
    vote(gate, "ann", "reject", comment="wrong customer")
    error = b.document(gate.run_id)["error"]
    assert (error["kind"], error["node_id"]) == ("rejected", "review")
    assert "wrong customer" in error["msg"]


def test_reject_without_stop_on_is_only_an_answer():
    gate = a.parked()
    vote(gate, "ann", "reject")
    assert b.document(gate.run_id)["status"] == "done"


def test_the_votes_that_are_left_are_counted_from_the_people_who_are_named():
    for name in ("ann", "bob"):
        a.reviewer(name, "legal")
    a.reviewer("cid")
    gate = a.parked(assignees=["group:legal", "user:cid"], quorum=2, options=["a", "b", "c"])
    left = []
    for name, answer in (("ann", "a"), ("bob", "b"), ("cid", "c")):
        vote(gate, name, answer)
        left.append(next(event.data["left"] for event in reversed(b.events_of(gate.run_id)) if event.type == e.GATE_VOTED))
    assert left == [2, 1, 0]


def test_a_quorum_that_cannot_be_reached_any_more_is_escalated_and_the_next_one_decides():
    a.reviewer("ann"), a.reviewer("bob"), a.reviewer("boss")
    gate = a.parked(assignees=["user:ann", "user:bob"], quorum=2, escalate_to="user:boss", timeout_minutes=60, on_timeout="escalate")
    vote(gate, "ann", "approve")
    vote(gate, "bob", "reject")
    assert b.types_of(gate.run_id).count(e.GATE_ESCALATED) == 1
    vote(gate, "boss", "approve")
    assert b.document(gate.run_id)["answers"] == {"review": "approve"}


def test_a_quorum_out_of_reach_with_nobody_to_escalate_to_still_ends_at_the_deadline():
    a.reviewer("ann"), a.reviewer("bob")
    gate = a.parked(assignees=["user:ann", "user:bob"], quorum=2, timeout_minutes=60)
    vote(gate, "ann", "approve")
    vote(gate, "bob", "reject")
    assert b.document(gate.run_id)["status"] == "awaiting_approval"
    with time_machine.travel(timezone.now() + timedelta(minutes=61)):
        assert b.read(gate.run_id)["error"]["kind"] == "approval_timeout"


def test_people_outside_the_profile_and_inactive_ones_are_not_counted_as_left():
    members = [a.reviewer(name, "legal") for name in ("ann", "bob", "gone")]
    a.reviewer("outsider", "legal")
    members[2].user.is_active = False
    members[2].user.save()
    a.closed_profile(*members)
    chosen = b.saved(b.approval("review", assignees=["group:legal"], quorum=2), b.output("out"), name="closed", profile="secret")
    gate = Gate.objects.get(run_id=b.begun(chosen))
    vote(gate, "ann")
    assert [event.data["left"] for event in b.events_of(gate.run_id) if event.type == e.GATE_VOTED] == [1]


@pytest.mark.parametrize("switch", ["everywhere", "design"])
def test_separate_duties_keep_the_starter_and_the_author_from_answering(settings, switch):
    settings.HERMES_SEPARATE_DUTIES = switch == "everywhere"
    starter = b.person("ann", "reviewer", "operator")
    gate = a.parked(by=starter)
    if switch == "design":
        Design.objects.update(separate_duties=True)
    with pytest.raises(Forbidden, match="you started this run"):
        answer_gate(principal=starter, gate_id=gate.pk, answer="approve")
    with pytest.raises(Forbidden, match="you saved this version"):
        respond(principal=b.admin(), run_id=gate.run_id, node_id="review", answer="approve")
    a.linked(starter, "tg-1")
    with pytest.raises(Forbidden, match="you started this run"):
        a.relay(a.bot(), gate)
    assert not Decision.objects.exists()
    vote(gate, "bob")
    assert b.document(gate.run_id)["status"] == "done"


def test_as_shipped_the_starter_may_answer():
    starter = b.person("ann", "reviewer", "operator")
    answer_gate(principal=starter, gate_id=a.parked(by=starter).pk, answer="approve")


def waiting_agent(**more: object) -> str:
    b.profile(performer="none")
    return b.started(b.agent("draft", **more), b.output("out"))


@pytest.mark.parametrize("value", [0, False, {}, "", None, [1], {"summary": "x"}])
def test_whoever_performs_gives_a_structured_value_by_presence(value):
    run_id = waiting_agent()
    respond(principal=a.bot("read", "perform"), run_id=run_id, node_id="draft", structured=value)
    shown = b.document(run_id)
    assert (shown["status"], shown["outputs"]["draft"], shown["attempts"]) == ("done", value, {"draft": 1})


@pytest.mark.parametrize("field", ["output", "answer"])
def test_text_is_an_output_too(field):
    run_id = waiting_agent()
    respond(principal=a.reviewer("ann"), run_id=run_id, node_id="draft", **{field: "done by hand"})
    assert b.document(run_id)["outputs"]["draft"] == "done by hand"
    assert Decision.objects.get().by.username == "ann"


@pytest.mark.parametrize("reply", [{}, {"structured": 1, "output": "x"}, {"answer": "x", "output": "x"}, {"answer": 5}])
def test_exactly_one_value_is_given(reply):
    run_id = waiting_agent()
    with pytest.raises(Malformed):
        respond(principal=a.reviewer("ann"), run_id=run_id, node_id="draft", **reply)
    assert b.document(run_id)["status"] == "awaiting_agent"


@pytest.mark.parametrize("value", [float("nan"), {"a": "\x00"}, "\ud800", {1: 2}, {"a": {1, 2}}])
def test_a_value_that_is_no_clean_json_is_refused(value):
    run_id = waiting_agent()
    with pytest.raises(Malformed):
        respond(principal=a.reviewer("ann"), run_id=run_id, node_id="draft", structured=value, key="k")
    assert b.document(run_id)["status"] == "awaiting_agent"


def test_a_value_over_the_limit_is_too_large():
    run_id = waiting_agent()
    with pytest.raises(TooLarge):
        respond(principal=a.reviewer("ann"), run_id=run_id, node_id="draft", output="x" * 1_100_000)


def test_a_value_has_to_fit_the_schema_of_its_step():
    run_id = waiting_agent(schema={"type": "object", "required": ["summary"]})
    with pytest.raises(Malformed, match="summary"):
        respond(principal=a.reviewer("ann"), run_id=run_id, node_id="draft", structured={})
    respond(principal=a.reviewer("ann"), run_id=run_id, node_id="draft", structured={"summary": "x"})
    assert b.document(run_id)["status"] == "done"


def test_a_viewer_does_not_perform():
    run_id = waiting_agent()
    with pytest.raises(Forbidden):
        respond(principal=b.person("vic", VIEWER), run_id=run_id, node_id="draft", output="x")


def test_performing_twice_is_refused_and_a_key_replays():
    run_id, robot = waiting_agent(), a.bot("read", "perform")
    respond(principal=robot, run_id=run_id, node_id="draft", structured={"a": 1}, key="k")
    respond(principal=robot, run_id=run_id, node_id="draft", structured={"a": 1}, key="k")
    with pytest.raises(KeyReused):
        respond(principal=robot, run_id=run_id, node_id="draft", structured={"a": 2}, key="k")
    with pytest.raises(AlreadyDecided, match="performed by robot"):
        respond(principal=a.reviewer("ann"), run_id=run_id, node_id="draft", output="x")


def test_a_key_replays_after_the_run_asked_again():
    ann = a.reviewer("ann")
    run_id = b.started(b.approval("review", stop_on=["reject"]), b.output("out"))
    respond(principal=ann, run_id=run_id, node_id="review", answer="reject", key="k")
    services.retry_run(principal=b.admin(), run_id=run_id)
    respond(principal=ann, run_id=run_id, node_id="review", answer="reject", key="k")
    assert b.document(run_id)["status"] == "awaiting_approval"
    respond(principal=ann, run_id=run_id, node_id="review", answer="approve", key="k2")
    assert b.document(run_id)["status"] == "done"


def test_a_refused_answer_does_not_use_up_its_key():
    gate, ann = a.parked(), a.reviewer("ann")
    with pytest.raises(AnswerNotOffered):
        answer_gate(principal=ann, gate_id=gate.pk, answer="maybe", key="k")
    answer_gate(principal=ann, gate_id=gate.pk, answer="approve", key="k")


def test_an_admin_answers_where_nobody_is_named():
    answer_gate(principal=b.person("boss", ADMIN), gate_id=a.parked().pk, answer="approve")


def test_answering_an_earlier_round_after_its_run_asked_again_names_who_stopped_it():
    ann = a.reviewer("ann")
    gate = a.parked(stop_on=["reject"])
    answer_gate(principal=ann, gate_id=gate.pk, answer="reject")
    services.retry_run(principal=b.admin(), run_id=gate.run_id)
    with pytest.raises(Conflict) as refused:
        answer_gate(principal=a.reviewer("bob"), gate_id=gate.pk, answer="approve")
    assert refused.value.extra["winner"] == "ann"
