"""The runner of the design dialect, end to end on the database: steps, conditions, skips, gates, outputs, results."""

import json

import pytest

from hermes_workflow.core import events as e
from hermes_workflow.core.errors import Conflict
from hermes_workflow.models import Profile
from runs import performers
from runs.models import Attempt, Delivery, Notice, Run
from tests import builders as b
from tests.fakes import ScriptedPerformer, failed, structured, text

pytestmark = pytest.mark.django_db


def test_a_run_document_has_every_field_and_survives_json(performer: ScriptedPerformer):
    shown = b.ran(b.agent("draft"), b.approval("review"), b.output("out"), input={"text": "hello"})
    assert json.loads(json.dumps(shown)) == shown
    names = "ok run_id workflow_id name dialect version status cursor seq outputs skipped pending pendings answers attempts deliveries"
    assert {*names.split(), "error", "origin", "input", "created_at", "updated_at", "next"} <= set(shown)
    assert (shown["status"], shown["ok"], shown["cursor"], shown["name"], shown["version"]) == ("awaiting_approval", True, 1, "flow", 1)
    assert shown["input"] == {"text": "hello"}


def test_the_state_is_saved_after_every_step(performer: ScriptedPerformer):
    cursors = []

    def look(assignment):
        run = Run.objects.get(pk=assignment.run_id)
        cursors.append((run.cursor, run.seq, len(b.events_of(run.pk))))
        return structured(1)

    for node in ("one", "two", "three"):
        performer.does(node, look)
    b.ran(b.agent("one"), b.agent("two"), b.agent("three"))
    assert [cursor for cursor, _, _ in cursors] == [0, 1, 2]
    assert all(seq == stored for _, seq, stored in cursors)


def test_without_a_performer_the_step_waits_with_its_prompt_and_context_and_nothing_is_skipped():
    b.profile(performer="none")
    run_id = b.started(b.agent("draft", prompt="write it"), b.agent("polish", prompt="polish it"), input={"text": "raw"})
    shown = b.document(run_id)
    assert (shown["status"], shown["skipped"]) == ("awaiting_agent", [])
    assert shown["pending"]["prompt"] == "write it"
    assert shown["pending"]["context"] == {"start": {"text": "raw"}}
    b.performed(run_id, "draft", {"words": 3})
    shown = b.document(run_id)
    assert shown["pending"]["node_id"] == "polish"
    assert shown["pending"]["context"] == {"draft": {"words": 3}}


def test_a_caller_who_performs_parks_every_agent_step_although_there_is_a_performer(performer: ScriptedPerformer):
    run_id = b.started(b.agent("one"), b.agent("two"), perform="caller")
    assert b.document(run_id)["status"] == "awaiting_agent"
    b.performed(run_id, "one", "text", structured=False)
    assert b.document(run_id)["pending"]["node_id"] == "two"
    assert performer.seen == []


def test_a_false_condition_and_everything_below_it_is_skipped(performer: ScriptedPerformer):
    performer.does("draft", structured({"score": 3}))
    shown = b.ran(
        b.agent("draft"),
        b.condition("good", "out.draft.score > 5"),
        b.agent("polish"),
        b.output("out"),
        b.agent("aside", "draft"),
    )
    assert shown["skipped"] == ["good", "polish", "out"]
    assert shown["status"] == "done"
    assert shown["outputs"] == {"draft": {"score": 3}, "good": {"result": False}, "aside": {"did": "aside"}}


def test_a_step_with_any_skipped_parent_is_skipped_so_two_branches_never_meet_again(performer: ScriptedPerformer):
    performer.does("draft", structured({"score": 9}))
    shown = b.ran(*branches(b.output("out", "high", "low")))
    assert "out" in shown["skipped"]
    assert "out" not in shown["outputs"]


def test_a_step_that_joins_any_runs_when_one_of_its_branches_ran(performer: ScriptedPerformer):
    performer.does("draft", structured({"score": 9}))
    shown = b.ran(*branches(b.output("out", "high", "low", join="any")))
    assert shown["skipped"] == ["bad", "low"]
    assert shown["outputs"]["out"] == {"high": {"did": "high"}}


def branches(*below: b.Node) -> list[b.Node]:
    return [
        b.agent("draft"),
        b.condition("good", "out.draft.score > 5", "draft"),
        b.condition("bad", "out.draft.score <= 5", "draft"),
        b.agent("high", "good"),
        b.agent("low", "bad"),
        *below,
    ]


def test_a_step_that_joins_any_is_skipped_when_none_of_its_branches_ran(performer: ScriptedPerformer):
    performer.does("draft", structured({"score": "unknown"}))
    assert "out" in b.ran(*branches(b.output("out", "high", "low", join="any")))["skipped"]


def test_context_looks_through_conditions_and_gates_to_the_nearest_producers(performer: ScriptedPerformer):
    performer.does("draft", structured({"score": 9}))
    run_id = b.started(b.agent("draft"), b.condition("good", "out.draft.score > 5"), b.approval("review"), b.agent("send"))
    b.work(run_id)
    assert b.document(run_id)["pending"]["context"] == {"draft": {"score": 9}}
    b.vote(run_id, "review", "approve")
    b.work(run_id)
    assert performer.tries("send")[0].context == {"draft": {"score": 9}}


def test_the_first_step_is_given_the_input_of_the_run(performer: ScriptedPerformer):
    b.ran(b.agent("draft", prompt="sum up"), input={"text": "long story"})
    (given,) = performer.seen
    assert given.context == {"input": {"text": "long story"}}
    assert given.input == {"text": "long story"}
    assert "sum up" in given.rendered
    assert "long story" in given.rendered


@pytest.mark.parametrize("value", [0, False, {}, "", None, [], {"a": None}])
def test_an_output_counts_by_its_presence_not_by_its_truth(performer: ScriptedPerformer, value: object):
    performer.does("draft", structured(value))
    shown = b.ran(b.agent("draft"), b.output("out"))
    assert (shown["status"], shown["error"]) == ("done", None)
    assert shown["outputs"] == {"draft": value, "out": {"draft": value}}


def test_an_output_node_holds_its_direct_parents_only(performer: ScriptedPerformer):
    performer.does("one", structured(1))
    performer.does("two", text("second"))
    shown = b.ran(b.agent("one"), b.agent("two"), b.output("out", "two"), b.output("both", "one", "out"))
    assert shown["outputs"]["out"] == {"two": "second"}
    assert shown["outputs"]["both"] == {"one": 1, "out": {"two": "second"}}


def test_an_output_right_after_the_trigger_holds_the_input():
    assert b.ran(b.output("out"), input={"text": "x"})["outputs"] == {"out": {"start": {"text": "x"}}}


def test_a_condition_reads_what_an_output_node_collected(performer: ScriptedPerformer):
    performer.does("ab", structured({"n": 1}))
    performer.does("a", structured({"n": 2}))
    shown = b.ran(
        b.agent("ab"),
        b.agent("a", "start"),
        b.output("out", "a", "ab"),
        b.output("outer", "out"),
        b.condition("deep", "out.outer.out.ab.n == 1", "outer"),
        b.condition("flat", "out.out.ab.n == 1", "out"),
    )
    assert shown["outputs"]["flat"] == {"result": True}
    assert shown["outputs"]["deep"] == {"result": True}


def test_a_condition_reads_the_input_through_an_output_node():
    shown = b.ran(b.output("out"), b.condition("big", "out.out.start.n > 1"), input={"n": 2})
    assert shown["outputs"]["big"] == {"result": True}


def test_a_gate_parks_with_question_options_context_and_since_when(performer: ScriptedPerformer):
    run_id = b.started(b.agent("draft"), b.approval("review", question="send it?", options=["yes", "no"]))
    b.work(run_id)
    pending = b.document(run_id)["pending"]
    shown = {name: pending[name] for name in ("node_id", "kind", "question", "options", "context", "deadline")}
    assert shown == {
        "node_id": "review",
        "kind": "approval",
        "question": "send it?",
        "options": ["yes", "no"],
        "context": {"draft": {"did": "draft"}},
        "deadline": None,
    }
    assert pending["waiting_since"].endswith("Z")
    assert pending["digest"].startswith("sha256:")


def test_a_gates_answer_is_kept_in_answers_and_in_its_output(performer: ScriptedPerformer):
    asked = b.condition("yes", 'out.review.answer == "approve"'), b.condition("ann", 'out.review.by == "ann"')
    run_id = b.started(b.approval("review"), *asked)
    b.vote(run_id, "review", "approve", comment="fine")
    shown = b.document(run_id)
    assert shown["answers"] == {"review": "approve"}
    assert shown["outputs"]["review"] == {"answer": "approve", "comment": "fine", "by": "ann"}
    assert shown["outputs"]["yes"] == shown["outputs"]["ann"] == {"result": True}


def test_an_answer_of_reject_is_data_and_does_not_fail_the_run():
    run_id = b.started(b.approval("review"), b.output("out"))
    b.vote(run_id, "review", "reject")
    shown = b.document(run_id)
    assert (shown["status"], shown["answers"]) == ("done", {"review": "reject"})


def test_an_option_that_stops_fails_the_run_at_its_gate():
    run_id = b.started(b.approval("review", stop_on=["reject"]), b.output("out"))
    b.vote(run_id, "review", "reject", comment="no way")
    shown = b.document(run_id)
    assert (shown["status"], shown["ok"]) == ("failed", False)
    assert shown["error"]["node_id"] == "review"
    assert shown["error"]["kind"] == "rejected"
    assert "no way" in shown["error"]["msg"]
    assert shown["pending"] is None


def test_a_parked_run_keeps_its_version_when_the_design_changes(performer: ScriptedPerformer):
    run_id = b.started(b.agent("draft"), b.approval("review"), b.agent("send"))
    b.work(run_id)
    b.saved(b.agent("other"), b.agent("before"), b.approval("review"), b.agent("another"))
    b.vote(run_id, "review", "approve")
    b.work(run_id)
    shown = b.document(run_id)
    assert (shown["status"], shown["version"]) == ("done", 1)
    assert [assignment.node_id for assignment in performer.seen] == ["draft", "send"]


def test_a_parked_run_outlives_its_design(performer: ScriptedPerformer):
    design = b.saved(b.approval("review"), b.agent("send"))
    run_id = b.begun(design)
    b.designs.delete_design(principal=b.admin(), design=design)
    b.vote(run_id, "review", "approve")
    b.work(run_id)
    assert b.document(run_id)["status"] == "done"


def test_after_an_answer_no_step_is_repeated_and_none_left_out(performer: ScriptedPerformer):
    run_id = b.started(b.agent("one"), b.approval("review"), b.agent("two"), b.agent("three"))
    b.work(run_id)
    b.vote(run_id, "review", "approve")
    b.work(run_id)
    assert [assignment.node_id for assignment in performer.seen] == ["one", "two", "three"]
    assert b.document(run_id)["attempts"] == {"one": 1, "two": 1, "three": 1}


def test_a_design_runs_one_step_at_a_time(performer: ScriptedPerformer):
    run_id = b.started(b.agent("one", "start"), b.agent("two", "start"), b.agent("three", "start"))
    assert list(Attempt.objects.values_list("key", "status")) == [("one", "ready")]
    b.work(run_id)
    assert [assignment.node_id for assignment in performer.seen] == ["one", "two", "three"]


def test_an_open_gate_holds_back_a_step_beside_it(performer: ScriptedPerformer):
    run_id = b.started(b.approval("review", "start"), b.agent("beside", "start"))
    assert b.work(run_id) == 0
    b.vote(run_id, "review", "approve")
    assert b.work(run_id) == 1


def test_results_are_ok_unless_the_run_failed(performer: ScriptedPerformer):
    performer.does("bad", failed())
    parked = b.started(b.approval("review"))
    failing = b.ran(b.agent("bad"))
    assert b.document(parked)["ok"] is True
    assert (failing["ok"], failing["status"]) == (False, "failed")


def test_a_failed_send_is_a_receipt_and_the_run_is_done(performer: ScriptedPerformer):
    shown = b.ran(b.agent("draft"), b.output("out", deliver="notification", target="user:nobody"))
    assert shown["status"] == "done"
    assert shown["deliveries"] == [
        {"node_id": "out", "target": "user:nobody", "ok": False, "detail": "nobody to notify: user:nobody is not a user or group here"}
    ]
    assert shown["outputs"]["out"] == {"draft": {"did": "draft"}}


def test_a_sent_notification_is_in_the_bell_once_with_one_receipt(performer: ScriptedPerformer):
    ann = b.person("ann", "operator")
    performer.does("draft", text("all is well"))
    shown = b.ran(b.agent("draft"), b.approval("a-gate", quorum=1), b.output("out", deliver="notification"), by=ann)
    b.vote(shown["run_id"], "a-gate", "approve")
    b.work(shown["run_id"])
    (notice,) = Notice.objects.all()
    assert (notice.user, notice.text) == (ann.user, "all is well")
    assert list(Delivery.objects.values_list("key", "target", "ok")) == [("out", "user:ann", True)]


def test_a_model_that_the_profile_does_not_allow_fails_the_step_by_kind(performer: ScriptedPerformer):
    shown = b.ran(b.agent("draft", model="gpt-x"))
    assert shown["status"] == "failed"
    assert (shown["error"]["kind"], performer.seen) == ("model_denied", [])


def test_an_allowed_model_is_asked_for(performer: ScriptedPerformer):
    b.profile(model="small", allow_model_override=True)
    b.ran(b.agent("draft", model="large"), b.agent("next"))
    assert [assignment.model for assignment in performer.seen] == ["large", "small"]


def test_the_correlation_id_names_run_and_node_and_the_key_the_try(performer: ScriptedPerformer):
    performer.does("draft", failed())
    run_id = b.started(b.agent("draft", retries=1))
    b.work(run_id)
    assert {assignment.correlation_id for assignment in performer.seen} == {f"workflow:{run_id}:draft"}
    assert [assignment.idempotency_key for assignment in performer.seen] == [f"workflow:{run_id}:draft:1", f"workflow:{run_id}:draft:2"]


def test_an_error_has_a_kind_and_a_hint_together_and_quotes_the_performer(performer: ScriptedPerformer):
    performer.does("draft", failed("unreachable", "no route to the agent"))
    error = b.ran(b.agent("draft"))["error"]
    assert (error["node_id"], error["msg"], error["kind"]) == ("draft", "no route to the agent", "unreachable")
    assert error["hint"]


def test_a_performer_that_goes_away_makes_its_steps_wait_for_a_person(performer: ScriptedPerformer):
    run_id = b.started(b.agent("draft"))
    b.profile(performer="none")
    performers.forget()
    b.work(run_id)
    shown = b.document(run_id)
    assert (shown["status"], shown["attempts"]) == ("awaiting_agent", {})
    b.performed(run_id, "draft", {"by": "hand"})
    shown = b.document(run_id)
    assert (shown["status"], shown["outputs"]) == ("done", {"draft": {"by": "hand"}})
    assert shown["attempts"] == {"draft": 1}


def test_an_unknown_profile_fails_the_step_by_name(performer: ScriptedPerformer):
    run_id = b.started(b.agent("draft"))
    Profile.objects.filter(name="default").update(name="renamed")
    performers.forget()
    b.work(run_id)
    error = b.document(run_id)["error"]
    assert error["kind"] == "performer_missing"
    assert "default" in error["msg"]


def test_a_note_is_never_a_step():
    run_id = b.started(b.note("remark", text="remember"), b.approval("review", "start"))
    assert b.document(run_id)["pending"]["node_id"] == "review"
    assert [event.key for event in b.events_of(run_id) if event.type == e.GATE_OPENED] == ["review"]


def test_a_cancelled_run_stays_cancelled(performer: ScriptedPerformer):
    run_id = b.started(b.approval("review"), b.agent("send"))
    b.services.cancel_run(principal=b.admin(), run_id=run_id, reason="changed my mind")
    b.services.cancel_run(principal=b.admin(), run_id=run_id)
    shown = b.document(run_id)
    assert (shown["status"], shown["ok"], shown["pending"]) == ("cancelled", True, None)
    assert b.types_of(run_id).count(e.RUN_CANCELLED) == 1
    with pytest.raises(Conflict):
        b.services.retry_run(principal=b.admin(), run_id=run_id)


def test_who_started_a_run_hears_once_that_it_failed_and_a_bot_does_not(performer: ScriptedPerformer):
    performer.does("draft", failed(msg="no luck"), failed(msg="no luck"))
    shown = b.ran(b.agent("draft"), by=b.person("ann", "operator"))
    notice = Notice.objects.get()
    assert (notice.user.username, notice.title, notice.text, notice.run_id) == ("ann", "flow: failed at draft", "no luck", shown["run_id"])
    b.ran(b.agent("draft"), by=b.person("robot", "bot"), name="other")
    assert Notice.objects.count() == 1
