"""Why a run waits, in words: for whom, until when, and what happens then."""

from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from hermes_workflow.core.events import RUN_CANCELLED
from hermes_workflow.words import sentence, shown
from runs.models import Event, Gate, Run


@dataclass(frozen=True, slots=True)
class Reason:
    """`strong` says what is waited for, `text` until when and what then; `tone` colours it."""

    strong: str
    text: str
    tone: str = ""
    icon: str = "clock"


def asked(gate: Gate) -> str:
    """Who is asked: "ann", "group legal", "any reviewer of default"."""
    if gate.kind == Gate.Kind.AGENT:
        return f"the chat agent, or anyone who may perform steps of profile {gate.profile.name}"
    names = list(gate.rules.get("assignees") or [])
    if gate.escalated_at and gate.rules.get("escalate_to"):
        names.append(gate.rules["escalate_to"])
    return " or ".join(spoken(name) for name in names) or f"any reviewer of {gate.profile.name}"


def spoken(name: str) -> str:
    """`user:ann` as "ann", `group:legal` as "group legal"."""
    kind, _, who = name.partition(":")
    return who if kind == "user" else f"{kind} {who}".strip()


def clock(at: datetime) -> str:
    """A time of day in the reader's zone; the date too when it is not today."""
    local, today = timezone.localtime(at), timezone.localtime()
    return f"{local:%H:%M}" if local.date() == today.date() else f"{local:%H:%M} on {local.day} {local:%b %Y}"


def then(gate: Gate) -> str:
    """What happens without an answer."""
    if gate.due_at is None:
        return "There is no deadline: it waits until somebody answers."
    if gate.on_timeout == "escalate":
        target = gate.rules.get("escalate_to")
        more = f"{spoken(target)} is asked as well" if target else "it is marked as escalated"
        if gate.escalated_at:
            return f"It was escalated at {clock(gate.escalated_at)} and goes on waiting."
        return f"If nobody answers by {clock(gate.due_at)}, {more} and it goes on waiting."
    return f"If nobody answers by {clock(gate.due_at)}, the run fails with “approval timed out” and nothing more is sent."


def reason(run: Run, gates: list[Gate], *, events: list[Event], stuck: dict[str, str] | None, busy: str) -> Reason | None:
    """Why the run is where it is; None when it has ended well. `busy` says which step is at work."""
    if run.status == Run.Status.FAILED:
        return _failed(run)
    if run.status == Run.Status.CANCELLED:
        return _cancelled(events)
    if run.status == Run.Status.WAITING:
        return Reason(
            "Waiting:", f"{(stuck or {}).get('msg', 'for a timer')}. Nothing is lost; it goes on by itself within a minute of being mended."
        )
    if run.status == Run.Status.RUNNING:
        return Reason(busy or "Waiting for a worker.", "Nobody has to do anything.", tone="info", icon="ring")
    if not gates:
        return None
    gate = gates[0]
    if gate.kind == Gate.Kind.AGENT:
        return Reason(
            f"{gate.key} waits for {asked(gate)}.",
            "It waits until the step is performed; there is no deadline.",
            tone="agent",
            icon="robot",
        )
    missing = gate.quorum - len(gate.votes)
    many = f"{missing} more answer{'s' if missing > 1 else ''}" if gate.quorum > 1 else "an answer"
    return Reason(f"Waiting for {many} from {asked(gate)}.", then(gate), tone="gate")


def _failed(run: Run) -> Reason:
    error = run.error or {}
    place = f" at {error['node_id']}" if error.get("node_id") else ""
    text = f"{sentence(error.get('msg', 'no reason given'))} {sentence(error.get('hint', ''))}"
    return Reason(f"Failed{place}:", text.strip(), tone="bad", icon="octagon")


def _cancelled(events: list[Event]) -> Reason | None:
    end = next((event for event in reversed(events) if event.type == RUN_CANCELLED), None)
    if end is None:
        return None
    why = shown(end.data.get("reason") or "")
    strong = f"Cancelled by {end.data.get('by') or 'nobody'} at {clock(end.at)}{':' if why else '.'}"
    return Reason(strong, why or "No reason was given.", icon="stop")
