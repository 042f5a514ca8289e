"""The run document: one shape for a run on every door."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import quote

from hermes_workflow.core.history import History
from hermes_workflow.core.outputs import INPUT_SEQ, has_output, output_of
from hermes_workflow.core.states import FALSE, SKIPPED
from hermes_workflow.fields import dumps
from runs.models import Gate, Run

INLINE_LIMIT = 65_536  # bytes of JSON; a larger value is a reference
HEALTHY = frozenset({"running", "awaiting_approval", "awaiting_agent", "waiting", "done", "cancelled"})


def instant(value: datetime | None) -> str | None:
    """ISO 8601 in UTC, with `Z`."""
    return value.isoformat().replace("+00:00", "Z") if value else None


def pending(gate: Gate) -> dict[str, Any]:
    """An open gate as the run document shows it. An agent gate carries `prompt` instead of options to choose from."""
    shown = {
        "gate_id": gate.pk,
        "node_id": gate.key,
        "kind": gate.kind,
        "question": gate.question,
        "options": gate.options,
        "context": gate.context,
        "waiting_since": instant(gate.waiting_since),
        "deadline": instant(gate.due_at),
        "on_timeout": gate.on_timeout or None,
        "escalated_at": instant(gate.escalated_at),
        "digest": gate.digest,
        "votes": gate.votes,
        "quorum": gate.quorum,
        "round": gate.round,
    }
    return shown | {"prompt": gate.question} if gate.kind == Gate.Kind.AGENT else shown


def next_step(run: Run, gates: list[Gate], history: History) -> str:
    """What the caller can do now, in one line."""
    if gates:
        gate = gates[0]
        if gate.kind == Gate.Kind.AGENT:
            return f"perform {gate.key} and respond with structured or output"
        return f"answer the gate {gate.key}: {' or '.join(gate.options)}"
    if run.status == Run.Status.FAILED:
        return "read the error, then retry the run"
    if run.status == Run.Status.WAITING and history.stuck:
        return f"nothing is lost; the run goes on when this is mended: {history.stuck['msg']}"
    return {"running": "wait: a worker performs the next step", "waiting": "wait", "done": "read the outputs"}.get(run.status, "nothing")


def skipped(history: History) -> list[str]:
    """The steps that a condition gated off, and the false conditions themselves, in plan order."""
    return [step.id for step in history.plan.steps if history.outcome(step.id) in (SKIPPED, FALSE)]


def attempts(history: History) -> dict[str, int]:
    """How many tries each agent step took so far."""
    agents = [step.id for step in history.plan.steps if step.kind == "agent"]
    return {key: tried for key in agents if (state := history.steps.get(key)) and (tried := state.number - state.unperformed)}


def outputs(run_id: str, history: History, bodies: Mapping[int, Any]) -> dict[str, Any]:
    """`{node: value}` in plan order, large values as references."""
    return {
        step.id: _inline(run_id, step.id, output_of(history, bodies, step.id))
        for step in history.plan.steps
        if has_output(history, step.id)
    }


def _inline(run_id: str, key: str, value: Any) -> Any:
    """A value that itself looks like a reference becomes one of ours: clients follow references with their token, pages link them."""
    looks_like_one = isinstance(value, dict) and value.keys() == {"$ref"}
    if len(dumps(value).encode()) <= INLINE_LIMIT and not looks_like_one:
        return value
    return {"$ref": f"/api/runs/{run_id}/outputs/{quote(key, safe='')}/"}


def summary(run: Run) -> dict[str, Any]:
    """A run in a list: what its own row holds."""
    return {
        "ok": run.status in HEALTHY,
        "run_id": run.pk,
        "workflow_id": run.workflow_id,
        "name": run.design.slug,
        "dialect": run.design.dialect,
        "version": run.version.number,
        "status": run.status,
        "cursor": run.cursor,
        "error": run.error,
        "origin": run.origin,
        "started_by": run.started_by.get_username() if run.started_by else None,
        "seq": run.seq,
        "created_at": instant(run.created_at),
        "updated_at": instant(run.updated_at),
        "ended_at": instant(run.ended_at),
    }


def run_document(run: Run, history: History, bodies: Mapping[int, Any], gates: list[Gate]) -> dict[str, Any]:
    """The whole run. `gates` are the open ones, oldest first; `bodies` hold every output and the input."""
    pendings = [pending(gate) for gate in gates]
    answered = {
        key: gate.answer["answer"] for key, gate in history.gates.items() if gate.answer and gate.kind != "agent" and history.settled(key)
    }
    return summary(run) | {
        "outputs": outputs(run.pk, history, bodies),
        "skipped": skipped(history),
        "pending": pendings[0] if pendings else None,
        "pendings": pendings,
        "answers": answered,
        "attempts": attempts(history),
        "deliveries": [
            {"node_id": sent.key, "target": sent.target, "ok": sent.ok, "detail": sent.detail} for sent in run.deliveries.order_by("id")
        ],
        "stuck": history.stuck,
        "input": bodies.get(INPUT_SEQ) or {},
        "next": next_step(run, gates, history),
    }
