"""The one scheduler of all static dialects: a plan and a history go in, the next events come out."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from hermes_workflow.core import events as e
from hermes_workflow.core.events import Event
from hermes_workflow.core.expressions import explain
from hermes_workflow.core.failures import hint_for
from hermes_workflow.core.history import History
from hermes_workflow.core.outputs import answer_output, has_output
from hermes_workflow.core.plan import Plan, Step
from hermes_workflow.core.retry import after_failure
from hermes_workflow.core.states import FAILED, FALSE, PASSED, SKIPPED, GateState


def performs_all(step: Step) -> bool:
    """Every agent step has a performer."""
    return True


@dataclass(frozen=True, slots=True)
class Program:
    """What decides for a run: its plan, and which agent steps have a performer now (the others wait for a person)."""

    plan: Plan
    has_performer: Callable[[Step], bool] = performs_all


def decide(program: Program, history: History) -> list[Event]:
    """All that follows from `history`, at the time of its last event; it is left alone. Deciding on the result adds nothing."""
    fork = history.fork()
    return list(advance(program, fork, lambda event: replace(event, at=fork.at)))


def advance(program: Program, history: History, record: Callable[[Event], Event]) -> Iterator[Event]:
    """Fold what follows into `history` until nothing does; `record` gives each event its seq and time first."""
    while found := _next(program, history):
        for event in found:
            recorded = record(event)
            history.apply(recorded)
            yield recorded


def _next(program: Program, history: History) -> list[Event]:
    history.require_known()
    if history.ended:
        return []
    return _tallied(history) or _ending(history) or _retried(program, history) or _started(program, history) or _finished(history)


def _tallied(history: History) -> list[Event]:
    """Votes become an answer; a gate that can no longer reach its quorum is escalated once."""
    for key in history.open_gates:
        gate = history.gates[key]
        if gate.votes and (event := verdict(history, gate)):
            return [event]
    return []


def verdict(history: History, gate: GateState) -> Event | None:
    """The first option with enough votes wins; one vote for a `stop_on` option is enough."""
    winner = tally(gate)
    if winner is not None:
        data = {"round": gate.round, "answer": winner["answer"], "by": winner["by"], "name": winner["name"]}
        data["comment"] = winner.get("comment", "")
        data["tests"] = tests_for(history.plan, gate.key, answer_output(data))
        if winner["answer"] in gate.stop_on:
            data["stops"] = {"msg": _rejection(winner), "kind": "rejected", "hint": hint_for("rejected")}
        return Event(e.GATE_ANSWERED, gate.key, data)
    if not gate.escalated_at and _unreachable(gate):
        return Event(e.GATE_ESCALATED, gate.key, {"round": gate.round, "why": "quorum"})
    return None


def tally(gate: GateState) -> dict[str, Any] | None:
    """The vote that decided, or None while none has. Pure: the same votes give the same answer."""
    counts: dict[str, int] = {}
    for vote in gate.votes:
        counts[vote["answer"]] = counts.get(vote["answer"], 0) + 1
        if counts[vote["answer"]] >= gate.quorum or vote["answer"] in gate.stop_on:
            return vote
    return None


def _unreachable(gate: GateState) -> bool:
    left = gate.votes[-1].get("left")
    counts = [sum(vote["answer"] == option for vote in gate.votes) for option in gate.options]
    return left is not None and max(counts) + left < gate.quorum


def _rejection(vote: dict[str, Any]) -> str:
    said = f"{vote['name']} answered {vote['answer']}"
    return f"{said}: {vote['comment']}" if vote.get("comment") else said


def _ending(history: History) -> list[Event]:
    """A failing run drains: nothing new starts, gates close, and it has failed once nothing is open."""
    if not history.failing:
        return []
    closing = [Event(e.GATE_CLOSED, key, {"round": history.gates[key].round, "why": "failed"}) for key in history.open_gates]
    if closing or history.open_attempts:
        return closing
    return [Event(e.RUN_FAILED, "", history.failing)]


def _retried(program: Program, history: History) -> list[Event]:
    for key in history.undecided:
        step = program.plan.step.get(key) or Step(key, "agent")
        return [after_failure(program.plan.policy, step, history.steps[key])]
    return []


def _started(program: Program, history: History) -> list[Event]:
    """The first ready step, if the policy has room for one more."""
    bound = program.plan.policy.concurrency
    if not history.ready or history.failing or (bound and len(history.open_attempts) + len(history.open_gates) >= bound):
        return []
    key = min(history.ready, key=program.plan.position.__getitem__)
    step = program.plan.step[key]
    if because := _skip_reason(program.plan, history, step):
        return [Event(e.STEP_SKIPPED, key, {"because": because})]
    try:
        return [_RULES[step.kind](program, history, step)]
    except Exception as error:  # a fault inside a rule fails its step, visibly, instead of the whole run's turn
        return [Event(e.STEP_GAVE_UP, key, {"msg": f"{type(error).__name__}: {error}", "kind": "internal", "hint": hint_for("internal")})]


def _skip_reason(plan: Plan, history: History, step: Step) -> str:
    """A step with any skipped parent is skipped; with `join: any`, only when all of them are."""
    edges = [edge for edge in plan.parents[step.id] if not edge.loop]
    dead = [edge.source for edge in edges if not history.takes(edge)]
    if not dead or (step.join == "any" and len(dead) < len(edges)):
        return ""
    source = dead[0]
    said = {SKIPPED: "was skipped", FALSE: "is false", FAILED: "failed", PASSED: "passed"}
    return f"{source} {said[history.outcome(source)]}"


def _finished(history: History) -> list[Event]:
    busy = history.open_attempts or history.open_gates or history.undecided or history.ready or history.failing
    return [] if busy or history.left else [Event(e.RUN_COMPLETED)]


def _agent(program: Program, history: History, step: Step) -> Event:
    parked = history.state(step.id).parked or history.started.get("perform") == "caller" or not program.has_performer(step)
    if parked:
        return _open(history, step, {"kind": "agent"})
    return Event(e.STEP_SCHEDULED, step.id, {"number": history.state(step.id).number + 1, "kind": "agent"})


def _condition(program: Program, history: History, step: Step) -> Event:
    source = step.spec["reads"]
    if history.outcome(source) == SKIPPED:
        result, trace = False, f"path missing: {source} was skipped"
    else:
        result, trace = history.tests.get(step.spec["expression"], (False, f"path missing: {source} has no output"))
    tests = tests_for(program.plan, step.id, {"result": result})
    return Event(e.CONDITION_EVALUATED, step.id, {"result": result, "trace": trace, "tests": tests})


def _approval(program: Program, history: History, step: Step) -> Event:
    spec = step.spec
    rules = {
        "kind": "approval",
        "options": spec["options"],
        "quorum": spec["quorum"],
        "stop_on": spec["stop_on"],
        "on_timeout": spec["on_timeout"],
        "minutes": spec["timeout_minutes"],
    }
    return _open(history, step, rules)


def _open(history: History, step: Step, rules: dict[str, Any]) -> Event:
    earlier = history.gates.get(step.id)
    return Event(e.GATE_OPENED, step.id, {"round": earlier.round + 1 if earlier else 1, **rules})


def _output(program: Program, history: History, step: Step) -> Event:
    if step.spec.get("deliver"):
        return Event(e.STEP_SCHEDULED, step.id, {"number": history.state(step.id).number + 1, "kind": "deliver"})
    return Event(e.STEP_COMPLETED, step.id, {"collect": collected(history, step)})


def collected(history: History, step: Step) -> list[str]:
    """The direct parents whose outputs an output node holds."""
    above = [edge.source for edge in history.plan.edges if edge.target == step.id]
    return [key for key in dict.fromkeys(above) if has_output(history, key)]


def tests_for(plan: Plan, key: str, value: Any) -> dict[str, list[Any]]:
    """`{expression: [result, trace]}` of each condition that reads the output of `key`, itself or inside the output nodes below it."""
    found: dict[str, list[Any]] = {}
    for text, through in plan.readers.get(key, ()):
        seen = {key: value}
        for node in reversed(through):
            seen = {node: seen}
        found[text] = list(explain(text, seen))
    return found


_RULES: dict[str, Callable[[Program, History, Step], Event]] = {
    "agent": _agent,
    "condition": _condition,
    "approval": _approval,
    "output": _output,
}
