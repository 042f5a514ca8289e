"""Histories of every release fold and decide today as they did then."""

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from hermes_workflow.core import events as e
from hermes_workflow.core.deadlines import expire
from hermes_workflow.core.events import Event
from hermes_workflow.core.history import History
from hermes_workflow.core.plan import Plan
from hermes_workflow.core.scheduler import Program, decide
from tests.golden.stories import result_of

FILES = sorted(Path(__file__).parent.parent.glob("golden/*/*.json"))
STAMPED = {"digest", "asked", "to", "reached"}  # added to an event when it is recorded
ALWAYS_DECIDED = {e.STEP_SCHEDULED, e.STEP_GAVE_UP, e.STEP_SKIPPED, e.CONDITION_EVALUATED, e.GATE_OPENED, e.RUN_COMPLETED, e.RUN_FAILED}

stored = pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")


def read(path: Path) -> tuple[Plan, list[Event], dict[str, Any]]:
    kept = json.loads(path.read_text())
    events = [
        Event(seq=seq, v=v, type=type_, key=key, at=datetime.fromisoformat(at), data=data, body=body)
        for seq, v, type_, key, at, data, body in kept["events"]
    ]
    return Plan.from_body(kept["plan"]), events, kept["result"]


def bare(event: Event) -> tuple[str, str, dict[str, Any]]:
    return event.type, event.key, {name: value for name, value in event.data.items() if name not in STAMPED}


def prefixes(plan: Plan, events: list[Event]) -> Iterator[tuple[History, Event]]:
    """Each event with the history before it."""
    history = History(plan)
    for event in events:
        yield history, event
        history.apply(event)


def was_decided(history: History, event: Event) -> bool:
    """Whether the scheduler said it, rather than the world."""
    if event.type in (e.GATE_ANSWERED, e.GATE_CLOSED):
        return history.gates[event.key].kind != "agent"
    return event.type in ALWAYS_DECIDED or (event.type == e.STEP_COMPLETED and "number" not in event.data)


def test_there_are_stored_histories():
    assert FILES


@stored
def test_a_stored_history_comes_to_the_same_result(path: Path):
    plan, events, result = read(path)
    assert result_of(History(plan, events), {event.seq: event.body for event in events}) == result


@stored
def test_every_stored_decision_would_be_made_again(path: Path):
    plan, events, _ = read(path)
    parks_all = events[0].data["perform"] == "caller"
    program = Program(plan, lambda step: not parks_all)
    for history, event in prefixes(plan, events):
        if was_decided(history, event):
            assert bare(decide(program, history)[0]) == bare(event)
    assert decide(program, History(plan, events)) == []


@stored
def test_every_stored_expiry_would_be_found_again(path: Path):
    plan, events, _ = read(path)
    for history, event in prefixes(plan, events):
        if event.type in (e.GATE_EXPIRED, e.GATE_ESCALATED):
            assert bare(expire(history, event.at)[0]) == bare(event)
