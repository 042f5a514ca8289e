"""Sending a delivery again: beside the course of its run, under the key of the first time, with a receipt of its own."""

from typing import Any

from hermes_workflow.core import events as e
from hermes_workflow.core.errors import Conflict, KeyReused, NotFound
from hermes_workflow.core.events import Event
from hermes_workflow.core.plan import Step
from hermes_workflow.rights import Principal
from runs import engine, selectors, sending
from runs.engine import Turn
from runs.models import Delivery


def resend(*, principal: Principal, run_id: str, node_id: str, key: str | None = None, confirm: bool = False) -> None:
    """Have the result of an output node sent again; the run stays as it is. The same `key` again sends nothing more.

    Raises Forbidden, NotFound (no such delivery), Conflict (not sent yet, being sent now, cancelled), KeyReused, ConfirmationRequired.
    """
    selectors.run_for(principal, run_id)
    principal.require("operate")
    request = f"{principal.id}:{key}" if key else ""

    def take_in(turn: Turn) -> None:
        turn.history.require_known()
        if request in turn.history.requests:
            if turn.history.requests[request] != node_id:
                raise KeyReused
            return
        step = _delivering(turn, node_id)
        targets = [step.spec["target"]] if step.spec["deliver"] == "channel" else []
        sending.require_for(principal, targets, confirmed=confirm)
        state = turn.history.state(node_id)
        data = {"number": state.number + 1, "kind": "deliver", "of": state.delivered, "by": principal.name, "request": request}
        turn.record(Event(e.DELIVERY_REQUESTED, node_id, data))

    engine.turn(run_id, take_in)


def _delivering(turn: Turn, node_id: str) -> Step:
    """The output node whose delivery was tried and may be tried again."""
    history, step = turn.history, turn.plan.step.get(node_id)
    if step is None or step.kind != "output" or not step.spec.get("deliver"):
        raise NotFound("the run has no such delivery")
    if history.ended == "cancelled":
        raise Conflict("the run is cancelled; nothing more of it is sent")
    if node_id in history.resends or node_id in history.open_attempts:
        raise Conflict(f"{node_id} is being sent now")
    if not may_repeat(turn, node_id):
        raise Conflict(f"{node_id} has not been sent yet")
    return step


def deliveries(principal: Principal, run_id: str) -> list[dict[str, Any]]:
    """Each receipt, oldest first: `{node_id, number, target, ok, detail, at, again, sending}`.

    On the last receipt of a node, `again` says whether this principal may have it sent again, `sending` whether that is being done.
    """
    receipts = list(selectors.deliveries_of(run_id))
    last = {receipt.key: receipt.pk for receipt in receipts}
    with engine.glance(run_id) as turn:
        nodes = {key for key in last if (step := turn.plan.step.get(key)) and step.kind == "output" and may_repeat(turn, key)}
        busy, ended = set(turn.history.resends), turn.history.ended
    offered = principal.may("operate") and ended != "cancelled"
    return [_row(one, at_work=one.key in busy, offered=offered and one.key in nodes, last=last[one.key] == one.pk) for one in receipts]


def _row(receipt: Delivery, *, at_work: bool, offered: bool, last: bool) -> dict[str, Any]:
    shown = {name: getattr(receipt, name) for name in ("number", "target", "ok", "detail", "at")}
    return {"node_id": receipt.key, **shown, "again": last and offered and not at_work, "sending": last and at_work}


def may_repeat(turn: Turn, node_id: str) -> bool:
    """Whether a delivery of the node was tried since its step was last entered."""
    state = turn.history.steps.get(node_id)
    return state is not None and bool(state.delivered)
