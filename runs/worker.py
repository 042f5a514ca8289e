"""The worker: claim an attempt, let the seam do it outside any transaction, settle it in a turn, go on with what follows."""

import logging
import os
import socket
import time
from collections.abc import Callable
from itertools import count
from typing import Any

from django.db import DatabaseError

from hermes_workflow.core import events as e
from hermes_workflow.core.errors import NotFound
from hermes_workflow.core.events import Event
from hermes_workflow.core.failures import hint_for
from hermes_workflow.core.scheduler import collected, tests_for
from runs import assignments, engine, heartbeat, insistence, outbox, stopping, transcripts
from runs.assignments import Performance, Unperformed, Work
from runs.engine import Turn
from runs.journal import FenceLost, Lease
from runs.live import Live
from runs.seams import deliver
from runs.seams.base import Again, Failed, Performed
from runs.seams.deliver import Parcel, Receipt, Sent

logger = logging.getLogger(__name__)

DRAIN_SECONDS = 60.0
NEWER_CODE_WAIT = 60.0  # seconds for which an attempt is left to workers of the newer release

Outcome = Performed | Failed | Again | Unperformed | Sent


def name() -> str:
    """This process, as leases know it."""
    return f"{socket.gethostname()}:{os.getpid()}"[:100]


def drain(*, run_id: str | None = None, seconds: float = DRAIN_SECONDS) -> int:
    """Perform due attempts, those of `run_id` first, until none is due or the time for new claims is over. Returns how many."""
    done, until = 0, time.monotonic() + seconds
    leases = outbox.claim(name(), run_id=run_id) if run_id else []
    while leases := leases or outbox.claim(name()):
        done += work_through(leases[0], until=until)
        leases = []
        if time.monotonic() >= until or heartbeat.ending():
            break
    return done


def work_through(lease: Lease, *, until: float) -> int:
    """Perform a held attempt and, while there is time, the next one that its turn opened and holds. Returns how many."""
    with engine.glance(lease.run_id) as glance:
        work = None if glance.history.unknown else prepare(lease, glance)
    if work is None:
        leave(lease)
        return 0
    for done in count(1):
        turn = settle(lease, work, attempt(lease, work), hold=time.monotonic() < until and not heartbeat.ending())
        if turn is None or not turn.leases:
            return done
        lease = turn.leases[0]
        work = prepare(lease, turn)
        turn.put_back()
    return done


def leave(lease: Lease) -> None:
    """Leave an attempt of a run that only newer code can read to that code, and let the run say what it waits for."""
    outbox.release(lease, after=NEWER_CODE_WAIT, ref=lease.ref)
    engine.turn(lease.run_id)


def prepare(lease: Lease, turn: Turn) -> Work:
    """What is to be done. One that cannot be made out fails the attempt; a database that fails does not: the lease runs out."""
    try:
        return assignments.prepare(lease, turn)
    except DatabaseError:
        raise
    except Exception as error:
        logger.exception("the assignment of %s:%s cannot be made", lease.run_id, lease.key)
        return internal(error)


def internal(error: Exception) -> Failed:
    """A mistake of ours, as an outcome."""
    return Failed("internal", f"{type(error).__name__}: {error}"[:500], hint_for("internal"))


def attempt(lease: Lease, work: Work) -> Outcome:
    """The outcome to settle. A delivery that failed, whyever, is a receipt that says so: it never fails the run."""
    outcome = perform(lease, work)
    if lease.kind == "deliver" and isinstance(outcome, Failed):
        target = work.target if isinstance(work, Parcel) else ""
        return Sent((Receipt(target, False, outcome.msg),))
    return outcome


def perform(lease: Lease, work: Work) -> Outcome:
    """Let the seam do the work. Whatever it raises is a failure of the attempt, not of the worker; work that was stopped because this
    process ends is handed back.
    """
    assert engine.outside_transactions(), "a seam is never called inside a transaction"
    if lease.claims > outbox.MAX_CLAIMS:
        return Failed("worker_lost", f"{outbox.MAX_CLAIMS} workers took this step and none came back", hint_for("worker_lost"))
    if isinstance(work, Failed | Unperformed):
        return work
    with heartbeat.holding(lease) as cancelled:
        try:
            outcome = _call(lease, work, cancelled)
        except Exception as error:
            logger.exception("the performer of %s:%s failed", lease.run_id, lease.key)
            outcome = internal(error)
    return Again(0.0, lease.ref) if heartbeat.ending() and isinstance(outcome, Failed) else outcome


def _call(lease: Lease, work: Performance | Parcel, cancelled: Callable[[], bool]) -> Outcome:
    if isinstance(work, Parcel):
        return deliver.send(work)
    if not work.performer.keeps_transcript:
        return work.performer.perform(work.assignment, cancelled=cancelled)
    live = Live(lease, work)
    return work.performer.perform(work.assignment, cancelled=live.watching(cancelled), say=live.hear)


def settle(lease: Lease, work: Work, outcome: Outcome, *, hold: bool) -> Turn | None:
    """Record the outcome and what follows; None when the attempt goes on later or was no longer ours."""
    if isinstance(outcome, Again):
        if not insistence.written(lease, lambda: outbox.release(lease, after=outcome.after, ref=outcome.ref)):
            stopping.let_go(lease, work, outcome.ref)
        return None

    def take_in(turn: Turn) -> None:
        turn.settle(lease, *facts(turn, lease, outcome))
        if isinstance(work, Performance) and isinstance(outcome, Performed | Failed) and work.performer.keeps_transcript:
            transcripts.keep(lease, work, outcome, now=turn.now)

    def turned() -> Turn:
        return engine.turn(lease.run_id, take_in, holder=outbox.holder(name()) if hold else None, locked=False)

    try:
        return insistence.written(lease, turned)
    except (FenceLost, NotFound):
        logger.info("the outcome of %s:%s:%s came too late and changes nothing", lease.run_id, lease.key, lease.number)
        return None


def facts(turn: Turn, lease: Lease, outcome: Performed | Failed | Unperformed | Sent) -> tuple[Any, ...]:
    """The new status of the attempt, then the events that say what happened."""
    key, number = lease.key, {"number": lease.number}
    if isinstance(outcome, Sent):
        receipts = [Event(e.DELIVERY_TRIED, key, {**number, "target": r.target, "ok": r.ok, "detail": r.detail}) for r in outcome.receipts]
        if turn.history.resends.get(key) == lease.number:
            return "done", *receipts
        step = turn.plan.step.get(key)  # none when a retry took over by another plan: then the fence refuses all of this
        held = collected(turn.history, step) if step else []
        return "done", *receipts, Event(e.STEP_COMPLETED, key, {**number, "collect": held})
    if isinstance(outcome, Performed):
        data = {**number, "structured": outcome.structured, "tests": tests_for(turn.plan, key, outcome.value)}
        if outcome.provenance:
            data["provenance"] = dict(outcome.provenance)
        return "done", Event(e.STEP_COMPLETED, key, data, body=outcome.value)
    if isinstance(outcome, Unperformed):
        return "cancelled", Event(e.STEP_UNPERFORMED, key, {**number, "msg": outcome.msg})
    failure: dict[str, Any] = {"kind": outcome.kind, "msg": outcome.msg[:2000], "hint": outcome.hint}
    if outcome.retry_after:
        failure["retry_after"] = outcome.retry_after
    return "failed", Event(e.STEP_FAILED, key, {**number, **failure})
