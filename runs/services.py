"""What starts, reads and moves runs: rights and refusals first, then one turn of the engine."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from hermes_workflow.core import events as e
from hermes_workflow.core.documents import check_value
from hermes_workflow.core.errors import Conflict, Malformed
from hermes_workflow.core.events import Event
from hermes_workflow.core.history import History
from hermes_workflow.core.outputs import INPUT_SEQ, has_output, seqs_for
from hermes_workflow.core.plan import Plan
from hermes_workflow.core.reach import known_starts
from hermes_workflow.core.scheduler import tests_for
from hermes_workflow.core.states import FAILED, FALSE, SKIPPED
from hermes_workflow.models import Design, DesignVersion
from hermes_workflow.rights import Principal
from runs import documents, engine, pulse, selectors, sending, starts
from runs.engine import Turn
from runs.models import Gate, Run

RETRY_STAMP = timedelta(seconds=600)
READS = 5


def start_run(
    *,
    principal: Principal,
    design: Design,
    input: Any = None,
    origin: str,
    perform: str = "host",
    workflow_id: str | None = None,
    key: str | None = None,
    confirm: bool = False,
) -> tuple[Run, bool]:
    """Start a run of the design's current version. Returns it and whether it is new: the same key and body give the earlier run.

    `confirm` is a person's word that what a bot starts may send. Raises Forbidden, Malformed, Conflict (the workflow id is taken),
    KeyReused, ConfirmationRequired.
    """
    principal.require("start")
    check_value({"idempotency_key": key})
    wanted = starts.Start(
        design=design, input=input, origin=origin, starter=principal.user, perform=perform, workflow_id=workflow_id, key=key
    )
    if design.current:
        sending.require(principal, starts.readable(design.current.plan_id), confirmed=confirm)
    return starts.start(wanted)


def read_run(*, principal: Principal, run_id: str) -> dict[str, Any]:
    """The run document, deadlines honoured first. Raises NotFound."""
    honour_deadline(selectors.run_for(principal, run_id))
    return document_of(principal=principal, run_id=run_id)


def document_of(*, principal: Principal, run_id: str, reads: int = READS) -> dict[str, Any]:
    """The run document as it stands: a run that turns while it is read is read again. Raises NotFound."""
    with engine.glance(run_id) as turn:
        run, gates = selectors.run_for(principal, run_id), selectors.open_gates(run_id)
        if reads == 1 or _of_one_moment(run, gates, turn.history):
            turn.fetch({INPUT_SEQ} | seqs_for(turn.history, turn.plan.step))
            return documents.run_document(run, turn.history, turn.bodies, gates)
    return document_of(principal=principal, run_id=run_id, reads=reads - 1)


def _of_one_moment(run: Run, gates: list[Gate], history: History) -> bool:
    asked = {(key, history.gates[key].round) for key in history.open_gates}
    return run.seq == history.seq and (bool(history.unknown) or asked == {(gate.key, gate.round) for gate in gates})


def honour_deadline(run: Run) -> None:
    """Let time pass for one run before anything of it is read."""
    if run.due_at and run.due_at <= timezone.now():
        engine.honour(run.pk)


def honour_deadlines() -> None:
    """Let time pass for every run: lists show no gate whose deadline is over."""
    pulse.turn_due(timezone.now())


def may_cancel(principal: Principal, run: Run) -> bool:
    """Operators may, and whoever started it, within what their role and token still allow: to stop is no more than to start."""
    own = run.started_by_id == principal.id and not principal.is_bot
    return principal.may("operate") or (own and principal.may("start"))


def cancel_run(*, principal: Principal, run_id: str, reason: str = "") -> None:
    """Stop a run on purpose. Cancelling a cancelled run is harmless. Raises Forbidden, NotFound, Conflict (it has ended)."""
    if not may_cancel(principal, selectors.run_for(principal, run_id)):
        principal.require("operate")
    if not isinstance(reason, str) or len(reason) > 500:
        raise Malformed("reason: must be text of at most 500 characters")
    check_value({"reason": reason})

    def take_in(turn: Turn) -> None:
        if turn.history.ended == "cancelled":
            return
        if turn.history.ended:
            raise Conflict(f"the run has already ended: {turn.history.ended}")
        turn.record(Event(e.RUN_CANCELLED, "", {"by": principal.name, "reason": reason}))

    engine.turn(run_id, take_in)


def retry_run(*, principal: Principal, run_id: str, version: str = "pinned", confirm: bool = False) -> None:
    """Go on at the failed step, with what succeeded kept; `current` follows the design's newest version.

    A running run is taken over only when an earlier retry is 600 s old; `confirm` is as for a start. Raises Forbidden, NotFound,
    Malformed, ConfirmationRequired, Conflict with the reason.
    """
    run = selectors.run_for(principal, run_id)
    principal.require("operate")
    if version not in ("pinned", "current"):
        raise Malformed("version: must be pinned or current")

    def take_in(turn: Turn) -> None:
        _refuse_retry(turn)
        newer = _newer(run, turn) if version == "current" else None
        sending.require(principal, newer[1] if newer else turn.plan, confirmed=confirm)
        if newer is None:
            turn.record(Event(e.RUN_REOPENED, "", {"why": "retry", "by": principal.name, "keys": _again(turn.history)}))
            return
        target, plan = newer
        keys = _again_under(turn.history, plan)
        data = {"why": "retry", "by": principal.name, "keys": keys, "version": target.number, "plan": plan.digest}
        turn.adopt(plan, version_id=target.pk)
        turn.record(Event(e.RUN_REOPENED, "", {**data, "tests": _tests_under(turn, plan, keys)}))

    engine.turn(run_id, take_in)


def _refuse_retry(turn: Turn) -> None:
    history = turn.history
    history.require_known()
    if history.ended == "failed":
        return
    if history.ended:
        raise Conflict(f"the run is {history.ended}; only a failed run is retried")
    if history.open_gates:
        key = next(iter(history.open_gates))
        raise Conflict(f"the run waits at {key}: answer it", hint=f"answer the gate {key} instead of retrying")
    if history.retried_at is None:
        raise Conflict("the run is running; it can be retried once it has failed")
    if turn.now - history.retried_at < RETRY_STAMP:
        raise Conflict("the run was retried less than 10 minutes ago and may still be at work")


def _again(history: History) -> list[str]:
    """What failed or is at work, to be done again; what is settled stays."""
    return [step.id for step in history.plan.steps if history.outcome(step.id) == FAILED or history.is_open(step.id)]


def _again_under(history: History, plan: Plan) -> list[str]:
    """As `_again`, and what another plan may decide differently: conditions, skips, steps of another kind, work on steps it lacks."""
    old = history.plan.step
    gone = [key for key in (*history.open_attempts, *history.undecided) if key not in plan.step]
    return gone + [
        step.id
        for step in plan.steps
        if history.outcome(step.id) in (FAILED, SKIPPED, FALSE)
        or history.is_open(step.id)
        or (step.id in old and (step.kind == "condition" or old[step.id].kind != step.kind))
    ]


def _tests_under(turn: Turn, plan: Plan, keys: list[str]) -> dict[str, Any]:
    """The new plan's conditions over the outputs that are kept."""
    kept = [key for key in (plan.trigger, *plan.step) if key not in keys and has_output(turn.history, key)]
    found: dict[str, Any] = {}
    for key, value in turn.values(kept).items():
        found |= tests_for(plan, key, value)
    return found


def _newer(run: Run, turn: Turn) -> tuple[DesignVersion, Plan] | None:
    design = Design.objects.select_related("current").get(pk=run.design_id)
    if design.profile_id != run.profile_id:
        raise Conflict("the design moved to another profile, whose people alone see its versions", hint="retry the pinned version")
    current = design.current
    if current is None:
        return None
    whole = starts.readable(current.plan_id)
    plan = starts.part(whole, known_starts(whole, turn.history.started.get("starts") or ()))
    return None if plan.digest == turn.plan.digest else (current, plan)
