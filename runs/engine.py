"""The turn: the only way a run changes. Lock, honour deadlines, take in facts, decide, journal, one commit."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from hermes_workflow.core import events as e
from hermes_workflow.core.deadlines import expire, stuck_until
from hermes_workflow.core.documents import digest
from hermes_workflow.core.errors import HermesError, NeedsNewerCode
from hermes_workflow.core.events import Event
from hermes_workflow.core.history import History
from hermes_workflow.core.outputs import INPUT_SEQ, output_of, seqs_for
from hermes_workflow.core.plan import Plan
from hermes_workflow.core.prompts import context_of, context_seqs
from hermes_workflow.core.scheduler import Program, advance
from runs import announcements, gatebook, journal, outbox, performers, warm
from runs.journal import Holder, Lease, Settlement
from runs.models import Event as EventRow
from runs.models import Run
from runs.seams import notification

ATTEMPTS = 5


@dataclass
class Turn:
    """One change of one run while it is made, and what it led to."""

    run: warm.RunFacts
    history: History
    now: datetime
    bodies: dict[int, Any] = field(default_factory=dict)
    new: list[Event] = field(default_factory=list)
    leases: list[Lease] = field(default_factory=list)
    settlement: Settlement | None = None
    version_id: int | None = None
    plan_digest: str = ""
    defer: bool = False
    due: bool = False

    @property
    def plan(self) -> Plan:
        """The plan that the run follows."""
        return self.history.plan

    def record(self, *events: Event) -> None:
        """Take in facts, in order."""
        for event in events:
            self.history.apply(self._stamp(event))

    def settle(self, lease: Lease, status: str, *facts: Event) -> None:
        """The outcome of a held attempt; refused as a whole (FenceLost) when it is no longer held."""
        self.settlement = Settlement(lease, status)
        self.record(*facts)

    def adopt(self, plan: Plan, *, version_id: int) -> None:
        """Go on with another version's plan."""
        self.version_id, self.plan_digest = version_id, plan.digest
        self.history.adopt(plan)

    def values(self, keys: Iterable[str]) -> dict[str, Any]:
        """The outputs of `keys`, read from their events."""
        wanted = list(keys)
        self.fetch(seqs_for(self.history, wanted))
        return {key: output_of(self.history, self.bodies, key) for key in wanted}

    def context(self, key: str) -> dict[str, Any]:
        """The outputs of the nearest producers above a step."""
        self.fetch(context_seqs(self.history, key))
        return context_of(self.history, self.bodies, key)

    def fetch(self, seqs: set[int]) -> None:
        """Read the bodies that are not at hand yet."""
        self.bodies |= self.run.bodies
        if missing := seqs - self.bodies.keys():
            rows = EventRow.objects.filter(run_id=self.run.id, seq__in=missing)
            self.bodies.update(rows.values_list("seq", "body"))
        if INPUT_SEQ in missing:
            self.run.remember(self.bodies.get(INPUT_SEQ))

    def put_back(self) -> None:
        """Hand the history to the next turn; it must not be read from here any more."""
        warm.keep(self.run, self.history)

    def _stamp(self, event: Event) -> Event:
        seq = self.history.seq + 1
        if event.type == e.GATE_OPENED:
            event = self._shown(event)
        elif event.type == e.GATE_ESCALATED:
            event = self._addressed(event)
        stamped = Event(event.type, event.key, event.data, event.body, self.now, seq, event.v)
        if stamped.body is not None:
            self.bodies[seq] = stamped.body
        self.new.append(stamped)
        return stamped

    def _shown(self, event: Event) -> Event:
        """A gate keeps what is shown at it, and the digest that an answer is bound to."""
        spec = self.plan.step[event.key].spec
        question = spec.get("question") or spec.get("prompt", "")
        body = {"question": question, "options": list(event.data.get("options", ())), "context": self.context(event.key)}
        asked = gatebook.audiences(spec.get("assignees") or [], self.run.profile_id)
        return replace(event, body=body, data={**event.data, "digest": digest(body), "asked": asked})

    def _addressed(self, event: Event) -> Event:
        """An escalation keeps whom it is for and who of them are here, so that audience and receipt follow from it."""
        target = self.plan.step[event.key].spec.get("escalate_to") or ""
        asked = gatebook.audiences([target], self.run.profile_id) if target else []
        reached = [name for _, name in notification.people(target)]
        return replace(event, data={**event.data, "to": target, "asked": asked, "reached": reached})


def turn(
    run_id: str,
    take_in: Callable[[Turn], None] | None = None,
    *,
    now: datetime | None = None,
    holder: Holder | None = None,
    locked: bool = True,
) -> Turn:
    """Change a run. `take_in` records facts or refuses before it does; an expiry found first is kept even then.

    When `take_in` sets `defer`, the facts are only recorded and the run is due at once: a later turn decides. With `locked=False` a
    warm run is written without reading it first; the seq guard sends the turn round again when it was behind. When the turn holds
    leases its history stays with the caller, who puts it back. Raises NotFound, FenceLost, or the refusal of `take_in`.
    """
    for attempt in range(ATTEMPTS):
        try:
            done, refusal = _turn(run_id, take_in, now, holder, locked=locked or attempt > 0)
        except journal.SeqLost:
            continue
        if refusal:
            raise refusal
        return done
    raise journal.SeqLost(run_id)


def honour(run_id: str, *, now: datetime | None = None) -> Turn:
    """The turn of a run that is due: what time did is recorded, and where nothing follows the run is due at its next deadline."""

    def take_in(this: Turn) -> None:
        this.due = True

    return turn(run_id, take_in, now=now)


def _turn(
    run_id: str, take_in: Callable[[Turn], None] | None, now: datetime | None, holder: Holder | None, *, locked: bool
) -> tuple[Turn, HermesError | None]:
    refusal = None
    with transaction.atomic(durable=True):
        run, history = warm.take(run_id, locked=locked)
        seen = history.seq
        this = Turn(run=run, history=history, now=now or timezone.now())  # read under the lock: who waited for it is not earlier
        _honour_deadlines(this)
        try:
            if take_in:
                take_in(this)
        except HermesError as error:
            refusal = error
        if not this.defer:
            decide_or_stuck(this)
            _withdraw(this)
        if this.new:
            this.leases = _write(this, seen, holder, due_now=this.defer)
        elif this.due:
            journal.rest(run_id, history, this.now)
        transaction.on_commit(partial(_after, this))
    return this, refusal


def _honour_deadlines(this: Turn) -> None:
    """What time did comes first, with all that follows from it: a caller meets the run as it really stands."""
    this.record(*expire(this.history, this.now))
    if this.new:
        decide_or_stuck(this)


def _withdraw(this: Turn) -> None:
    """A failing run begins nothing more: attempts that nobody has begun are taken back."""
    history = this.history
    if not (history.failing and history.open_attempts) or history.stuck or history.ended:
        return
    taken = outbox.withdraw(this.run.id, [(key, history.state(key).number) for key in history.open_attempts], this.now)
    if taken:
        this.record(*(Event(e.STEP_WITHDRAWN, key, {"number": number}) for key, number in taken))
        decide_or_stuck(this)


def _write(this: Turn, seen: int, holder: Holder | None, *, due_now: bool = False, starting: Run | None = None) -> list[Lease]:
    return journal.write(
        journal.Entry(
            run_id=this.run.id,
            profile_id=this.run.profile_id,
            seen=seen,
            history=this.history,
            events=this.new,
            now=this.now,
            settlement=this.settlement,
            holder=holder,
            version_id=this.version_id,
            plan_digest=this.plan_digest,
            due_now=due_now,
            starting=starting,
        )
    )


def _after(this: Turn) -> None:
    seq = this.history.seq
    if not this.leases:
        this.put_back()
    if this.new:
        due = sum(event.type in (e.STEP_SCHEDULED, e.DELIVERY_REQUESTED) and not event.data.get("delay") for event in this.new)
        announcements.announce(this.run.id, seq, rings=due - len(this.leases))


def decide_or_stuck(this: Turn) -> None:
    """Decide until nothing follows. A fault of ours keeps the facts and leaves the run stuck, to be tried again."""
    program = Program(this.plan, performers.resolver(this.plan))
    try:
        for _ in advance(program, this.history, this._stamp):
            pass
    except Exception as error:
        _remember_stuck(this, _stuck(error))
        return
    if this.history.stuck:
        this.record(Event(e.RUN_RESUMED))


def _remember_stuck(this: Turn, stuck: Mapping[str, Any]) -> None:
    """The same trouble again is worth an event only when it was time to try again: that event sets the next time."""
    until = stuck_until(this.history)
    if this.history.stuck != stuck or (until and until <= this.now):
        this.record(Event(e.RUN_STUCK, "", stuck))


def _stuck(error: Exception) -> Mapping[str, Any]:
    if isinstance(error, NeedsNewerCode):
        return {"kind": "newer_code", "msg": error.msg, "place": ""}
    return {"kind": "internal", "msg": f"{type(error).__name__}: {error}"[:500], "place": _place(error)}


def _place(error: Exception) -> str:
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_qualname}:{trace.tb_lineno}" if trace else ""


def start(run: Run, plan: Plan, started: Event, *past: Event) -> Turn:
    """Insert a run with its first event and take it as far as it goes without a performer, in one commit.

    `past` is what it did elsewhere before.
    """
    with transaction.atomic(durable=True):
        facts = warm.RunFacts(run.id, run.profile_id)
        facts.remember(started.body)
        this = Turn(run=facts, history=History(plan), now=timezone.now())
        this.record(started, *past)
        decide_or_stuck(this)
        this.leases = _write(this, 0, None, starting=run)
        transaction.on_commit(partial(_after, this))
    return this


@contextmanager
def glance(run_id: str) -> Iterator[Turn]:
    """A run as it stands, to read from while nobody else folds into it; nothing is locked or written. Raises NotFound."""
    run, history = warm.take(run_id, locked=False, fresh=True)
    this = Turn(run=run, history=history, now=timezone.now())
    yield this
    this.put_back()


def outside_transactions() -> bool:
    """Whether this thread holds no transaction, as it must when a seam is called; a test case's own does not count."""
    return all(getattr(block, "_from_testcase", False) for block in connection.atomic_blocks)
