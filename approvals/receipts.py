"""The receipt of a run: who did what and when, bound by digests to what was said, which it does not repeat."""

from typing import Any

from approvals.models import Decision
from hermes_workflow.core.documents import canonical, digest
from hermes_workflow.core.outputs import INPUT_SEQ, seqs_for
from hermes_workflow.core.outputs import outputs as outputs_of
from hermes_workflow.rights import Principal
from runs import engine, selectors
from runs.documents import instant
from runs.models import Attempt, Delivery, Event, Gate, Run

FORMAT = 1


def receipt_of(*, principal: Principal, run_id: str) -> dict[str, Any]:
    """The receipt; `sha256` is over the canonical JSON of everything else in it. Raises NotFound."""
    with engine.glance(run_id) as turn:
        run = selectors.run_for(principal, run_id)
        turn.fetch({INPUT_SEQ} | seqs_for(turn.history, turn.plan.step))
        given = turn.bodies.get(INPUT_SEQ)
        found = outputs_of(turn.history, turn.bodies)
        plan = turn.plan.digest
    receipt = {
        "format": FORMAT,
        "run": _run(run, plan),
        "input": _sealed({} if given is None else given),
        "outputs": [{"node_id": key, **_sealed(value)} for key, value in found.items()],
        "gates": _gates(run_id),
        "attempts": [_attempt(attempt) for attempt in selectors.attempts_of(run_id)],
        "deliveries": [_delivery(sent) for sent in run.deliveries.order_by("id")],
        "history": _history(run_id),
    }
    return {**receipt, "sha256": digest(receipt)}


def _sealed(value: Any) -> dict[str, Any]:
    return {"digest": digest(value), "bytes": len(canonical(value).encode())}


def _run(run: Run, plan: str) -> dict[str, Any]:
    error = run.error and {name: run.error[name] for name in ("node_id", "kind") if name in run.error}
    return {
        "run_id": run.pk,
        "workflow_id": run.workflow_id,
        "name": run.design.slug,
        "version": run.version.number,
        "document": run.version.digest,
        "plan": plan,
        "profile": run.profile.name,
        "origin": run.origin,
        "started_by": run.started_by.get_username() if run.started_by else None,
        "status": run.status,
        "error": error,
        "created_at": instant(run.created_at),
        "ended_at": instant(run.ended_at),
    }


def _gates(run_id: str) -> list[dict[str, Any]]:
    decisions: dict[int, list[Decision]] = {}
    for decision in Decision.objects.filter(gate__run_id=run_id).select_related("by", "on_behalf_of").order_by("at", "id"):
        decisions.setdefault(decision.gate_id, []).append(decision)
    return [_gate(gate, decisions.get(gate.pk, [])) for gate in Gate.objects.filter(run_id=run_id).order_by("id")]


def _gate(gate: Gate, decisions: list[Decision]) -> dict[str, Any]:
    return {
        "gate_id": gate.pk,
        "node_id": gate.key,
        "round": gate.round,
        "kind": gate.kind,
        "status": gate.status,
        "shown": gate.digest,
        "quorum": gate.quorum,
        "waiting_since": instant(gate.waiting_since),
        "escalated_at": instant(gate.escalated_at),
        "ended_at": instant(gate.ended_at),
        "answer": gate.answer,
        "decisions": [_decision(decision) for decision in decisions],
    }


def _decision(decision: Decision) -> dict[str, Any]:
    return {
        "answer": decision.answer,
        "by": decision.by.get_username(),
        "on_behalf_of": decision.on_behalf_of.get_username() if decision.on_behalf_of else None,
        "channel": decision.channel,
        "message_id": decision.message_id,
        "message_url": decision.message_url,
        "event_id": decision.event_id,
        "saw": decision.digest_seen,
        "comment": digest(decision.comment) if decision.comment else "",
        "at": instant(decision.at),
    }


def _attempt(attempt: Attempt) -> dict[str, Any]:
    return {
        "node_id": attempt.key,
        "number": attempt.number,
        "kind": attempt.kind,
        "status": attempt.status,
        "claims": attempt.claims,
        "ended_at": instant(attempt.ended_at),
    }


def _delivery(sent: Delivery) -> dict[str, Any]:
    return {"node_id": sent.key, "number": sent.number, "target": sent.target, "ok": sent.ok, "at": instant(sent.at)}


def _history(run_id: str) -> dict[str, Any]:
    """Every fact in order, each bound to the one before it."""
    count, chain = 0, ""
    rows = Event.objects.filter(run_id=run_id).order_by("seq").values_list("seq", "type", "key", "at", "data", "body")
    for seq, type_, key, at, data, body in rows.iterator():
        chain = digest([chain, seq, type_, key, instant(at), data, body])
        count += 1
    return {"events": count, "chain": chain}
