"""Random programs and what may happen to their runs, move by move, for the properties of the engine's core."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from hermes_workflow.core import events as e
from hermes_workflow.core.deadlines import expire
from hermes_workflow.core.errors import HermesError
from hermes_workflow.core.events import Event
from hermes_workflow.core.failures import HINTS
from hermes_workflow.core.history import History
from hermes_workflow.core.plan import Edge, Plan, Policy, Step
from hermes_workflow.core.reentry import again_from
from hermes_workflow.core.scheduler import Program, decide, tests_for
from hermes_workflow.core.states import FAILED
from hermes_workflow.dialects.canvas import build_canvas_plan
from hermes_workflow.dialects.design import build_run_plan

T0 = datetime(2026, 1, 1, tzinfo=UTC)
VALUES = st.sampled_from([0, False, {}, "", None, [], 7, {"n": 1}, {"n": 9, "list": [1, 2]}, "text", '{"n": 9}'])
OPERATORS = st.sampled_from(["==", "!=", "<", ">="])


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """A valid design: each node comes after a few of those before it."""
    nodes: list[dict[str, Any]] = [{"id": "start", "type": "trigger"}]
    for number in range(draw(st.integers(1, 8))):
        after = draw(st.lists(st.sampled_from([node["id"] for node in nodes]), min_size=1, max_size=3, unique=True))
        kind = draw(st.sampled_from(["agent", "condition", "approval", "output"]))
        join = draw(st.sampled_from(["all", "any"]))
        nodes.append({"id": f"n{number}", "type": kind, "after": after, "join": join, **draw(FIELDS[kind](after))})
    return {"nodes": nodes}


def _agent(after: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"prompt": st.just("do it"), "retries": st.integers(0, 3)})


def _condition(after: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    texts = st.builds(
        "out.{}.{} {} 5".format, st.sampled_from(after), st.sampled_from(["n", "answer", "result", "start.n", "n1.n"]), OPERATORS
    )
    return st.fixed_dictionaries({"expression": texts})


def _approval(after: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    options = ["yes", "no", "later"]
    return st.fixed_dictionaries(
        {
            "question": st.just("go on?"),
            "options": st.just(options),
            "quorum": st.integers(1, 3),
            "stop_on": st.sampled_from([[], ["no"]]),
            "timeout_minutes": st.sampled_from([None, 1, 30]),
            "on_timeout": st.sampled_from(["reject", "escalate"]),
        }
    )


def _output(after: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"deliver": st.sampled_from(["", "notification"])})


FIELDS = {"agent": _agent, "condition": _condition, "approval": _approval, "output": _output}


@st.composite
def canvases(draw: st.DrawFn) -> dict[str, Any]:
    """A canvas: each node after a few of those before it, the connections in any order."""
    ids = [f"n{number}" for number in range(draw(st.integers(1, 12)))]
    pairs = [
        (source, id_) for at, id_ in enumerate(ids) if at for source in draw(st.lists(st.sampled_from(ids[:at]), max_size=3, unique=True))
    ]
    nodes = [{"id": id_, "data": {"title": id_, "input": "do it"}} for id_ in ids]
    return {"nodes": nodes, "edges": [{"source": source, "target": target} for source, target in draw(st.permutations(pairs))]}


def canvas_plans() -> st.SearchStrategy[Plan]:
    """The plan of a canvas, with a cap that is often reached."""
    built = st.builds(build_canvas_plan, canvases())
    return st.builds(lambda plan, cap: replace(plan, policy=Policy(concurrency=cap)), built, st.integers(1, 4))


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """A design's plan, or one of other dialects: several steps at once, edges that failures take, spare tries."""
    kind = draw(st.sampled_from(["design", "other", "canvas"]))
    if kind == "canvas":
        return draw(canvas_plans())
    plan = build_run_plan(draw(documents()))
    if kind == "design":
        return plan
    agents = {step.id for step in plan.steps if step.kind == "agent"}
    edges = tuple(replace(edge, on=draw(st.sampled_from(["", "", "fail"])) if edge.source in agents else "") for edge in plan.edges)
    return replace(plan, edges=edges, policy=Policy(concurrency=draw(st.integers(0, 3)), spare_tries=draw(st.integers(0, 1))))


@dataclass
class World:
    """A run of a random plan. `kept` is what an outside observer remembers of the outputs of its agents."""

    plan: Plan
    performs: Callable[[Step], bool]
    history: History = field(init=False)
    log: list[Event] = field(default_factory=list)
    bodies: dict[int, Any] = field(default_factory=dict)
    kept: dict[str, Any] = field(default_factory=dict)
    now: datetime = T0

    def __post_init__(self) -> None:
        self.history = History(self.plan)
        value = {"n": 6}
        self.happen(Event(e.RUN_STARTED, "", {"perform": "host", "tests": tests_for(self.plan, self.plan.trigger, value)}, body=value))

    @property
    def program(self) -> Program:
        """What decides."""
        return Program(self.plan, self.performs)

    def happen(self, *facts: Event) -> None:
        """Take in facts, then all that follows."""
        self._fold(facts)
        self._fold(decide(self.program, self.history))

    def _fold(self, events: Any) -> None:
        for event in events:
            stamped = replace(event, seq=self.history.seq + 1, at=self.now)
            self.history.apply(stamped)
            self.bodies[stamped.seq] = stamped.body
            self.log.append(replace(stamped, body=None))

    def moves(self) -> list[tuple[str, str]]:
        """What can happen now: `(move, key)`."""
        found = [("wait", ""), ("cancel", ""), ("nothing", "")]
        for key, kind in self.history.open_attempts.items():
            found += [("complete", key), ("fail", key)] + ([("park", key)] if kind == "agent" else [])
            found += [("withdraw", key)] if self.history.failing else []
        for key in self.history.open_gates:
            found.append(("perform" if self.history.gates[key].kind == "agent" else "vote", key))
        found += [("stale", key) for key, state in self.history.steps.items() if state.outcome]
        found += [("sent_again", key) for key in self.history.resends]
        found += [("resend", key) for key, state in self.history.steps.items() if state.delivered and key not in self.history.resends]
        if self.history.ended in ("failed", "done"):
            found += [("retry", "")] + ([("rerun", "")] if self.plan.dialect == "design" else [])
        if self.history.ended:
            found += [("again_from", step.id) for step in self.plan.steps]
        return found

    def move(self, draw: Callable[..., Any], name: str, key: str) -> None:
        """Let it happen."""
        getattr(self, f"_{name}")(draw, key)

    def _nothing(self, draw: Callable[..., Any], key: str) -> None:
        self.happen()

    def _wait(self, draw: Callable[..., Any], key: str) -> None:
        self.now += timedelta(minutes=draw(st.sampled_from([0, 1, 29, 31])))
        self.happen(*expire(self.history, self.now))

    def _cancel(self, draw: Callable[..., Any], key: str) -> None:
        if not self.history.ended and draw(st.integers(0, 9)) == 0:
            self.happen(Event(e.RUN_CANCELLED, "", {"by": "ann", "reason": ""}))

    def _complete(self, draw: Callable[..., Any], key: str) -> None:
        number, value = self.history.state(key).number, draw(VALUES)
        if self.history.open_attempts[key] == "deliver":
            self.happen(self._tried(key, number), Event(e.STEP_COMPLETED, key, {"number": number, "collect": []}))
            return
        self.kept[key] = value
        self.happen(self._completed(key, number, value))

    def _completed(self, key: str, number: int, value: Any) -> Event:
        return Event(e.STEP_COMPLETED, key, {"number": number, "structured": True, "tests": tests_for(self.plan, key, value)}, body=value)

    def _tried(self, key: str, number: int) -> Event:
        return Event(e.DELIVERY_TRIED, key, {"number": number, "target": "user:ann", "ok": True, "detail": ""})

    def _resend(self, draw: Callable[..., Any], key: str) -> None:
        if self.history.ended != "cancelled":
            state = self.history.state(key)
            data = {"number": state.number + 1, "kind": "deliver", "of": state.delivered, "by": "ann", "request": ""}
            self.happen(Event(e.DELIVERY_REQUESTED, key, data))

    def _sent_again(self, draw: Callable[..., Any], key: str) -> None:
        self.happen(self._tried(key, self.history.resends[key]))

    def _fail(self, draw: Callable[..., Any], key: str) -> None:
        kind = draw(st.sampled_from(["rate_limited", "performer_failed", "timeout"]))
        data = {"number": self.history.state(key).number, "kind": kind, "msg": "no", "hint": HINTS[kind]}
        self.happen(Event(e.STEP_FAILED, key, data))

    def _park(self, draw: Callable[..., Any], key: str) -> None:
        self.happen(Event(e.STEP_UNPERFORMED, key, {"number": self.history.state(key).number, "msg": "nobody"}))

    def _withdraw(self, draw: Callable[..., Any], key: str) -> None:
        self.happen(Event(e.STEP_WITHDRAWN, key, {"number": self.history.state(key).number}))

    def _perform(self, draw: Callable[..., Any], key: str) -> None:
        gate, value = self.history.gates[key], draw(VALUES)
        self.kept[key] = value
        answered = Event(e.GATE_ANSWERED, key, {"round": gate.round, "by": "bot", "name": "bot", "answer": ""})
        self.happen(answered, self._completed(key, self.history.state(key).number + 1, value))

    def _vote(self, draw: Callable[..., Any], key: str) -> None:
        gate = self.history.gates[key]
        said = {"answer": draw(st.sampled_from(gate.options)), "left": draw(st.sampled_from([None, 0, 1, 3]))}
        self.happen(Event(e.GATE_VOTED, key, {"round": gate.round, "by": "ann", "name": "ann", "comment": "", "channel": "web", **said}))

    def _stale(self, draw: Callable[..., Any], key: str) -> None:
        """What fences keep out; should one slip through, it must not undo what is settled."""
        number = self.history.state(key).number
        late = Event(e.STEP_FAILED, key, {"number": number, "kind": "timeout", "msg": "late", "hint": ""})
        self._fold([draw(st.sampled_from([late, Event(e.STEP_COMPLETED, key, {"number": number}, body="late")]))])
        self.happen()

    def _retry(self, draw: Callable[..., Any], key: str) -> None:
        if self.history.ended == "failed":
            self._reopen(
                "retry", [step.id for step in self.plan.steps if self.history.outcome(step.id) == FAILED or self.history.is_open(step.id)]
            )

    def _rerun(self, draw: Callable[..., Any], key: str) -> None:
        keys = [step.id for step in self.plan.steps]
        self._reopen("rerun", draw(st.lists(st.sampled_from(keys), unique=True)))

    def _again_from(self, draw: Callable[..., Any], key: str) -> None:
        with suppress(HermesError):
            self._reopen("rerun", again_from(self.history, key, keep=draw(st.booleans())))

    def _reopen(self, why: str, keys: list[str]) -> None:
        for key in keys:
            self.kept.pop(key, None)
        self.happen(Event(e.RUN_REOPENED, "", {"why": why, "keys": keys, "by": "ann"}))


__all__ = ["Edge", "World", "canvas_plans", "documents", "plans"]
