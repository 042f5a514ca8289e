"""When a gate takes no more answers: who decided, when, and how, said the same way on every door."""

from datetime import datetime
from typing import Any

from approvals.models import Decision
from hermes_workflow.core.errors import AlreadyDecided, Conflict
from hermes_workflow.core.history import History
from hermes_workflow.core.scheduler import tally
from hermes_workflow.core.states import GateState
from runs.documents import instant
from runs.models import Gate


def refuse_over(gate: Gate, history: History, person_id: int) -> None:
    """Raises AlreadyDecided (with `winner`, `answered_at`, `answer`, `channel`) or Conflict; asked under the run's lock."""
    state = history.gates.get(gate.key)
    if state is None or state.round != gate.round:
        raise ended(gate)
    if winner := _winner(state):
        raise decided(winner["name"], winner["answer"], winner["at"], winner.get("channel", ""))
    if state.status == "expired":
        raise _expired(state.due_at)
    if state.status == "closed":
        raise _closed(history.ended)
    for vote in state.votes:
        if vote["by"] == person_id:
            raise decided(vote["name"], vote["answer"], vote["at"], vote["channel"], whose="you have")


def _winner(state: GateState) -> dict[str, Any] | None:
    """The vote that decided, although a deferred turn may not have said so yet; for an agent step, who performed it."""
    return tally(state) or state.answer


def ended(gate: Gate) -> Conflict:
    """The refusal for a gate that an earlier round or the end of its run closed, told from its rows."""
    gate.refresh_from_db(fields=["status", "answer", "due_at"])
    if gate.status == Gate.Status.EXPIRED:
        return _expired(gate.due_at)
    last = Decision.objects.filter(gate=gate, answer=gate.answer).select_related("by", "on_behalf_of").order_by("-at", "-id").first()
    if gate.status == Gate.Status.ANSWERED and last:
        return decided((last.on_behalf_of or last.by).get_username(), last.answer, last.at, last.channel)
    return _closed("")


def decided(name: str, answer: str, at: datetime, channel: str = "", *, whose: str = "") -> AlreadyDecided:
    """`already answered approve by ann at …`, with the same in fields."""
    said = f"answered {answer}" if answer else "performed"
    who = f"{whose} already {said}" if whose else f"already {said} by {name}"
    return AlreadyDecided(f"{who} at {instant(at)}", winner=name, answered_at=instant(at), answer=answer, channel=channel)


def _expired(due_at: datetime | None) -> Conflict:
    at = instant(due_at)
    return Conflict(f"approval timed out: the deadline was {at}", hint="retry the run to be asked again", deadline=at)


def _closed(ended: str) -> Conflict:
    return Conflict(f"the gate is closed: the run is {ended}" if ended else "the gate is closed: the run went on without it")
