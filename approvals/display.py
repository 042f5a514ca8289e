"""What a gate shows on a page: the row in the inbox, the detail, the card on its run."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join

from approvals import selectors
from approvals.brief import brief_of
from approvals.models import Decision
from hermes_workflow.core.plan import Plan, Step
from hermes_workflow.core.prompts import rendered
from hermes_workflow.icons import OPTION_ICONS
from hermes_workflow.markdown import render_value
from hermes_workflow.rights import Principal
from hermes_workflow.words import sentence, shown
from runs import warm
from runs.models import Attempt, Gate
from runs.subjects import subjects_of
from runs.waiting import asked, spoken, then

AGENT = "awaiting_agent"
ROW_LENGTH = 160
ENDS = {"expired": ("timed out", "clock"), "closed": ("closed with its run", "slash")}
KINDS = {"add": "add", "+": "add", "-": "del"}


def rows_of(gates: Sequence[Gate], ends: Mapping[int, Decision]) -> list[dict[str, Any]]:
    """Gates in a list, in their order."""
    subjects = subjects_of(gate.run_id for gate in gates)
    return [_row_of(gate, answered=ends.get(gate.pk), subject=subjects.get(gate.run_id, "")) for gate in gates]


def _row_of(gate: Gate, *, answered: Decision | None, subject: str) -> dict[str, Any]:
    """A gate in a list; one that is over says who answered."""
    agent = gate.kind == Gate.Kind.AGENT
    first = gate.question.strip().partition("\n")[0]
    return {
        "gate_id": gate.pk,
        "run_id": gate.run_id,
        "node_id": gate.key,
        "kind": AGENT if agent else gate.kind,
        "question": f"Perform {gate.key}: {first}"[:ROW_LENGTH] if agent else gate.question,
        "name": gate.run.design.slug,
        "subject": subject,
        "starter": gate.run.started_by.get_username() if gate.run.started_by else "",
        "waiting_since": gate.waiting_since,
        "deadline": gate.due_at,
        "on_timeout": gate.on_timeout,
        "overdue": gate.due_at is not None and gate.due_at <= timezone.now(),
        "digest": gate.digest,
        "options": gate.options,
        "quorum": gate.quorum,
        "voted": len(gate.votes),
        "people": people_of(gate),
        "url": reverse("gate", args=[gate.pk]),
        "answered": None if gate.status == Gate.Status.OPEN else over(gate, answered),
    }


def people_of(gate: Gate) -> list[dict[str, Any]]:
    """Who is asked, as avatars: the people and groups named, else the reviewers."""
    names = [*(gate.rules.get("assignees") or [])]
    if gate.escalated_at and gate.rules.get("escalate_to"):
        names.append(gate.rules["escalate_to"])
    people = [{"name": spoken(name), "group": name.startswith("group:")} for name in names]
    return people or [{"name": "agent" if gate.kind == Gate.Kind.AGENT else "reviewers", "group": True}]


def over(gate: Gate, decision: Decision | None) -> dict[str, Any]:
    """How a gate ended: who answered what, or that time or the run ended it."""
    if gate.status == Gate.Status.ANSWERED and decision:
        return answered_as(str(decision.person), decision)
    how, icon = ENDS.get(gate.status, ("answered", "tick"))
    if gate.status == Gate.Status.ANSWERED:
        return {"by": "somebody", "answer": gate.answer, "at": gate.ended_at, "icon": icon, "how": how}
    return {"by": "nobody", "answer": how, "at": gate.ended_at, "icon": icon, "how": how}


def answered_as(name: str, decision: Decision) -> dict[str, Any]:
    """An answer in a list; a known word brings its own icon."""
    icon, _ = OPTION_ICONS.get(decision.answer.strip().lower(), ("tick", "plain"))
    how = "answered" if decision.answer else "performed"
    return {"by": name, "answer": decision.answer or how, "at": decision.at, "icon": icon, "how": how}


def deciding(gates: Iterable[Gate]) -> dict[int, Decision]:
    """The decision that ended each answered gate."""
    ended = [gate for gate in gates if gate.status == Gate.Status.ANSWERED]
    rows = Decision.objects.filter(gate__in=ended).select_related("by", "on_behalf_of").order_by("at", "id")
    answers = {gate.pk: gate.answer for gate in ended}
    return {row.gate_id: row for row in rows if row.answer == answers[row.gate_id]}


def detail_of(principal: Principal, gate: Gate) -> dict[str, Any]:
    """Everything a person needs to answer one gate, as `gate_detail.html` takes it."""
    decisions = selectors.decisions_of(gate)
    refusal = selectors.why_not(principal, gate)
    earlier = selectors.last_answered(gate)
    plan = warm.plan_of(gate.run.plan_id)
    is_agent = gate.kind == Gate.Kind.AGENT
    return {
        "gate": rows_of([gate], deciding([gate]))[0]
        | {
            "question": f"Perform {gate.key}" if is_agent else gate.question,
            "version": gate.run.version.number,
            "run_url": reverse("run", args=[gate.run_id]),
            "design_url": reverse("design", args=[gate.run.design.slug]),
            "asked_says": asked(gate),
            "voted_says": ", ".join(f"{vote['name']} has answered" for vote in gate.votes),
            "stop_says": _stops(gate),
            **(_task(gate, plan) if is_agent else {}),
        },
        "agent": None if is_agent else agent_of(gate, plan, earlier),
        "context_rows": [] if is_agent else _given(gate, plan),
        "choices": [{"value": one.option, "says": one.text} for one in selectors.consequences(gate)],
        "timeout_says": then(gate) if gate.status == Gate.Status.OPEN and not is_agent else "",
        "decisions": [_decision(row) for row in decisions],
        "last_time": _last_time(principal, earlier),
        "can_answer": not refusal,
        "cannot_says": sentence(refusal if gate.status == Gate.Status.OPEN else _over_says(gate, decisions)),
        "answer_url": reverse("answer", args=[gate.pk]),
        "refresh_url": reverse("gate", args=[gate.pk]),
        "idempotency_key": uuid4().hex,
    }


def _task(gate: Gate, plan: Plan) -> dict[str, str]:
    """What an agent step asks for; the schema its result must have, if any."""
    step = plan.step.get(gate.key)
    schema = step.spec.get("schema") if step else None
    return {"prompt": shown(rendered(gate.question, gate.context)), "schema": "" if schema is None else shown(schema)}


def _stops(gate: Gate) -> str:
    stops = gate.rules.get("stop_on") or []
    return f"one {' or '.join(stops)} stops it" if stops else ""


def _over_says(gate: Gate, decisions: list[Decision]) -> str:
    ended = over(gate, next((row for row in reversed(decisions) if row.answer == gate.answer), None))
    return (
        f"Answered by {ended['by']}: {ended['answer']}" if gate.status == Gate.Status.ANSWERED else f"This gate is over: {ended['answer']}"
    )


def _decision(row: Decision) -> dict[str, Any]:
    via = "" if row.channel == "web" else f"{row.channel}, relayed by {row.by}" if row.on_behalf_of else row.channel
    url = row.message_url if row.message_url.startswith("https://") else ""
    return {
        "name": str(row.person),
        "answer": row.answer or "performed",
        "at": row.at,
        "via": via,
        "message_url": url,
        "comment": row.comment,
    }


def _last_time(principal: Principal, earlier: Gate | None) -> dict[str, Any] | None:
    if earlier is None:
        return None
    mine = next((row for row in selectors.decisions_of(earlier) if row.person == principal.user), None)
    return {"answer": mine.answer, "at": mine.at, "comment": mine.comment} if mine else None


def agent_of(gate: Gate, plan: Plan, earlier: Gate | None) -> dict[str, Any] | None:
    """What agents said above this gate, for their box; nothing when no agent did."""
    said = _said(gate, plan)
    if not said:
        return None
    last = Attempt.objects.filter(run_id=gate.run_id, key__in=said, status=Attempt.Status.DONE).order_by("-id").first()
    return {
        "node_id": ", ".join(said),
        "attempt": last.number if last and len(said) == 1 else None,
        "at": last.ended_at if last else None,
        "profile": _profile(plan.step.get(next(iter(said)))),
        "html": _together(said),
        "source": shown(next(iter(said.values())) if len(said) == 1 else dict(said)),
        "changes": _changes(earlier, gate) if earlier else [],
        "brief": brief_of(said),
    }


def _said(gate: Gate, plan: Plan) -> dict[str, Any]:
    return {key: value for key, value in gate.context.items() if key != plan.trigger}


def _together(said: Mapping[str, Any]) -> str:
    if len(said) == 1:
        return render_value(next(iter(said.values())))
    return format_html_join("", "<h3>{}</h3>{}", ((key, render_value(value)) for key, value in said.items()))


def _profile(step: Step | None) -> str:
    return (step.spec.get("profile") or settings.HERMES_DEFAULT_PROFILE) if step and step.kind == "agent" else ""


def _changes(earlier: Gate, gate: Gate) -> list[dict[str, str]]:
    """Against what was shown when this gate was answered last."""
    found = [{"kind": KINDS.get(line.mark, "same"), "text": shown(line.text) or line.mark} for line in selectors.changes(earlier, gate)]
    return found or [{"kind": "same", "text": "The same as last time."}]


def _given(gate: Gate, plan: Plan) -> list[dict[str, Any]]:
    """The input, where the gate looks right at it."""
    given = gate.context.get(plan.trigger)
    if not isinstance(given, dict):
        return []
    return [{"label": key, "value": format_html("{}", shown(value))} for key, value in given.items()]


def card_of(principal: Principal, gates: list[Gate], *, reverse_name: str) -> dict[str, Any] | None:
    """The first open gate of a run that this person may answer, for the card on its page; else the first one."""
    found = [selectors.gate_for(principal, gate.pk) for gate in gates]
    mine = [gate for gate in found if not selectors.why_not(principal, gate)]
    if not found:
        return None
    gate = (mine or found)[0]
    return detail_of(principal, gate) | {"answer_url": reverse(reverse_name, args=[gate.run_id, gate.pk])}


def decisions_in(run_id: str) -> list[dict[str, Any]]:
    """Every decision at the gates of a run, oldest first."""
    return [
        _decision(row) for row in Decision.objects.filter(gate__run_id=run_id).select_related("by", "on_behalf_of").order_by("at", "id")
    ]
