"""Answering gates: who may, what is recorded, and what a refusal leaves alone."""

from datetime import timedelta

import pytest
import time_machine
from django.utils import timezone

from approvals.models import Decision
from approvals.services import answer_gate, respond
from hermes_workflow.core import events as e
from hermes_workflow.core.errors import AlreadyDecided, AnswerNotOffered, Conflict, Forbidden, KeyReused, Malformed, NotFound, Stale
from hermes_workflow.rights import ADMIN, VIEWER, Principal
from runs import pulse, services
from runs.models import Gate
from tests import builders as b
from tests.integration import approvals_builders as a

pytestmark = pytest.mark.django_db


def answers(gate: Gate, by: Principal, answer: object = "approve", **more: object) -> str:
    return answer_gate(principal=by, gate_id=gate.pk, answer=answer, **more)


def unchanged(gate: Gate, seq: int = 2) -> bool:
    return len(b.events_of(gate.run_id)) == seq and not Decision.objects.exists() and Gate.objects.get(pk=gate.pk).status == "open"


def test_an_answer_finishes_the_run_and_is_recorded_with_its_provenance():
    gate, ann = a.parked(), a.reviewer("ann")
    assert answers(gate, ann, comment="fine", channel="web", digest=gate.digest) == gate.run_id
    shown = b.document(gate.run_id)
    assert (shown["status"], shown["answers"]) == ("done", {"review": "approve"})
    assert shown["outputs"]["review"] == {"answer": "approve", "comment": "fine", "by": "ann"}
    decision = Decision.objects.get()
    assert (decision.by, decision.on_behalf_of, decision.channel, decision.comment) == (ann.user, None, "web", "fine")
    assert (decision.gate_id, decision.answer, decision.digest_seen) == (gate.pk, "approve", gate.digest)


def test_respond_names_the_node_instead_of_the_gate():
    gate = a.parked()
    assert respond(principal=a.reviewer("ann"), run_id=gate.run_id, node_id="review", answer="reject") == gate.run_id
    assert b.document(gate.run_id)["answers"] == {"review": "reject"}


@pytest.mark.parametrize("answer", ["Yes", "yes\u200b", " yes", "", "maybe", "y" * 1_000_000])
def test_only_the_exact_option_is_an_answer(answer):
    gate = a.parked(options=["yes", "no"])
    with pytest.raises(AnswerNotOffered) as refused:
        answers(gate, a.reviewer("ann"), answer)
    assert refused.value.extra["options"] == ["yes", "no"]
    assert len(refused.value.msg) < 300
    assert unchanged(gate)


@pytest.mark.parametrize("answer", [True, 1, None, ["yes"], {"answer": "yes"}])
def test_an_answer_is_a_string(answer):
    gate = a.parked(options=["yes", "no"])
    with pytest.raises(Malformed, match="must be a string"):
        answers(gate, a.reviewer("ann"), answer)
    assert unchanged(gate)


@pytest.mark.parametrize("more", [{"comment": "x" * 2001}, {"comment": 5}, {"comment": "a\x00b"}, {"comment": "\ud800"}, {"key": ""}])
@pytest.mark.parametrize("also", [{}, {"digest": "sha256:" + "0" * 64}])
def test_what_cannot_be_stored_is_refused(more, also):
    gate = a.parked()
    with pytest.raises(Malformed):
        answers(gate, a.reviewer("ann"), **more, **also)
    assert unchanged(gate)


@pytest.mark.parametrize("more", [{"key": "k" * 256}, {"digest": 5}, {"digest": "d" * 72}, {"resume": "no"}, {"resume": 1}])
def test_options_of_the_request_are_checked(more):
    gate = a.parked()
    with pytest.raises(Malformed):
        answers(gate, a.reviewer("ann"), **more)
    assert unchanged(gate)


def test_an_approval_takes_no_output():
    gate = a.parked()
    with pytest.raises(Malformed, match="structured"):
        respond(principal=a.reviewer("ann"), run_id=gate.run_id, node_id="review", structured={"answer": "approve"})
    with pytest.raises(Malformed, match="answer: is required"):
        respond(principal=a.reviewer("ann"), run_id=gate.run_id, node_id="review")
    assert unchanged(gate)


def test_ids_that_disagree_are_not_found():
    one, other = a.parked(name="one"), a.parked(name="other")
    ann = a.reviewer("ann")
    for run_id, node_id, gate_id in [(one.run_id, "review", other.pk), (one.run_id, "start", one.pk), ("f" * 32, "review", one.pk)]:
        with pytest.raises(NotFound):
            respond(principal=ann, run_id=run_id, node_id=node_id, gate_id=gate_id, answer="approve")
    with pytest.raises(NotFound):
        respond(principal=ann, run_id=one.run_id, node_id="nowhere", answer="approve")
    assert unchanged(one)
    assert unchanged(other)


@pytest.mark.parametrize("gate_id", [0, -1, 2**63, 10**30, 999_999])
def test_an_unknown_gate_is_not_found(gate_id):
    with pytest.raises(NotFound):
        answer_gate(principal=a.reviewer("ann"), gate_id=gate_id, answer="approve")


def test_a_node_that_is_not_reached_yet_takes_no_answer():
    gate = a.parked(b.approval("later"))
    with pytest.raises(Conflict, match="nothing waits"):
        respond(principal=a.reviewer("ann"), run_id=gate.run_id, node_id="later", answer="approve")


def test_a_viewer_sees_but_may_not_and_an_outsider_sees_nothing():
    gate = a.parked()
    with pytest.raises(Forbidden):
        answers(gate, b.person("vic", VIEWER))
    with pytest.raises(NotFound):
        answers(gate, b.person("nobody"))
    assert unchanged(gate)


def test_a_reviewer_outside_the_profile_sees_nothing_named_or_not():
    member, outsider = a.reviewer("member"), a.reviewer("outsider")
    profile = a.closed_profile(member, outsider)
    run = b.begun(
        b.saved(b.approval("review", assignees=["user:member", "user:outsider"]), b.output("out"), name="closed", profile="secret")
    )
    gate = Gate.objects.get(run_id=run)
    profile.members.remove(outsider.user)
    with pytest.raises(NotFound):
        answers(gate, a.anew(outsider))
    answers(gate, member)


def test_only_assignees_answer_not_even_an_admin():
    a.reviewer("ann", "legal")
    gate = a.parked(assignees=["group:legal"])
    for other in (a.reviewer("bob"), b.person("boss", ADMIN)):
        with pytest.raises(Forbidden, match="group:legal"):
            answers(gate, other)
    assert unchanged(gate)
    answers(gate, a.reviewer("ann"))
    assert b.document(gate.run_id)["status"] == "done"


def test_a_change_of_a_group_counts_at_the_next_request():
    ann = a.reviewer("ann", "legal")
    gate = a.parked(assignees=["group:legal"])
    ann.user.groups.remove(*ann.user.groups.filter(name="legal"))
    with pytest.raises(Forbidden):
        answers(gate, a.anew(ann))
    a.reviewer("bob", "legal")
    answers(gate, a.anew(a.reviewer("bob")))
    assert b.document(gate.run_id)["answers"] == {"review": "approve"}


def test_the_loser_is_told_who_won_and_when():
    gate = a.parked()
    answers(gate, a.reviewer("ann"), "reject", channel="web")
    with pytest.raises(AlreadyDecided) as refused:
        answers(gate, a.reviewer("bob"))
    told = refused.value.extra
    assert (told["winner"], told["answer"], told["channel"]) == ("ann", "reject", "web")
    assert told["answered_at"].endswith("Z")
    assert "ann" in refused.value.msg
    assert Decision.objects.count() == 1


def test_without_a_key_the_same_person_answers_once():
    gate, ann = a.parked(), a.reviewer("ann")
    answers(gate, ann)
    with pytest.raises(AlreadyDecided):
        answers(gate, ann)


def test_the_same_key_and_body_replay_and_another_body_is_refused():
    gate, ann = a.parked(), a.reviewer("ann")
    answers(gate, ann, key="k1")
    seq = len(b.events_of(gate.run_id))
    assert answers(gate, ann, key="k1") == gate.run_id
    assert respond(principal=ann, run_id=gate.run_id, node_id="review", answer="approve", key="k1") == gate.run_id
    assert len(b.events_of(gate.run_id)) == seq
    for more in ({"answer": "reject"}, {"comment": "other"}):
        with pytest.raises(KeyReused):
            answers(gate, ann, **{"key": "k1", "answer": "approve", **more})
    with pytest.raises(KeyReused):
        answers(a.parked(name="second"), ann, key="k1")


def test_two_people_may_use_the_same_key():
    gate = a.parked(quorum=2)
    answers(gate, a.reviewer("ann"), key="k")
    answers(gate, a.reviewer("bob"), key="k")
    assert b.document(gate.run_id)["status"] == "done"


def test_an_answer_to_what_was_shown_before_is_stale_and_shown_again():
    gate = a.parked(question="Now?")
    with pytest.raises(Stale) as refused:
        answers(gate, a.reviewer("ann"), digest="sha256:" + "0" * 64)
    assert refused.value.extra["pending"]["digest"] == gate.digest
    assert refused.value.extra["changes"] == []
    assert unchanged(gate)


def test_an_answer_to_an_earlier_round_says_what_changed():
    gate = a.parked(question="Send it?", timeout_minutes=10)
    old = gate.digest
    with time_machine.travel(timezone.now() + timedelta(minutes=11)):
        b.read(gate.run_id)
        b.saved(b.approval("review", question="Send it all?"), b.output("out"))
        services.retry_run(principal=b.admin(), run_id=gate.run_id, version="current")
        with pytest.raises(Stale) as refused:
            answers(gate, a.reviewer("ann"))
        assert "+ Send it all?" in refused.value.extra["changes"]
        with pytest.raises(Stale) as refused:
            respond(principal=a.reviewer("ann"), run_id=gate.run_id, node_id="review", answer="approve", digest=old)
        assert refused.value.extra["pending"]["question"] == "Send it all?"
        assert "- Send it?" in refused.value.extra["changes"]
        respond(principal=a.reviewer("ann"), run_id=gate.run_id, node_id="review", answer="approve")
    assert b.document(gate.run_id)["status"] == "done"


def test_after_a_reject_deadline_the_answer_is_refused_and_the_run_has_failed():
    gate = a.parked(timeout_minutes=10)
    with time_machine.travel(timezone.now() + timedelta(minutes=11)):
        with pytest.raises(Conflict, match="deadline"):
            answers(gate, a.reviewer("ann"))
        assert b.document(gate.run_id)["error"]["kind"] == "approval_timeout"
    assert not Decision.objects.exists()


def test_who_is_asked_by_an_escalation_may_answer_with_the_first_request_after_it():
    a.reviewer("ann"), a.reviewer("boss")
    gate = a.parked(timeout_minutes=10, on_timeout="escalate", escalate_to="user:boss", assignees=["user:ann"])
    with pytest.raises(Forbidden):
        answers(gate, a.reviewer("boss"))
    with time_machine.travel(timezone.now() + timedelta(minutes=11)):
        answers(gate, a.reviewer("boss"))
    assert b.document(gate.run_id)["status"] == "done"


def test_a_gate_of_a_run_that_ended_takes_no_answer():
    gate = a.parked()
    services.cancel_run(principal=b.admin(), run_id=gate.run_id)
    with pytest.raises(Conflict, match="cancelled"):
        answers(gate, a.reviewer("ann"))
    assert not Decision.objects.exists()


def test_gates_in_a_row_each_need_their_own_answer():
    gate = a.parked(b.approval("second"), b.output("out"))
    answers(gate, a.reviewer("ann"))
    shown = b.document(gate.run_id)
    assert (shown["status"], shown["pending"]["node_id"]) == ("awaiting_approval", "second")


def test_record_only_leaves_the_deciding_to_a_later_turn():
    gate = a.parked()
    answers(gate, a.reviewer("ann"), "reject", resume=False)
    assert Gate.objects.get(pk=gate.pk).status == "open"
    with pytest.raises(AlreadyDecided, match="ann"):
        answers(gate, a.reviewer("bob"))
    pulse.turn_due(timezone.now())
    assert b.document(gate.run_id)["answers"] == {"review": "reject"}
    assert e.RUN_COMPLETED in b.types_of(gate.run_id)


def test_an_answer_recorded_in_time_is_not_overtaken_by_the_deadline():
    gate = a.parked(timeout_minutes=10)
    answers(gate, a.reviewer("ann"), resume=False)
    with time_machine.travel(timezone.now() + timedelta(minutes=11)):
        assert b.read(gate.run_id)["answers"] == {"review": "approve"}
