"""Deadlines: what the passing of time does to a run, and when it does so next."""

from datetime import datetime, timedelta

from hermes_workflow.core import events as e
from hermes_workflow.core.events import Event
from hermes_workflow.core.failures import hint_for
from hermes_workflow.core.history import GateState, History

STUCK_AGAIN = timedelta(seconds=60)
TIMED_OUT = {"msg": "approval timed out", "kind": "approval_timeout", "hint": hint_for("approval_timeout")}


def expire(history: History, now: datetime) -> list[Event]:
    """What is due at `now`, earliest first. Each event moves the next deadline on, so asking again gives nothing."""
    if history.ended:
        return []
    due = [gate for gate in _open(history) if _next(gate) is not None and gate.due_at <= now]  # type: ignore[operator]
    return [_event(gate) for gate in sorted(due, key=lambda gate: (gate.due_at, gate.key))]


def due_at(history: History) -> datetime | None:
    """When the run must be looked at next; None when only a fact can move it."""
    if history.ended:
        return None
    moments = [moment for gate in _open(history) if (moment := _next(gate)) is not None]
    if history.stuck and history.stuck_at:
        moments.append(history.stuck_at + STUCK_AGAIN)
    return min(moments, default=None)


def _open(history: History) -> list[GateState]:
    return [history.gates[key] for key in history.open_gates]


def _next(gate: GateState) -> datetime | None:
    return None if gate.escalated_at else gate.due_at


def _event(gate: GateState) -> Event:
    if gate.on_timeout == "escalate":
        return Event(e.GATE_ESCALATED, gate.key, {"round": gate.round, "why": "deadline"})
    return Event(e.GATE_EXPIRED, gate.key, {"round": gate.round, "failure": TIMED_OUT})
