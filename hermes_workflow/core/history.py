"""The fold of a run's events: what is settled, what is open, what is ready. Small data only, never an output."""

from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from hermes_workflow.core import events as e
from hermes_workflow.core.events import Event
from hermes_workflow.core.plan import Edge, Plan
from hermes_workflow.core.upcast import VERSION, lift

PASSED, FAILED, SKIPPED, FALSE = "passed", "failed", "skipped", "false"


@dataclass(slots=True)
class StepState:
    """One step so far. `outcome` is empty until it is settled; `tries` counts failures since the last re-entry."""

    outcome: str = ""
    number: int = 0
    tries: int = 0
    spared: bool = False
    parked: bool = False
    failure: dict[str, Any] | None = None
    body_seq: int = 0
    data: dict[str, Any] = field(default_factory=dict)
    at: datetime | None = None


@dataclass(slots=True)
class GateState:
    """The latest round of a gate."""

    key: str
    round: int
    kind: str
    options: list[str]
    quorum: int
    stop_on: list[str]
    on_timeout: str
    waiting_since: datetime
    due_at: datetime | None
    digest: str
    body_seq: int
    votes: list[dict[str, Any]] = field(default_factory=list)
    escalated_at: datetime | None = None
    answer: dict[str, Any] | None = None
    status: str = "open"


class History:
    """A run's state as its events give it. Mutable: `apply` folds one more event."""

    def __init__(self, plan: Plan, events: Iterable[Event] = ()) -> None:
        self.seq = 0
        self.at: datetime | None = None
        self.started: dict[str, Any] = {}
        self.started_at: datetime | None = None
        self.steps: dict[str, StepState] = {}
        self.gates: dict[str, GateState] = {}
        self.open_attempts: dict[str, str] = {}
        self.undecided: dict[str, None] = {}
        self.open_gates: dict[str, None] = {}
        self.tests: dict[str, list[Any]] = {}
        self.failing: dict[str, Any] | None = None
        self.ended = ""
        self.ended_at: datetime | None = None
        self.error: dict[str, Any] | None = None
        self.stuck: dict[str, Any] | None = None
        self.stuck_at: datetime | None = None
        self.stuck_times = 0
        self.retried_at: datetime | None = None
        self.unknown = ""
        self.adopt(plan)
        for event in events:
            self.apply(event)

    def adopt(self, plan: Plan) -> None:
        """Follow `plan` from now on; what is settled stays settled."""
        self.plan = plan
        self.missing: dict[str, int] = {}
        self.ready: set[str] = set()
        for step in plan.steps:
            open_parents = sum(not self.settled(edge.source) for edge in plan.parents[step.id] if not edge.loop)
            self.missing[step.id] = open_parents
            if not open_parents and not self.settled(step.id) and not self.is_open(step.id):
                self.ready.add(step.id)
        self.left = sum(not self.settled(step.id) for step in plan.steps)
        self.cursor = 0
        self._move_cursor()

    def _move_cursor(self) -> None:
        """The index of the first step without an outcome; the number of steps when there is none."""
        steps = self.plan.steps
        while self.cursor < len(steps) and self.settled(steps[self.cursor].id):
            self.cursor += 1

    def settled(self, key: str) -> bool:
        """Whether the step has an outcome."""
        state = self.steps.get(key)
        return state is not None and bool(state.outcome)

    def is_open(self, key: str) -> bool:
        """Whether somebody or something works on the step now."""
        return key in self.open_attempts or key in self.undecided or key in self.open_gates

    def outcome(self, key: str) -> str:
        """passed, failed, skipped, false, or empty while unsettled."""
        state = self.steps.get(key)
        return state.outcome if state else ""

    def state(self, key: str) -> StepState:
        """The state of a step, made when first asked for."""
        state = self.steps.get(key)
        if state is None:
            state = self.steps[key] = StepState()
        return state

    def takes(self, edge: Edge) -> bool:
        """Whether a settled source takes this edge."""
        outcome = self.outcome(edge.source)
        return outcome == (FAILED if edge.on == "fail" else PASSED)

    def fork(self) -> "History":
        """A copy that can be folded further without touching this one."""
        return deepcopy(self, {id(self.plan): self.plan})

    def apply(self, raw: Event) -> None:
        """Fold one event. One that this code does not know is remembered and makes the next decision stuck."""
        event = lift(raw)
        self.seq = event.seq or self.seq + 1
        self.at = event.at or self.at
        fold = _FOLDS.get(event.type)
        if fold is None or event.v > VERSION:
            self.unknown = f"{event.type} v{event.v}"
            return
        if event.type != e.RUN_STUCK:
            self.stuck, self.stuck_times = None, 0
        self.tests.update(event.data.get("tests") or {})
        fold(self, event)

    def settle(self, key: str, outcome: str, event: Event) -> None:
        """Give a step its outcome and tell its children."""
        state = self.state(key)
        if state.outcome:
            return
        state.outcome, state.at, state.failure = outcome, event.at, None
        self.open_attempts.pop(key, None)
        self.undecided.pop(key, None)
        self.ready.discard(key)
        if key not in self.missing:
            return
        self.left -= 1
        self._move_cursor()
        for edge in self.plan.children[key]:
            if edge.loop:
                continue
            self.missing[edge.target] -= 1
            if not self.missing[edge.target] and not self.settled(edge.target):
                self.ready.add(edge.target)

    def close_gate(self, key: str, status: str) -> None:
        """End the open round of a gate."""
        self.gates[key].status = status
        self.open_gates.pop(key, None)


def _started(history: History, event: Event) -> None:
    history.started, history.started_at = dict(event.data), event.at


def _reopened(history: History, event: Event) -> None:
    for key in event.data["keys"]:
        old = history.steps.get(key, StepState())
        history.steps[key] = StepState(number=old.number)
        history.open_attempts.pop(key, None)
        history.undecided.pop(key, None)
        if key in history.open_gates:
            history.close_gate(key, "closed")
    history.failing = history.error = history.ended_at = None
    history.ended = ""
    if event.data["why"] == "retry":
        history.retried_at = event.at
    history.adopt(history.plan)


def _stuck(history: History, event: Event) -> None:
    history.stuck, history.stuck_at = dict(event.data), event.at
    history.stuck_times += 1


def _resumed(history: History, event: Event) -> None:
    """Any event but `run.stuck` ends being stuck; this one says no more than that."""


def _completed_run(history: History, event: Event) -> None:
    history.ended, history.ended_at = "done", event.at


def _failed_run(history: History, event: Event) -> None:
    history.ended, history.ended_at, history.error = "failed", event.at, dict(event.data)


def _cancelled(history: History, event: Event) -> None:
    history.ended, history.ended_at = "cancelled", event.at
    history.open_attempts.clear()
    history.undecided.clear()
    for key in list(history.open_gates):
        history.close_gate(key, "closed")


def _scheduled(history: History, event: Event) -> None:
    state = history.state(event.key)
    state.number = event.data["number"]
    state.spared = state.spared or bool(event.data.get("extra"))
    history.ready.discard(event.key)
    history.undecided.pop(event.key, None)
    history.open_attempts[event.key] = event.data["kind"]


def _completed(history: History, event: Event) -> None:
    state = history.state(event.key)
    state.number = max(state.number, event.data.get("number", 0))
    if state.outcome:
        return
    state.body_seq = event.seq
    state.data = dict(event.data)
    history.settle(event.key, PASSED, event)


def _failed(history: History, event: Event) -> None:
    state = history.state(event.key)
    if state.outcome:
        return
    state.tries += 1
    state.failure = dict(event.data)
    history.open_attempts.pop(event.key, None)
    history.undecided[event.key] = None


def _unperformed(history: History, event: Event) -> None:
    history.state(event.key).parked = True
    history.open_attempts.pop(event.key, None)
    history.ready.add(event.key)


def _gave_up(history: History, event: Event) -> None:
    history.settle(event.key, FAILED, event)
    if not any(edge.on == "fail" for edge in history.plan.children.get(event.key, ())):
        history.failing = history.failing or {"node_id": event.key, **event.data}


def _skipped(history: History, event: Event) -> None:
    history.state(event.key).data = dict(event.data)
    history.settle(event.key, SKIPPED, event)


def _evaluated(history: History, event: Event) -> None:
    history.state(event.key).data = dict(event.data)
    history.settle(event.key, PASSED if event.data["result"] else FALSE, event)


def _delivered(history: History, event: Event) -> None:
    history.state(event.key)


def _opened(history: History, event: Event) -> None:
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


def _voted(history: History, event: Event) -> None:
    history.gates[event.key].votes.append({**event.data, "at": event.at})


def _answered(history: History, event: Event) -> None:
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


def _expired(history: History, event: Event) -> None:
    history.close_gate(event.key, "expired")
    history.settle(event.key, FAILED, event)
    history.failing = history.failing or {"node_id": event.key, **event.data["failure"]}


def _escalated(history: History, event: Event) -> None:
    history.gates[event.key].escalated_at = event.at


def _closed(history: History, event: Event) -> None:
    history.close_gate(event.key, "closed")


_FOLDS: dict[str, Callable[[History, Event], None]] = {
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
    e.STEP_GAVE_UP: _gave_up,
    e.STEP_SKIPPED: _skipped,
    e.CONDITION_EVALUATED: _evaluated,
    e.DELIVERY_TRIED: _delivered,
    e.GATE_OPENED: _opened,
    e.GATE_VOTED: _voted,
    e.GATE_ANSWERED: _answered,
    e.GATE_EXPIRED: _expired,
    e.GATE_ESCALATED: _escalated,
    e.GATE_CLOSED: _closed,
}
