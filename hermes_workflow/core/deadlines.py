"""Deadlines: what the passing of time does to a run, and when it does so next."""

from datetime import datetime, timedelta

from hermes_workflow.core import events as e
from hermes_workflow.core.events import Event
from hermes_workflow.core.failures import hint_for
from hermes_workflow.core.history import History
from hermes_workflow.core.scheduler import tally
from hermes_workflow.core.states import GateState

STUCK_AGAIN = timedelta(seconds=60)  # and twice as long after each further look in vain
STUCK_LONGEST = timedelta(hours=1)
TIMED_OUT = {"msg": "approval timed out", "kind": "approval_timeout", "hint": hint_for("approval_timeout")}


def expire(history: History, now: datetime) -> list[Event]:
    """What is due at `now`, earliest first. Each event moves the next deadline on, so asking again gives nothing.

    A history that this code cannot read in full is left alone: the gate may be answered already.
    """
    if history.ended or history.unknown:
        return []
    due = [gate for gate in _open(history) if _next(gate) is not None and gate.due_at <= now]  # type: ignore[operator]
    return [_event(gate) for gate in sorted(due, key=lambda gate: (gate.due_at, gate.key))]


def due_at(history: History) -> datetime | None:
    """When the run must be looked at next; None when only a fact can move it."""
    if history.ended:
        return None
    gates = [] if history.unknown else _open(history)
    moments = [moment for gate in gates if (moment := _next(gate)) is not None]
    if stuck := stuck_until(history):
        moments.append(stuck)
    return min(moments, default=None)


def stuck_until(history: History) -> datetime | None:
    """When a stuck run is tried again; None when it is not stuck."""
    if not history.stuck or not history.stuck_at:
        return None
    return history.stuck_at + min(STUCK_AGAIN * (1 << min(history.stuck_times - 1, 10)), STUCK_LONGEST)


def _open(history: History) -> list[GateState]:
    return [history.gates[key] for key in history.open_gates]


def _next(gate: GateState) -> datetime | None:
    # Votes that decide, recorded in time, are not overtaken by a deadline that passes before they are counted. A gate that was
    # escalated because its quorum is out of reach keeps its reject deadline, or its run could wait for ever.
    done = tally(gate) or (gate.escalated_at and gate.on_timeout == "escalate")
    return None if done else gate.due_at


def _event(gate: GateState) -> Event:
    if gate.on_timeout == "escalate":
        return Event(e.GATE_ESCALATED, gate.key, {"round": gate.round, "why": "deadline"})
    return Event(e.GATE_EXPIRED, gate.key, {"round": gate.round, "failure": TIMED_OUT})
