"""Runs of Hermes Workflow's own files become runs here: what they did becomes events, through the one journal."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db import IntegrityError

from hermes_workflow.core import events as e
from hermes_workflow.core.errors import Conflict, Malformed
from hermes_workflow.core.events import Event
from hermes_workflow.core.failures import HINTS, hint_for
from hermes_workflow.core.history import History
from hermes_workflow.core.outputs import answer_output
from hermes_workflow.core.plan import Plan, Step
from hermes_workflow.core.scheduler import Program, advance, collected, tests_for
from hermes_workflow.core.text import shorten
from hermes_workflow.models import Design
from hermes_workflow.rights import Principal
from hermes_workflow.selectors import design_for
from hermes_workflow.services import check_slug
from runs import engine, starts
from runs.models import Run

RUN_ID = re.compile(r"[a-f0-9]{6,32}\Z")
ORIGIN = "import"
PARKED = ("awaiting_approval", "awaiting_agent")
STATUSES = ("done", "failed", "cancelled", "running", *PARKED)
SHAPES: dict[str, tuple[type, ...]] = {
    "outputs": (dict,), "skipped": (list,), "answers": (dict,), "deliveries": (list,), "attempts": (dict,), "input": (dict,),
    "pending": (dict,), "error": (dict,),
}  # fmt: skip
LOOKED_AT = datetime(2000, 1, 1, tzinfo=UTC)
INTERRUPTED = {"msg": "the run was at work when it was imported", "kind": "worker_lost", "hint": "retry the run to go on at this step"}


@dataclass(frozen=True, slots=True)
class State:
    """A run as its file gives it."""

    run_id: str
    name: str
    status: str
    cursor: int
    outputs: Mapping[str, Any]
    skipped: frozenset[str]
    answers: Mapping[str, Any]
    deliveries: tuple[Mapping[str, Any], ...]
    attempts: Mapping[str, Any]
    input: Mapping[str, Any]
    pending: str
    error: Mapping[str, Any]


def read_state(document: Any, *, run_id: str) -> State:
    """The state in a file that is called after `run_id`. Raises Malformed naming the field."""
    if not isinstance(document, dict):
        raise Malformed("must be an object")
    if document.get("run_id") != run_id or not RUN_ID.match(run_id):
        raise Malformed(f"run_id: must be the name of the file and 6 to 32 of 0-9 and a-f, got {shorten(document.get('run_id'))}")
    if document.get("status") not in STATUSES:
        raise Malformed(f"status: must be one of {', '.join(STATUSES)}, got {shorten(document.get('status'))}")
    given = {name: document[name] for name in SHAPES if document.get(name) is not None}
    for name, value in given.items():
        if not isinstance(value, SHAPES[name]):
            raise Malformed(f"{name}: must be {'a list' if list in SHAPES[name] else 'an object'}, got {shorten(value)}")
    cursor = document.get("cursor", 0)
    return State(
        run_id=run_id,
        name=check_slug(document.get("name")),
        status=document["status"],
        cursor=cursor if type(cursor) is int and cursor >= 0 else 0,
        outputs=given.get("outputs", {}),
        skipped=frozenset(one for one in given.get("skipped", ()) if isinstance(one, str)),
        answers=given.get("answers", {}),
        deliveries=tuple(one for one in given.get("deliveries", ()) if isinstance(one, dict)),
        attempts=given.get("attempts", {}),
        input=given.get("input", {}),
        pending=str(given.get("pending", {}).get("node_id", "")),
        error=given.get("error", {}),
    )


def import_run(*, principal: Principal, state: State) -> bool:
    """Make the run; False when it is here already. A run that had ended is only to be read, one that was parked waits at the same gate.

    Raises NotFound (no such design), Conflict (its design no longer waits there).
    """
    design = design_for(principal, state.name)
    if Run.objects.filter(pk=state.run_id).exists():
        return False
    version = design.current
    assert version is not None
    plan = starts.readable(version.plan_id)
    perform = "caller" if state.status == "awaiting_agent" else "host"
    tests = tests_for(plan, plan.trigger, state.input)
    started = {"perform": perform, "version": version.number, "plan": plan.digest, "tests": tests}
    first = Event(e.RUN_STARTED, "", started, body=dict(state.input))
    facts = list(_Past(plan, state, first).facts())
    if state.status in PARKED:
        _check_parked(plan, [first, *facts], state.pending)
    try:
        engine.start(_row(design, state), plan, first, *facts)
    except IntegrityError:  # somebody else imported it meanwhile
        return False
    return True


def _row(design: Design, state: State) -> Run:
    version = design.current
    assert version is not None
    return Run(id=state.run_id, design=design, version=version, profile=design.profile, plan_id=version.plan_id, origin=ORIGIN)


def _check_parked(plan: Plan, facts: list[Event], pending: str) -> None:
    history = History(plan, map(_dated, facts))
    for _ in advance(Program(plan), history, _dated):
        pass
    if list(history.open_gates) != [pending] or history.open_attempts or history.ended:
        raise Conflict(
            f"by the design as it is now, the run does not wait at {shorten(pending)}", hint="import the design as the run knew it"
        )


class _Past:
    """What a run did, told as events in the order of its plan."""

    def __init__(self, plan: Plan, state: State, first: Event) -> None:
        self.plan, self.state = plan, state
        self.history = History(plan, [first])
        self.sent: Counter[str] = Counter()

    def facts(self) -> Iterator[Event]:
        """Each fact, folded before the next one is told."""
        for step in self.plan.steps:
            for event in self._of(step):
                self.history.apply(_dated(event))
                yield event
        yield from self._end()

    def _of(self, step: Step) -> Iterator[Event]:
        if step.id in self.state.skipped:
            yield self._skipped(step)
        elif step.id == self._failed_at():
            yield Event(e.STEP_GAVE_UP, step.id, {name: value for name, value in self._failure().items() if name != "node_id"})
        elif step.id in self.state.outputs and step.id != self.state.pending:
            yield from getattr(self, f"_{step.kind}")(step, self.state.outputs[step.id])

    def _skipped(self, step: Step) -> Event:
        """A false condition is listed as skipped too; what it cut off has a parent that was not taken."""
        if step.kind == "condition" and all(self.history.takes(edge) for edge in self.plan.parents[step.id]):
            return self._evaluated(step, result=False)
        return Event(e.STEP_SKIPPED, step.id, {"because": "skipped before the import"})

    def _agent(self, step: Step, value: Any) -> Iterator[Event]:
        data = {"number": self._tries(step.id), "structured": not isinstance(value, str), "tests": tests_for(self.plan, step.id, value)}
        yield Event(e.STEP_COMPLETED, step.id, data, body=value)

    def _condition(self, step: Step, value: Any) -> Iterator[Event]:
        yield self._evaluated(step, result=bool(isinstance(value, dict) and value.get("result") is True))

    def _evaluated(self, step: Step, *, result: bool) -> Event:
        tests = tests_for(self.plan, step.id, {"result": result})
        return Event(e.CONDITION_EVALUATED, step.id, {"result": result, "trace": "as it was before the import", "tests": tests})

    def _approval(self, step: Step, value: Any) -> Iterator[Event]:
        answer = self.state.answers.get(step.id, value.get("answer") if isinstance(value, dict) else value)
        if not isinstance(answer, str):
            raise Malformed(f"answers.{step.id[:80]}: must be text, got {shorten(answer)}")
        names = ("options", "quorum", "stop_on", "on_timeout")
        rules = {**{name: step.spec[name] for name in names}, "minutes": None}
        yield Event(e.GATE_OPENED, step.id, {"round": 1, "kind": "approval", **rules})
        said = {"round": 1, "answer": answer, "by": "", "name": "somebody before the import", "comment": ""}
        yield Event(e.GATE_ANSWERED, step.id, {**said, "tests": tests_for(self.plan, step.id, answer_output(said))})

    def _output(self, step: Step, value: Any) -> Iterator[Event]:
        for receipt in self.state.deliveries:
            if receipt.get("node_id") == step.id:
                self.sent[step.id] += 1
                told = {"target": str(receipt.get("target") or ""), "detail": str(receipt.get("detail") or "")}
                yield Event(e.DELIVERY_TRIED, step.id, {"number": self.sent[step.id], **told, "ok": receipt.get("ok") is True})
        yield Event(e.STEP_COMPLETED, step.id, {"number": self.sent[step.id], "collect": collected(self.history, step)})

    def _tries(self, key: str) -> int:
        tries = self.state.attempts.get(key)
        return tries if type(tries) is int and 0 < tries < 1_000_000 else 1

    def _end(self) -> Iterator[Event]:
        match self.state.status:
            case "done":
                yield Event(e.RUN_COMPLETED)
            case "cancelled":
                yield Event(e.RUN_CANCELLED, "", {"by": "somebody before the import", "reason": ""})
            case "failed" | "running":
                yield Event(e.RUN_FAILED, "", self._failure())

    def _failed_at(self) -> str:
        return str(self._failure()["node_id"]) if self.state.status in ("failed", "running") else ""

    def _failure(self) -> dict[str, Any]:
        """Why it failed; a run that was at work has nobody who is at work on it any more."""
        if self.state.status == "running":
            steps = self.plan.steps
            return {"node_id": steps[min(self.state.cursor, len(steps) - 1)].id if steps else "", **INTERRUPTED}
        error = self.state.error
        kind = error.get("kind")
        diagnosed = {"kind": kind, "hint": hint_for(kind)} if isinstance(kind, str) and kind in HINTS else {}
        node = error.get("node_id")
        return {"node_id": node if isinstance(node, str) else "", "msg": str(error.get("msg") or "failed")[:2000], **diagnosed}


def _dated(event: Event) -> Event:
    """For a fold that only looks ahead: a gate needs a time, whichever."""
    return Event(event.type, event.key, event.data, at=LOOKED_AT)
