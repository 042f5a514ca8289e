"""A run as its page tells it: every step with its tries, the picture, and why it waits."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from hermes_workflow.core.history import History
from hermes_workflow.core.plan import Step
from hermes_workflow.core.states import FAILED, FALSE, SKIPPED
from hermes_workflow.fields import dumps
from hermes_workflow.graph_layout import drawn
from hermes_workflow.rights import Principal
from hermes_workflow.words import shown, size, span, took
from runs import engine, selectors, services, waiting
from runs.diagnostics import Diagnostics, diagnostics_of
from runs.models import Event, Gate, Run, Session
from runs.tries import Try, tries_of

STATES = {SKIPPED: "skipped", FAILED: "failed", FALSE: "done", "passed": "done"}


@dataclass(frozen=True, slots=True)
class Story:
    """What the run page shows."""

    run: Run
    document: dict[str, Any]
    gates: list[Gate]
    events: list[Event]
    sessions: list[Session]
    steps: list[dict[str, Any]]
    to_come: list[dict[str, Any]]
    graph: dict[str, Any]
    reason: waiting.Reason | None
    done: int
    total: int


def story_of(*, principal: Principal, run_id: str) -> Story:
    """The whole run, deadlines honoured first. Raises NotFound."""
    document = services.read_run(principal=principal, run_id=run_id)
    run = selectors.run_for(principal, run_id)
    gates = selectors.open_gates(run_id)
    events = list(selectors.events_of(run_id).defer("body"))
    sessions = list(selectors.sessions_of(run_id))
    known = diagnostics_of(selectors.attempts_of(run_id).defer("payload"), sessions)
    with engine.glance(run_id) as turn:
        steps = _Teller(turn.history, document, gates, tries_of(events), known).steps()
        graph = _picture(turn.history, steps)
        stuck = turn.history.stuck
    told = [step for step in steps if step["state"] != "pending"]
    return Story(
        run=run,
        document=document,
        gates=gates,
        events=events,
        sessions=sessions,
        steps=told,
        to_come=[step for step in steps if step["state"] == "pending"],
        graph=graph,
        reason=waiting.reason(run, gates, events=events, stuck=stuck, busy=_busy(told)),
        done=sum(step["state"] in ("done", "skipped") for step in steps),
        total=len(steps),
    )


def _busy(steps: list[dict[str, Any]]) -> str:
    running = [step for step in steps if step["state"] == "running"]
    if len(running) == 1:
        return f"{running[0]['node_id']} is at work, {running[0]['says'].lower()}."
    return f"{', '.join(step['node_id'] for step in running)} are at work." if running else ""


class _Teller:
    """Puts one run's steps into words."""

    def __init__(
        self,
        history: History,
        document: Mapping[str, Any],
        gates: list[Gate],
        tries: Mapping[str, list[Try]],
        known: Mapping[tuple[str, int], Diagnostics],
    ) -> None:
        self.history, self.document, self.tries, self.known = history, document, tries, known
        self.gates = {gate.key: gate for gate in gates}

    def steps(self) -> list[dict[str, Any]]:
        """The trigger, then every step in plan order."""
        return [self._trigger(), *(self._step(step) for step in self.history.plan.steps)]

    def _trigger(self) -> dict[str, Any]:
        given = self.document["input"]
        text = given.get("text")
        says = f"Input: {given.get('filename') or 'text'}, {size(len(text.encode()))}" if isinstance(text, str) else "No text"
        return {
            "node_id": self.history.plan.trigger or "start",
            "kind": "trigger",
            "state": "done",
            "says": says,
            "sub": self.document["origin"],
            "at": self.history.started_at,
            "has_output": bool(given),
            "output": shown(given),
        }

    def _step(self, step: Step) -> dict[str, Any]:
        state, tries = self._state(step.id), self.tries.get(step.id, [])
        has_output = step.id in self.document["outputs"]
        last = tries[-1] if tries else None
        entry = {
            "node_id": step.id,
            "kind": step.kind,
            "state": state,
            "at": self.history.state(step.id).at if self.history.settled(step.id) else None,
            "seconds": last.seconds if last else None,
            "attempts": [_told(one, self.known.get((step.id, one.number))) for one in tries] if step.kind == "agent" else [],
            "open": state == "failed" or self._is_writing(step.id, last),
            "has_output": has_output and step.kind in ("agent", "output"),
            "output": shown(self.document["outputs"][step.id]) if has_output else None,
            "error_kind": (self.document["error"] or {}).get("kind") if state == "failed" and self._is_error(step.id) else "",
        }
        if gate := self.gates.get(step.id):
            entry["waiting_since"], entry["gate_id"] = gate.waiting_since, gate.pk
        entry["says"], entry["sub"] = self._says(step, state, last)
        return entry

    def _state(self, key: str) -> str:
        if outcome := self.history.outcome(key):
            return STATES[outcome]
        if key in self.gates:
            return "waiting_agent" if self.gates[key].kind == Gate.Kind.AGENT else "waiting"
        if key in self.history.open_attempts or key in self.history.undecided:
            return "running"
        return "cancelled" if self.tries.get(key) and self.history.ended else "pending"

    def _is_writing(self, key: str, last: Try | None) -> bool:
        known = self.known.get((key, last.number)) if last else None
        return known is not None and bool(known.writing)

    def _is_error(self, key: str) -> bool:
        return (self.document["error"] or {}).get("node_id") == key

    def _says(self, step: Step, state: str, last: Try | None) -> tuple[str, str]:
        """A sentence for the list of steps, a few words for the picture."""
        data = self.history.state(step.id).data
        if state == "skipped":
            return f"Skipped: {data.get('because', '')}", "skipped"
        if state in ("waiting", "waiting_agent"):
            return _waits(self.gates[step.id]), f"for {_since(self.gates[step.id])}"
        if state == "failed":
            msg = self.document["error"]["msg"] if self._is_error(step.id) else (last.error.get("msg", "failed") if last else "failed")
            return msg, "failed"
        if state == "running" and last:
            return f"Attempt {last.number}", f"attempt {last.number}"
        if state != "done":
            return "", ""
        return getattr(self, f"_{step.kind}")(step, data, last)

    def _condition(self, step: Step, data: Mapping[str, Any], last: Try | None) -> tuple[str, str]:
        word = "true" if data.get("result") else "false"
        return f"{step.spec['expression']} is {word}: {data.get('trace', '')}", word

    def _approval(self, step: Step, data: Mapping[str, Any], last: Try | None) -> tuple[str, str]:
        comment = f": “{data['comment']}”" if data.get("comment") else ""
        return f"{data.get('name', 'Somebody')} answered {data.get('answer', '')}{comment}", str(data.get("answer", ""))

    def _agent(self, step: Step, data: Mapping[str, Any], last: Try | None) -> tuple[str, str]:
        value = self.document["outputs"].get(step.id)
        kind = "Structured" if data.get("structured") else "Text"
        by = f", by {data['by']}" if data.get("by") else ""
        seconds = took(last.seconds) if last and last.seconds is not None else ""
        tries = f", {last.number} tries" if last and last.number > 1 else ""
        return f"{kind}, {size(len(dumps(value).encode()))}{by}", f"{seconds}{tries}".strip(", ") or f"by {data.get('by', '')}"

    def _output(self, step: Step, data: Mapping[str, Any], last: Try | None) -> tuple[str, str]:
        sent = list({d["target"]: d for d in self.document["deliveries"] if d["node_id"] == step.id}.values())  # the latest counts
        if not sent:
            return "Kept with the run", "kept"
        failed = [d for d in sent if not d["ok"]]
        targets = ", ".join(waiting.spoken(d["target"]) for d in sent)
        if failed:
            return f"Not delivered to {targets}: {failed[0]['detail']}", "not delivered"
        return f"Delivered to {targets}", "delivered"


def _since(gate: Gate) -> str:
    return span((timezone.now() - gate.waiting_since).total_seconds())


def _waits(gate: Gate) -> str:
    if gate.kind == Gate.Kind.AGENT:
        return f"Waits for {waiting.asked(gate)}"
    said = ", ".join(f"{vote['name']} answered {vote['answer']}" for vote in gate.votes)
    return f"{said}, {len(gate.votes)} of {gate.quorum}" if said else f"Asks {waiting.asked(gate)}"


def _told(one: Try, known: Diagnostics | None) -> dict[str, Any]:
    says = one.error.get("msg", "") or {"running": "at work", "cancelled": "stopped"}.get(one.status, "")
    if one.status == "running":
        says = f"at work, or due at {waiting.clock(one.ready_at)}"
    kind = one.error.get("kind", "")
    return {"number": one.number, "status": one.status, "says": says, "error_kind": kind, "seconds": one.seconds, "known": known}


def _picture(history: History, steps: list[dict[str, Any]]) -> dict[str, Any]:
    drawn_steps = steps if history.plan.trigger else steps[1:]  # a workflow without a trigger begins with its first steps
    nodes = [{"id": step["node_id"], "state": step["state"], "sub": step.get("sub", "")} for step in drawn_steps]
    states = {step["node_id"]: step["state"] for step in steps}
    edges = [{"source": edge.source, "target": edge.target, "state": _edge(history, edge, states)} for edge in history.plan.edges]
    return drawn(nodes, edges)


def _edge(history: History, edge: Any, states: Mapping[str, str]) -> str:
    if edge.source != history.plan.trigger and not history.settled(edge.source):
        return "pending"
    target = states.get(edge.target, "pending")
    if target == "skipped" or (edge.source != history.plan.trigger and not history.takes(edge)):
        return "dead"
    return "waiting" if target.startswith("waiting") else "taken"
