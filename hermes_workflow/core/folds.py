"""What each event does to a history: one small function per type."""

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING

from hermes_workflow.core import events as e
from hermes_workflow.core.events import Event
from hermes_workflow.core.states import FAILED, FALSE, PASSED, SKIPPED, GateState, StepState

if TYPE_CHECKING:
    from hermes_workflow.core.history import History


def _started(history: "History", event: Event) -> None:
    history.started, history.started_at = dict(event.data), event.at


def _reopened(history: "History", event: Event) -> None:
    for key in event.data["keys"]:
        old = history.steps.get(key, StepState())
        history.steps[key] = StepState(number=old.number, unperformed=old.unperformed)
        history.open_attempts.pop(key, None)
        history.undecided.pop(key, None)
        history.resends.pop(key, None)
        if key in history.open_gates:
            history.close_gate(key, "closed")
    history.failing = history.error = history.ended_at = None
    history.ended = ""
    if event.data["why"] == "retry":
        history.retried_at = event.at
    history.adopt(history.plan)


def _stuck(history: "History", event: Event) -> None:
    history.stuck, history.stuck_at = dict(event.data), event.at
    history.stuck_times += 1


def _resumed(history: "History", event: Event) -> None:
    """Any event but `run.stuck` ends being stuck; this one says no more than that."""


def _completed_run(history: "History", event: Event) -> None:
    history.ended, history.ended_at = "done", event.at


def _failed_run(history: "History", event: Event) -> None:
    history.ended, history.ended_at, history.error = "failed", event.at, dict(event.data)


def _cancelled(history: "History", event: Event) -> None:
    history.ended, history.ended_at = "cancelled", event.at
    history.open_attempts.clear()
    history.undecided.clear()
    history.resends.clear()
    for key in list(history.open_gates):
        history.close_gate(key, "closed")


def _scheduled(history: "History", event: Event) -> None:
    state = history.state(event.key)
    state.number = event.data["number"]
    state.spared = state.spared or bool(event.data.get("extra"))
    history.ready.discard(event.key)
    history.undecided.pop(event.key, None)
    history.open_attempts[event.key] = event.data["kind"]


def _completed(history: "History", event: Event) -> None:
    state = history.state(event.key)
    state.number = max(state.number, event.data.get("number", 0))
    if state.outcome:
        return
    state.body_seq = event.seq
    state.data = dict(event.data)
    history.settle(event.key, PASSED, event)


def _failed(history: "History", event: Event) -> None:
    state = history.state(event.key)
    if state.outcome:
        return
    state.tries += 1
    state.failure = dict(event.data)
    history.open_attempts.pop(event.key, None)
    history.undecided[event.key] = None


def _unperformed(history: "History", event: Event) -> None:
    state = history.state(event.key)
    state.parked = True
    state.unperformed += 1
    history.open_attempts.pop(event.key, None)
    history.ready.add(event.key)


def _withdrawn(history: "History", event: Event) -> None:
    state = history.state(event.key)
    if state.outcome:
        return
    state.unperformed += 1
    state.tries, state.spared, state.failure = 0, False, None  # should the run go on, it goes on with a whole budget
    history.open_attempts.pop(event.key, None)
    history.ready.add(event.key)


def _gave_up(history: "History", event: Event) -> None:
    history.settle(event.key, FAILED, event)
    if not any(edge.on == "fail" for edge in history.plan.children.get(event.key, ())):
        history.failing = history.failing or {"node_id": event.key, **event.data}


def _skipped(history: "History", event: Event) -> None:
    history.state(event.key).data = dict(event.data)
    history.settle(event.key, SKIPPED, event)


def _evaluated(history: "History", event: Event) -> None:
    history.state(event.key).data = dict(event.data)
    history.settle(event.key, PASSED if event.data["result"] else FALSE, event)


def _delivered(history: "History", event: Event) -> None:
    state, number = history.state(event.key), event.data["number"]
    if history.resends.get(event.key) == number:
        del history.resends[event.key]
    else:
        state.delivered = number


def _requested(history: "History", event: Event) -> None:
    """Beside the course of the run: a run that has ended stays so, and one that goes on does not wait for it."""
    data = event.data
    history.state(event.key).number = history.resends[event.key] = data["number"]
    if data["request"]:
        history.requests[data["request"]] = event.key


def _opened(history: "History", event: Event) -> None:
    assert event.at is not None
    data, minutes = event.data, event.data.get("minutes")
    history.ready.discard(event.key)
    history.open_gates[event.key] = None
    history.gates[event.key] = GateState(
        key=event.key,
        round=data["round"],
        kind=data["kind"],
        options=list(data.get("options", ())),
        quorum=data.get("quorum", 1),
        stop_on=list(data.get("stop_on", ())),
        on_timeout=data.get("on_timeout", ""),
        waiting_since=event.at,
        due_at=event.at + timedelta(minutes=minutes) if minutes else None,
        digest=data.get("digest", ""),
        body_seq=event.seq,
    )


def _voted(history: "History", event: Event) -> None:
    history.gates[event.key].votes.append({**event.data, "at": event.at})


def _answered(history: "History", event: Event) -> None:
    gate = history.gates[event.key]
    gate.answer = {**event.data, "at": event.at}
    history.close_gate(event.key, "answered")
    if gate.kind == "agent":
        return
    history.state(event.key).data = dict(event.data)
    stops = event.data.get("stops")
    history.settle(event.key, FAILED if stops else PASSED, event)
    if stops:
        history.failing = history.failing or {"node_id": event.key, **stops}


def _expired(history: "History", event: Event) -> None:
    history.close_gate(event.key, "expired")
    history.settle(event.key, FAILED, event)
    history.failing = history.failing or {"node_id": event.key, **event.data["failure"]}


def _escalated(history: "History", event: Event) -> None:
    history.gates[event.key].escalated_at = event.at


def _closed(history: "History", event: Event) -> None:
    history.close_gate(event.key, "closed")


FOLDS: dict[str, Callable[["History", Event], None]] = {
    e.RUN_STARTED: _started,
    e.RUN_REOPENED: _reopened,
    e.RUN_STUCK: _stuck,
    e.RUN_RESUMED: _resumed,
    e.RUN_COMPLETED: _completed_run,
    e.RUN_FAILED: _failed_run,
    e.RUN_CANCELLED: _cancelled,
    e.STEP_SCHEDULED: _scheduled,
    e.STEP_COMPLETED: _completed,
    e.STEP_FAILED: _failed,
    e.STEP_UNPERFORMED: _unperformed,
    e.STEP_WITHDRAWN: _withdrawn,
    e.STEP_GAVE_UP: _gave_up,
    e.STEP_SKIPPED: _skipped,
    e.CONDITION_EVALUATED: _evaluated,
    e.DELIVERY_TRIED: _delivered,
    e.DELIVERY_REQUESTED: _requested,
    e.GATE_OPENED: _opened,
    e.GATE_VOTED: _voted,
    e.GATE_ANSWERED: _answered,
    e.GATE_EXPIRED: _expired,
    e.GATE_ESCALATED: _escalated,
    e.GATE_CLOSED: _closed,
}
