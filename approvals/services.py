"""The one way to answer a gate, whatever the door: refuse before anything changes, then one turn that records and decides."""

from typing import Any

from django.db import IntegrityError
from django.utils import timezone

from approvals import changes, selectors, sources
from approvals.links import own, read_code
from approvals.models import ChatIdentity, Decision
from approvals.over import refuse_over
from approvals.people import eligible
from approvals.replies import UNSET, Reply
from approvals.sources import Source
from hermes_workflow.core import events as e
from hermes_workflow.core.errors import Conflict, Forbidden, KeyReused, NotFound, Stale
from hermes_workflow.core.events import Event
from hermes_workflow.core.scheduler import tests_for, verdict
from hermes_workflow.core.states import GateState
from hermes_workflow.rights import Principal
from runs import documents, engine, warm
from runs import selectors as run_selectors
from runs.engine import Turn
from runs.models import Gate

__all__ = ["UNSET", "Source", "answer_gate", "confirm_link", "remove_link", "respond"]


def answer_gate(
    *,
    principal: Principal,
    gate_id: int,
    answer: Any,
    comment: str = "",
    digest: str | None = None,
    source: Source | None = None,
    key: str | None = None,
    resume: bool = True,
    channel: str = "api",
) -> str:
    """Answer a gate and let its run go on; gives the run's id. With `resume=False` the answer is recorded and a later turn goes on.

    The same key and body again change nothing. Raises NotFound, Forbidden, Malformed, AnswerNotOffered, and the Conflicts
    AlreadyDecided, Stale and KeyReused.
    """
    gate = selectors.bare_gate(principal, gate_id)
    reply = Reply(answer=answer, comment=comment, digest=digest, source=source, key=key, resume=resume, channel=channel)
    return _take(principal, gate, reply)


def respond(
    *,
    principal: Principal,
    run_id: str,
    node_id: str,
    gate_id: int | None = None,
    answer: Any = UNSET,
    structured: Any = UNSET,
    output: Any = UNSET,
    comment: str = "",
    digest: str | None = None,
    source: Source | None = None,
    key: str | None = None,
    resume: bool = True,
    channel: str = "api",
) -> str:
    """Answer the gate at a node, or perform the agent step that waits there; gives the run's id. Ids that disagree are NotFound."""
    reply = Reply(answer, structured, output, comment, digest, source, key, resume, channel)
    return _take(principal, _gate_at(principal, run_id, node_id, gate_id, key), reply)


def _gate_at(principal: Principal, run_id: str, node_id: str, gate_id: int | None, key: str | None) -> Gate:
    run = run_selectors.run_for(principal, run_id)
    here = Gate.objects.filter(run_id=run.pk, key=node_id)
    if gate_id is not None:
        gate = selectors.bare_gate(principal, gate_id)
        if (gate.run_id, gate.key) != (run.pk, node_id):
            raise NotFound("there is no such gate in this run")
        return gate
    repeated = here.filter(decisions__by=principal.user, decisions__idempotency_key=key) if key else here.none()
    found = repeated.first() or here.order_by("-round").first()
    if found:
        return selectors.bare_gate(principal, found.pk)
    if node_id in warm.plan_of(run.plan_id).step:
        raise Conflict(f"nothing waits for an answer at {node_id}", hint="read the run: pending says what waits")
    raise NotFound("there is no such node in this run")


def _take(principal: Principal, gate: Gate, reply: Reply) -> str:
    reply.check()
    fingerprint = reply.fingerprint(gate.run_id, gate.key)
    if _said_before(principal, reply, fingerprint):
        return gate.run_id
    gate = _in_time(principal, gate)
    person = sources.answering(principal, reply.source, gate, reply.digest)
    _refuse_stale(gate, reply.digest)
    if gate.kind != Gate.Kind.AGENT:
        reply.option(gate)
    record = _perform if gate.kind == Gate.Kind.AGENT else _vote

    def take_in(turn: Turn) -> None:
        if _said_before(principal, reply, fingerprint):
            return
        refuse_over(gate, turn.history, person.id)
        decision = _decision(principal, person, gate, reply, fingerprint, turn)
        record(turn, gate, person, reply)
        decision.save(force_insert=True)

    try:
        engine.turn(gate.run_id, take_in)
    except IntegrityError:
        # another gate's turn used the key or the message in the same moment
        if _said_before(principal, reply, fingerprint):
            return gate.run_id
        raise Conflict("this message has decided already") from None
    return gate.run_id


def _said_before(principal: Principal, reply: Reply, fingerprint: str) -> bool:
    if reply.key is None:
        return False
    known = Decision.objects.filter(by=principal.user, idempotency_key=reply.key).values_list("body_digest", flat=True).first()
    if known is not None and known != fingerprint:
        raise KeyReused
    return known is not None


def _in_time(principal: Principal, gate: Gate) -> Gate:
    """Deadlines count first: what has passed is over, and who is asked by an escalation may answer at once."""
    over = gate.due_at is not None and gate.due_at <= timezone.now()
    if not over or gate.status != Gate.Status.OPEN or (gate.escalated_at and gate.on_timeout == "escalate"):
        return gate
    engine.turn(gate.run_id)
    return selectors.bare_gate(principal, gate.pk)


def _refuse_stale(gate: Gate, digest: str | None) -> None:
    """An answer is bound to what was shown: say what is shown now, and what changed where that is known."""
    newer = _newer(gate) if gate.status in (Gate.Status.EXPIRED, Gate.Status.CLOSED) else None
    if newer is None and digest in (None, gate.digest):
        return
    now = newer or gate
    shown = Gate.objects.filter(run_id=gate.run_id, key=gate.key, digest=digest).exclude(pk=now.pk).first() if digest else gate
    lines = [f"{line.mark} {line.text}" for line in changes.changes(shown, now)] if shown else []
    pending = documents.pending(now) if now.status == Gate.Status.OPEN else None
    raise Stale("the request changed, look again", hint="read what is shown now, then answer it", pending=pending, changes=lines)


def _newer(gate: Gate) -> Gate | None:
    return Gate.objects.filter(run_id=gate.run_id, key=gate.key, round__gt=gate.round, status=Gate.Status.OPEN).first()


def _decision(principal: Principal, person: Principal, gate: Gate, reply: Reply, fingerprint: str, turn: Turn) -> Decision:
    source = reply.source
    message_key = source.message_key if source and gate.kind != Gate.Kind.AGENT else None
    if message_key and Decision.objects.filter(message_key=message_key).exists():
        raise Conflict("this message has decided already")
    return Decision(
        gate=gate,
        answer=reply.answer if gate.kind != Gate.Kind.AGENT else "",
        comment=reply.comment,
        by=principal.user,
        on_behalf_of=None if person is principal else person.user,
        channel=source.channel if source else reply.channel,
        message_id=source.message_id if source else "",
        message_url=source.message_url if source else "",
        event_id=source.event_id if source else "",
        message_key=message_key,
        idempotency_key=reply.key,
        body_digest=fingerprint,
        digest_seen=reply.digest or "",
        at=turn.now,
    )


def _vote(turn: Turn, gate: Gate, person: Principal, reply: Reply) -> None:
    state, answer = turn.history.gates[gate.key], reply.option(gate)
    data = {"round": gate.round, "by": person.id, "name": person.name, "answer": answer, "comment": reply.comment}
    channel = reply.source.channel if reply.source else reply.channel
    turn.record(Event(e.GATE_VOTED, gate.key, {**data, "channel": channel, "left": _left(gate, state, person)}))
    turn.defer = not reply.resume and verdict(turn.history, state) is not None


def _left(gate: Gate, state: GateState, person: Principal) -> int | None:
    """How many could still vote after this one; asked only where one vote is not enough."""
    if state.quorum == 1:
        return None
    return len(eligible(gate) - {vote["by"] for vote in state.votes} - {person.id})


def _perform(turn: Turn, gate: Gate, person: Principal, reply: Reply) -> None:
    turn.history.require_known()
    step = turn.plan.step[gate.key]
    value, structured = reply.value(step.spec.get("schema"))
    number = turn.history.state(gate.key).number + 1
    said = {"number": number, "structured": structured, "tests": tests_for(turn.plan, gate.key, value), "by": person.name}
    turn.record(
        Event(e.GATE_ANSWERED, gate.key, {"round": gate.round, "by": person.id, "name": person.name, "answer": ""}),
        Event(e.STEP_COMPLETED, gate.key, said, body=value),
    )
    turn.defer = not reply.resume


def confirm_link(*, principal: Principal, code: str) -> ChatIdentity:
    """A signed-in person says that a chat account is theirs; again is harmless. Raises Forbidden, Conflict (it is somebody else's)."""
    if principal.is_bot or principal.token is not None:
        raise Forbidden("a chat account is confirmed on the site, by its owner")
    return own(principal.user, *read_code(code))


def remove_link(*, principal: Principal, identity_id: int) -> None:
    """Decisions from this chat account are refused from now on. Raises NotFound for one that is not the principal's."""
    if principal.is_bot:
        raise Forbidden("a chat account is removed on the site, by its owner")
    removed, _ = ChatIdentity.objects.filter(pk=identity_id, user=principal.user).delete()
    if not removed:
        raise NotFound("there is no such chat account")
