"""The fold of a run's events: what is settled, what is open, what is ready. Small data only, never an output."""

from collections.abc import Iterable
from copy import deepcopy
from datetime import datetime
from typing import Any

from hermes_workflow.core import events as e
from hermes_workflow.core.errors import NeedsNewerCode
from hermes_workflow.core.events import Event
from hermes_workflow.core.folds import FOLDS
from hermes_workflow.core.plan import Edge, Plan
from hermes_workflow.core.states import FAILED, PASSED, GateState, StepState
from hermes_workflow.core.upcast import VERSION, lift


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
        self.resends: dict[str, int] = {}
        self.requests: dict[str, str] = {}
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
        self.unknown = self.unknown or plan.unknown
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

    def require_known(self) -> None:
        """Raises NeedsNewerCode when newer code wrote an event or the plan: what follows cannot be told here."""
        if self.unknown:
            raise NeedsNewerCode(self.unknown)

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
        fold = FOLDS.get(event.type)
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
