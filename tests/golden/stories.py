"""The lives of runs whose histories are kept, release by release: `python -m pytest tests/golden/stories.py` writes those of this one.

Not collected with the other tests: a stored history is never written again once its release is out.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest
import time_machine

from hermes_workflow.core import outputs
from hermes_workflow.core.history import History
from runs import services, starts
from runs.models import Run
from tests import builders as b
from tests import canvas as c
from tests.fakes import ScriptedPerformer, failed, structured, text
from tests.integration.conftest import performer

__all__ = ["performer"]
pytestmark = pytest.mark.django_db

HERE = Path(__file__).parent


@pytest.fixture
def clock() -> Iterator[time_machine.Traveller]:
    with time_machine.travel(datetime(2026, 3, 1, 12, tzinfo=UTC), tick=False) as moment:
        yield moment


def release() -> str:
    try:
        return version("hermes-workflow")
    except PackageNotFoundError:
        return "0.1.0"


def keep(name: str, run_id: str) -> None:
    """Store the plan that the run follows, its events with their bodies, and what they come to."""
    plan = Run.objects.get(pk=run_id).plan.body
    events = b.events_of(run_id)
    rows = [[event.seq, event.v, event.type, event.key, event.at.isoformat(), event.data, event.body] for event in events]
    target = HERE / release() / f"{name}.json"
    target.parent.mkdir(exist_ok=True)
    result = result_of(b.history_of(run_id), {event.seq: event.body for event in events})
    target.write_text(json.dumps({"plan": plan, "events": rows, "result": result}, indent=1, ensure_ascii=False) + "\n")


def result_of(history: History, bodies: dict[int, Any]) -> dict[str, Any]:
    """What a history comes to, in JSON."""
    from hermes_workflow.core.deadlines import due_at
    from hermes_workflow.core.status import status_of

    due = due_at(history)
    return {
        "status": status_of(history),
        "cursor": history.cursor,
        "due_at": due.isoformat() if due else None,
        "error": history.error,
        "outcomes": {key: state.outcome for key, state in sorted(history.steps.items()) if state.outcome},
        "attempts": {key: state.number for key, state in sorted(history.steps.items()) if state.number},
        "open": sorted([*history.open_attempts, *history.open_gates]),
        "outputs": outputs.outputs(history, bodies),
    }


def test_a_run_that_is_done(performer: ScriptedPerformer, clock: time_machine.Traveller):
    performer.does("draft", failed("rate_limited"), structured({"score": 9, "zero": 0, "none": None}))
    performer.does("polish", text("a polished text"))
    run_id = b.started(
        b.agent("draft"),
        b.condition("good", "out.draft.score > 5"),
        b.condition("bad", "out.draft.score <= 5", "draft"),
        b.agent("polish", "good"),
        b.agent("mend", "bad"),
        b.output("both", "polish", "mend", join="any"),
        b.approval("review", quorum=2, options=["yes", "no"]),
        b.output("tell", deliver="notification", target="user:root"),
        input={"text": "a text"},
    )
    b.work(run_id)
    clock.shift(15)
    b.work(run_id)
    for name in ("ann", "bob"):
        clock.shift(60)
        b.vote(run_id, "review", "yes", by=name, left=1, comment="fine")
    b.work(run_id)
    keep("done", run_id)


def test_a_run_that_failed_was_retried_and_waits(performer: ScriptedPerformer, clock: time_machine.Traveller):
    performer.does("draft", failed("timeout"), failed("timeout"), structured([1, 2]))
    run_id = b.started(b.agent("draft", retries=1), b.approval("review", timeout_minutes=5, on_timeout="escalate", escalate_to="user:root"))
    b.work(run_id)
    clock.shift(60)
    services.retry_run(principal=b.admin(), run_id=run_id)
    b.work(run_id)
    clock.shift(600)
    b.read(run_id)
    keep("retried", run_id)


def test_a_run_that_timed_out_at_a_gate(performer: ScriptedPerformer, clock: time_machine.Traveller):
    run_id = b.started(b.agent("draft"), b.approval("review", timeout_minutes=5), b.output("out"))
    b.work(run_id)
    clock.shift(600)
    b.read(run_id)
    keep("timed-out", run_id)


def test_a_run_that_was_stopped_and_asked_again(performer: ScriptedPerformer, clock: time_machine.Traveller):
    run_id = b.started(b.approval("review", stop_on=["reject"]), b.output("out"))
    b.vote(run_id, "review", "reject")
    services.retry_run(principal=b.admin(), run_id=run_id)
    keep("asked-again", run_id)


def test_a_run_that_the_caller_performs(clock: time_machine.Traveller):
    run_id = b.started(b.agent("one"), b.agent("two"), perform="caller")
    b.performed(run_id, "one", {"a": False})
    keep("caller", run_id)


def test_a_run_of_a_canvas_that_failed_and_was_retried(performer: ScriptedPerformer, clock: time_machine.Traveller):
    performer.does("plan", text("first this, then that"))
    performer.does("left", failed("timeout"))
    design = c.saved("plan>left>end", "plan>right>end", "plan>third>end")
    run, _ = starts.start(starts.Start(design=design, origin="api", starts=("plan",), timeout_seconds=90, input={"text": "go"}))
    b.work(run.pk)
    clock.shift(60)
    services.retry_run(principal=b.admin(), run_id=run.pk)
    b.work(run.pk)
    keep("canvas", run.pk)


def test_a_run_that_was_cancelled(performer: ScriptedPerformer, clock: time_machine.Traveller):
    run_id = b.started(b.agent("one"), b.output("out"))
    services.cancel_run(principal=b.admin(), run_id=run_id, reason="enough")
    keep("cancelled", run_id)
