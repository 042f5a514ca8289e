"""Two releases on one database: what the newer one wrote waits for it, and the older one breaks nothing."""

from datetime import UTC, datetime

import pytest
import time_machine

from approvals.services import answer_gate, respond
from hermes_workflow.core import events as e
from hermes_workflow.core.errors import NeedsNewerCode
from hermes_workflow.core.plan import Plan
from hermes_workflow.models import Plan as PlanRow
from runs import outbox, projections, services, story, warm
from runs.models import Attempt, Gate, Run
from tests import builders as b
from tests.fakes import ScriptedPerformer, structured

pytestmark = pytest.mark.django_db

T0 = datetime(2026, 3, 1, 12, tzinfo=UTC)


def of_newer_release(run_id: str) -> str:
    """Let the run follow a plan of a format that this code does not know."""
    body = {"format": 99, "dialect": "design", "graph": "unheard of"}
    plan = Plan.of_newer_code(body)
    PlanRow.objects.get_or_create(digest=plan.digest, defaults={"format": 99, "body": body})
    Run.objects.filter(pk=run_id).update(plan_id=plan.digest)
    warm.forget()
    return run_id


def test_the_plan_of_newer_code_keeps_its_digest_and_body():
    body = {"format": 99, "dialect": "design", "z": [1, {"b": "ä"}]}
    plan = Plan.of_newer_code(body)
    assert plan.body() == body
    assert Plan.of_newer_code(plan.body()).digest == plan.digest
    assert plan.unknown == "a plan of format 99"


@pytest.mark.parametrize("node", [b.agent("draft"), b.output("draft", deliver="notification")])
def test_a_worker_leaves_the_attempt_to_newer_code_and_the_run_says_so(performer: ScriptedPerformer, node: b.Node):
    with time_machine.travel(T0, tick=False) as clock:
        run_id = of_newer_release(b.started(node))
        for _ in range(4):
            assert b.work(run_id) == 0
            clock.shift(60)
        attempt = Attempt.objects.get()
        assert (attempt.status, attempt.claims, attempt.number) == ("ready", 0, 1)
        assert performer.seen == []
        shown = b.document(run_id)
        assert (shown["status"], shown["stuck"]["kind"]) == ("waiting", "newer_code")
        assert "a plan of format 99 needs newer code" in shown["next"]


def test_an_attempt_of_a_history_that_newer_code_wrote_is_left_to_it_too(performer: ScriptedPerformer):
    run_id = b.started(b.agent("draft"))
    seq = Run.objects.get(pk=run_id).seq + 1
    b.EventRow.objects.create(run_id=run_id, seq=seq, v=2, type="step.reworded", key="draft", at=T0, data={})
    Run.objects.filter(pk=run_id).update(seq=seq)
    warm.forget()
    assert b.work(run_id) == 0
    assert performer.seen == []
    assert b.document(run_id)["status"] == "waiting"


def test_newer_code_goes_on_where_the_older_one_waited(performer: ScriptedPerformer):
    run_id = b.started(b.agent("draft"), b.output("out"))
    plan_id = Run.objects.get(pk=run_id).plan_id
    of_newer_release(run_id)
    b.work(run_id)
    Run.objects.filter(pk=run_id).update(plan_id=plan_id)
    Attempt.objects.update(ready_at=T0)
    warm.forget()
    b.work(run_id)
    assert b.document(run_id)["outputs"]["out"] == {"draft": {"did": "draft"}}


def test_a_vote_is_kept_and_an_agent_step_is_refused():
    gate = Gate.objects.get(run_id=of_newer_release(b.started(b.approval("review"))))
    answer_gate(principal=b.admin(), gate_id=gate.pk, answer="approve")
    assert e.GATE_VOTED in b.types_of(gate.run_id)
    assert b.document(gate.run_id)["status"] == "waiting"
    parked = of_newer_release(b.started(b.agent("draft"), perform="caller"))
    with pytest.raises(NeedsNewerCode):
        respond(principal=b.admin(), run_id=parked, node_id="draft", structured={"a": 1})


def test_a_failed_run_is_not_retried_by_code_that_cannot_read_it(performer: ScriptedPerformer):
    performer.does("draft", ValueError("no"))
    run_id = of_newer_release(b.ran(b.agent("draft"))["run_id"])
    with pytest.raises(NeedsNewerCode):
        services.retry_run(principal=b.admin(), run_id=run_id)
    assert e.RUN_REOPENED not in b.types_of(run_id)


def test_the_run_can_still_be_read_and_cancelled(performer: ScriptedPerformer):
    performer.does("draft", structured(1))
    run_id = b.started(b.agent("draft"), b.approval("review"))
    b.work(run_id)
    of_newer_release(run_id)
    assert story.story_of(principal=b.admin(), run_id=run_id).steps
    services.cancel_run(principal=b.admin(), run_id=run_id)
    assert b.document(run_id)["status"] == "cancelled"
    assert outbox.claim("me", run_id=run_id) == []


def test_its_rows_are_not_written_again_by_code_that_cannot_read_its_plan():
    run_id = of_newer_release(b.started(b.approval("review")))
    run = Run.objects.get(pk=run_id)
    data = {"why": "retry", "by": "ann", "keys": [], "version": 1, "plan": run.plan_id}
    b.EventRow.objects.create(run_id=run_id, seq=run.seq + 1, type=e.RUN_REOPENED, at=T0, data=data)
    with pytest.raises(NeedsNewerCode):
        projections.folded(run)


def test_a_version_that_newer_code_compiled_is_not_started_by_older_code():
    design = b.saved(b.agent("draft"))
    body = {"format": 99, "dialect": "design", "graph": "new"}
    plan = PlanRow.objects.create(digest=Plan.of_newer_code(body).digest, format=99, body=body)
    design.current.plan = plan
    design.current.save()
    with pytest.raises(NeedsNewerCode):
        b.begun(design)
    assert not Run.objects.exists()
