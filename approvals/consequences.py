"""What an answer would do: a dry run of the same pure decide, on a copy of the run's history."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from django.utils import timezone

from hermes_workflow.core import events as e
from hermes_workflow.core.deadlines import expire
from hermes_workflow.core.events import Event
from hermes_workflow.core.history import History
from hermes_workflow.core.plan import Plan
from hermes_workflow.core.scheduler import Program, advance, collected
from hermes_workflow.core.states import GateState
from runs import engine, performers
from runs.documents import instant
from runs.models import Gate


@dataclass(frozen=True, slots=True)
class Consequence:
    """What follows from an option (the empty option: from no answer). `runs` and `sends` are what is certain to start."""

    option: str
    text: str
    runs: list[str]
    sends: list[str]
    fails: bool


def consequences(gate: Gate) -> list[Consequence]:
    """One per option, in order; empty for an agent step or a gate that is over."""
    if gate.kind == Gate.Kind.AGENT or gate.status != Gate.Status.OPEN:
        return []
    with engine.glance(gate.run_id) as turn:
        state = _current(gate, turn.history)
        if state is None:
            return []
        program = Program(turn.plan, performers.resolver(turn.plan))
        return [_of_option(program, turn.history, state, option) for option in gate.options]


def without_answer(gate: Gate) -> Consequence | None:
    """What happens when nobody answers; None when the gate is over."""
    if gate.status != Gate.Status.OPEN:
        return None
    if gate.due_at is None or (gate.escalated_at and gate.on_timeout == "escalate"):
        return Consequence("", "The run keeps waiting.", [], [], False)
    if gate.on_timeout == "escalate":
        whom = gate.rules.get("escalate_to") or "nobody else"
        return Consequence("", f"At {instant(gate.due_at)} {whom} is asked as well; the run keeps waiting.", [], [], False)
    with engine.glance(gate.run_id) as turn:
        program = Program(turn.plan, performers.resolver(turn.plan))
        due = gate.due_at
        found = _told(turn.plan, "", lambda: _foreseen(program, turn.history, lambda fork: expire(fork, due)))
    return replace(found, text=f"At {instant(due)}: {_inside(found)}")


def _current(gate: Gate, history: History) -> GateState | None:
    state = history.gates.get(gate.key)
    return state if state and state.round == gate.round and state.status == "open" else None


def _of_option(program: Program, history: History, state: GateState, option: str) -> Consequence:
    """One more vote for the option; where that is not enough, what the votes that are missing would lead to."""
    had = sum(vote["answer"] == option for vote in state.votes)
    needed = 1 if option in state.stop_on else max(state.quorum - had, 1)
    votes = [_vote(state, option) for _ in range(needed)]
    found = _told(history.plan, option, lambda: _foreseen(program, history, lambda fork: votes))
    if needed == 1:
        return found
    return replace(found, text=f"Counts as vote {had + 1} of {state.quorum}. With {state.quorum}: {_inside(found)}")


def _vote(state: GateState, option: str) -> Event:
    return Event(e.GATE_VOTED, state.key, {"round": state.round, "by": 0, "name": "", "answer": option, "comment": "", "left": None})


def _foreseen(program: Program, history: History, facts: Callable[[History], list[Event]]) -> list[Event]:
    """Everything that is certain to follow. A delivery never fails a run, so what comes after one is certain too."""
    fork, now = history.fork(), timezone.now()
    for fact in facts(fork):
        fork.apply(_stamped(fork, fact, now))
    found: list[Event] = []
    while True:
        found += advance(program, fork, lambda event: _stamped(fork, event, now))
        sent = [key for key, kind in fork.open_attempts.items() if kind == "deliver"]
        if not sent:
            return found
        for key in sent:
            done = {"number": fork.state(key).number, "collect": collected(fork, fork.plan.step[key])}
            fork.apply(_stamped(fork, Event(e.STEP_COMPLETED, key, done), now))


def _stamped(history: History, event: Event, now: datetime) -> Event:
    return replace(event, seq=history.seq + 1, at=now)


def _told(plan: Plan, option: str, foresee: Callable[[], list[Event]]) -> Consequence:
    try:
        events = foresee()
    except Exception:  # a plan that decides only with newer code still shows its gate
        return Consequence(option, "What follows cannot be foreseen.", [], [], False)
    runs = [event.key for event in events if event.type == e.STEP_SCHEDULED and event.data["kind"] != "deliver"]
    sends = [event.key for event in events if event.type == e.STEP_SCHEDULED and event.data["kind"] == "deliver"]
    fails = any(event.type == e.RUN_FAILED for event in events)
    return Consequence(option, _text(plan, events, runs, sends), runs, sends, fails)


def _text(plan: Plan, events: list[Event], runs: list[str], sends: list[str]) -> str:
    """What happens, in order; that nothing is sent is said only where the plan sends at all."""
    asks = [event.key for event in events if event.type == e.GATE_OPENED and event.data["kind"] != "agent"]
    parks = [event.key for event in events if event.type == e.GATE_OPENED and event.data["kind"] == "agent"]
    failed = next((event.data["msg"] for event in events if event.type == e.RUN_FAILED), "")
    done = any(event.type == e.RUN_COMPLETED for event in events)
    could_send = any(step.spec.get("deliver") for step in plan.steps)
    parts = [
        *(_sending(plan, key) for key in sends),
        f"runs {_names(runs)} and continues at its result" if runs else "",
        f"asks at {_names(asks)}" if asks else "",
        f"waits for the agent at {_names(parks)}" if parks else "",
        "the run finishes" if done else "",
        f"the run fails: {failed.strip()}" if failed else "",
    ]
    text = ", then ".join(part for part in parts if part) or "the run keeps waiting"
    nothing = ", and nothing is sent" if (done or failed) and could_send and not sends else ""
    return f"{text if sends else _capital(text)}{nothing}."


def _inside(found: Consequence) -> str:
    """The text after a colon; a node's name keeps its first letter."""
    return found.text if found.sends else f"{found.text[:1].lower()}{found.text[1:]}"


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _sending(plan: Plan, key: str) -> str:
    spec = plan.step[key].spec
    verb = "posts to" if spec["deliver"] == "channel" else "tells"
    return f"{key} {verb} {spec.get('target') or 'who started the run'}"


def _names(keys: list[str]) -> str:
    shown = ", ".join(keys[:5])
    return f"{shown} and {len(keys) - 5} more" if len(keys) > 5 else shown
