"""What holds for every program and everything that can happen to its run."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_workflow.core import events as e
from hermes_workflow.core.deadlines import due_at, expire
from hermes_workflow.core.events import Event
from hermes_workflow.core.history import History
from hermes_workflow.core.outputs import output_of, outputs, seqs_for
from hermes_workflow.core.plan import Plan
from hermes_workflow.core.scheduler import decide
from hermes_workflow.core.states import PASSED, StepState
from hermes_workflow.core.status import status_of
from tests.unit.worlds import World, canvas_plans, plans

LIVES = settings(max_examples=60, deadline=None)
MOVES = 25


def lives(data: st.DataObject, of: st.SearchStrategy[Plan] | None = None) -> Any:
    """A world after each thing that happened to it."""
    world = World(
        data.draw(plans() if of is None else of),
        data.draw(st.sampled_from([lambda step: True, lambda step: False, lambda step: step.id != "n0"])),
    )
    yield world
    for _ in range(data.draw(st.integers(0, MOVES))):
        world.move(data.draw, *data.draw(st.sampled_from(world.moves())))
        yield world


def state_of(history: History) -> dict[str, Any]:
    """Everything a history knows; a step that nothing happened to is as good as none."""
    steps = {key: state for key, state in history.steps.items() if state != StepState()}
    return {name: value for name, value in vars(history).items() if name not in ("plan", "steps")} | {"steps": steps}


@LIVES
@given(st.data())
def test_deciding_twice_adds_nothing(data: st.DataObject):
    for world in lives(data):
        assert decide(world.program, world.history) == []


@LIVES
@given(st.data())
def test_deciding_leaves_the_history_alone(data: st.DataObject):
    for world in lives(data):
        before = state_of(world.history)
        decide(world.program, world.history)
        assert state_of(world.history) == before


@LIVES
@given(st.data())
def test_every_run_ends_or_waits_for_something_named(data: st.DataObject):
    for world in lives(data):
        history = world.history
        assert history.ended or history.open_attempts or history.open_gates
        assert not history.ready or history.open_attempts or history.open_gates or history.ended


@LIVES
@given(st.data())
def test_folding_event_by_event_is_folding_from_the_start(data: st.DataObject):
    for world in lives(data):
        assert state_of(world.history) == state_of(History(world.plan, world.log))


@LIVES
@given(st.data())
def test_a_fold_never_needs_a_body(data: st.DataObject):
    for world in lives(data):
        assert all(event.body is None for event in world.log)


@LIVES
@given(st.data())
def test_no_output_is_ever_lost(data: st.DataObject):
    for world in lives(data):
        needed = {seq: world.bodies[seq] for seq in seqs_for(world.history, [world.plan.trigger, *world.plan.step])}
        shown = outputs(world.history, needed)
        for key, value in world.kept.items():
            assert shown[key] == value
            assert type(shown[key]) is type(value)
            assert output_of(world.history, needed, key) == value


@LIVES
@given(st.data())
def test_status_and_cursor_say_what_the_history_says(data: st.DataObject):
    for world in lives(data):
        history, status = world.history, status_of(world.history)
        kinds = {history.gates[key].kind for key in history.open_gates}
        assert (status in ("done", "failed", "cancelled")) == bool(history.ended)
        assert (status == "running") == (not history.ended and bool(history.open_attempts))
        if status.startswith("awaiting"):
            assert status == ("awaiting_approval" if "approval" in kinds else "awaiting_agent")
        assert (status == "failed") == (history.error is not None)
        settled = [history.settled(step.id) for step in world.plan.steps]
        assert history.cursor == (settled.index(False) if False in settled else len(settled))
        if status == "done":
            assert all(settled)


@LIVES
@given(st.data())
def test_what_is_due_is_the_earliest_deadline_and_expiring_moves_it_on(data: st.DataObject):
    for world in lives(data):
        due = due_at(world.history)
        gates = [world.history.gates[key] for key in world.history.open_gates]
        waiting = [gate for gate in gates if gate.due_at and not (gate.escalated_at and gate.on_timeout == "escalate")]
        assert due == min((gate.due_at for gate in waiting), default=None)
        if due is None:
            assert expire(world.history, world.now.replace(year=2100)) == []
            continue
        fork = world.history.fork()
        assert expire(fork, due)
        for number, event in enumerate(expire(fork, due), fork.seq + 1):
            fork.apply(type(event)(event.type, event.key, event.data, at=due, seq=number))
        assert expire(fork, due) == []
        later = due_at(fork)
        assert later is None or later > due


@LIVES
@given(st.data())
def test_no_more_runs_at_once_than_the_policy_allows_and_a_failing_run_starts_nothing(data: st.DataObject):
    for world in lives(data):
        bound = world.plan.policy.concurrency
        busy = len(world.history.open_attempts) + len(world.history.open_gates)
        assert not bound or busy <= bound
        assert not (world.history.ended and world.history.open_gates)


@LIVES
@given(st.data())
def test_what_is_ready_starts_at_once_as_far_as_the_policy_allows(data: st.DataObject):
    for world in lives(data):
        history, bound = world.history, world.plan.policy.concurrency
        full = bound and len(history.open_attempts) + len(history.open_gates) >= bound
        assert not history.ready or full or history.failing or history.ended


@LIVES
@given(st.data())
def test_nothing_begins_between_a_failure_and_the_end_of_its_run(data: st.DataObject):
    for world in lives(data):
        history = History(world.plan)
        for event in world.log:
            assert not (history.failing and event.type == e.STEP_SCHEDULED)
            history.apply(event)


@LIVES
@given(st.data())
def test_a_step_of_a_canvas_begins_once_all_before_it_have_passed(data: st.DataObject):
    for world in lives(data, canvas_plans()):
        history = History(world.plan)
        for event in world.log:
            if event.type in (e.STEP_SCHEDULED, e.GATE_OPENED):
                assert {history.outcome(edge.source) for edge in world.plan.parents[event.key]} <= {PASSED}
            history.apply(event)
        if history.ended == "done":
            assert {history.outcome(step.id) for step in world.plan.steps} == {PASSED}


@LIVES
@given(st.data())
def test_attempt_numbers_only_grow(data: st.DataObject):
    numbers: dict[str, int] = {}
    for world in lives(data):
        for key, state in world.history.steps.items():
            assert state.number >= numbers.get(key, 0)
            numbers[key] = state.number


@LIVES
@given(st.data())
def test_sending_again_changes_nothing_but_numbers_and_receipts(data: st.DataObject):
    for world in lives(data):
        for key in [key for key, state in world.history.steps.items() if state.delivered and world.history.ended != "cancelled"]:
            fork, state = world.history.fork(), world.history.steps[key]
            number = state.number + 1
            fork.apply(
                Event(e.DELIVERY_REQUESTED, key, {"number": number, "kind": "deliver", "of": state.delivered, "by": "ann", "request": ""})
            )
            fork.apply(Event(e.DELIVERY_TRIED, key, {"number": number, "target": "user:ann", "ok": True, "detail": ""}))
            assert (status_of(fork), fork.cursor, fork.ended, fork.ready) == (
                status_of(world.history),
                world.history.cursor,
                world.history.ended,
                world.history.ready,
            )
            assert fork.steps[key].delivered == state.delivered
            assert decide(world.program, fork) == []


@settings(max_examples=100, deadline=None)
@given(plans())
def test_a_plan_survives_being_stored(plan: Plan):
    again = Plan.from_body(plan.body())
    assert again == plan
    assert again.digest == plan.digest
