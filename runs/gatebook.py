"""The gate rows that the journal projects: one per round, with the audiences that are asked."""

from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db import connection
from django.db.models import QuerySet

from hermes_workflow.core.events import Event
from hermes_workflow.core.plan import Plan
from hermes_workflow.fields import dumps
from runs.models import Gate, GateAudience
from runs.seams import notification
from runs.statements import Statement, execute

# Plain SQL where an answer is recorded: building these queries cost a third of answering.
_VOTED = """UPDATE runs_gate SET votes = CASE WHEN votes = '[]' THEN '[' ELSE substr(votes, 1, length(votes) - 1) || ',' END || %s || ']'
    WHERE run_id = %s AND key = %s AND round = %s"""
_OVER = "UPDATE runs_gate SET status = %s, answer = %s, ended_at = %s WHERE run_id = %s AND key = %s AND round = %s"
_UNASKED = """UPDATE runs_gateaudience SET open = %s
    WHERE gate_id = (SELECT id FROM runs_gate WHERE run_id = %s AND key = %s AND round = %s)"""


def open_gate(run_id: str, profile_id: int, plan: Plan, event: Event) -> None:
    """Insert the gate of `gate.opened`."""
    gate = Gate.objects.create(run_id=run_id, profile_id=profile_id, key=event.key, round=event.data["round"], **opened(plan, event))
    _ask(gate, event.data["asked"])


def opened(plan: Plan, event: Event) -> dict[str, Any]:
    """The columns of a new gate; the event's body is what is shown."""
    assert event.at is not None
    data, shown, spec = event.data, event.body, plan.step[event.key].spec
    minutes = data.get("minutes")
    return {
        "kind": data["kind"],
        "question": shown["question"],
        "options": shown["options"],
        "context": shown["context"],
        "rules": {name: spec[name] for name in ("assignees", "escalate_to", "stop_on", "relay") if name in spec},
        "digest": data["digest"],
        "quorum": data.get("quorum", 1),
        "waiting_since": event.at,
        "due_at": event.at + timedelta(minutes=minutes) if minutes else None,
        "on_timeout": data.get("on_timeout", "") if minutes else "",
    }


def audiences(names: list[str], profile_id: int) -> list[str]:
    """`user:ann` and `group:legal` as `user:5` and `group:3`; nobody named means any reviewer of the profile."""
    if not names:
        return [f"profile:{profile_id}"]
    found: list[str] = []
    for name in names:
        kind, _, who = name.partition(":")
        model, field = (get_user_model(), "username") if kind == "user" else (Group, "name")
        row = model._default_manager.filter(**{field: who}).values_list("pk", flat=True).first()
        if row is not None:
            found.append(f"{kind}:{row}")
    return list(dict.fromkeys(found))


def _ask(gate: Gate, names: list[str]) -> None:
    rows = [GateAudience(gate=gate, audience=name, waiting_since=gate.waiting_since) for name in names]
    GateAudience.objects.bulk_create(rows, ignore_conflicts=True)


def add_vote(run_id: str, event: Event) -> None:
    """Keep who said what, for `k of n`. The column is the text of a list, so that a vote is appended without reading the others."""
    execute([Statement(_VOTED, [dumps(vote_row(event)), run_id, event.key, event.data["round"]])])


def vote_row(event: Event) -> dict[str, Any]:
    """`{by, name, answer, comment, channel, at}` of a vote."""
    assert event.at is not None
    kept = {name: event.data.get(name, "") for name in ("by", "name", "answer", "comment", "channel")}
    return {**kept, "at": event.at.isoformat()}


def end(run_id: str, event: Event, status: str) -> None:
    """The round is over: answered, expired or closed."""
    place, columns = [run_id, event.key, event.data["round"]], ended(event, status)
    at = connection.ops.adapt_datetimefield_value(columns["ended_at"])
    execute([Statement(_OVER, [columns["status"], columns["answer"], at, *place]), Statement(_UNASKED, [False, *place])])


def ended(event: Event, status: str) -> dict[str, Any]:
    """The columns of a gate that is over."""
    return {"status": status, "ended_at": event.at, "answer": str(event.data.get("answer", ""))}


def close_all(*, run_id: str, keys: list[str] | None, at: datetime | None) -> None:
    """Close the open rounds of a cancelled run, or of the keys that are entered again."""
    gates = Gate.objects.filter(run_id=run_id, status="open")
    if keys is not None:
        gates = gates.filter(key__in=keys)
    GateAudience.objects.filter(gate__in=list(gates)).update(open=False)
    gates.update(status="closed", ended_at=at)


def escalate(run_id: str, event: Event) -> None:
    """Ask `escalate_to` as well and tell them once; the gate keeps waiting."""
    gate = _round(run_id, event).get()
    gate.escalated_at = event.at
    gate.save(update_fields=["escalated_at"])
    if target := event.data["to"]:
        _ask(gate, event.data["asked"])
        design, source = gate.run.design, f"escalated:{run_id}:{gate.key}:{gate.round}"
        title = f"{design.title or design.slug}: {gate.key} needs you"
        notification.notify(target=target, run_id=run_id, source=source, title=title, text=gate.question)


def _round(run_id: str, event: Event) -> QuerySet[Gate]:
    return Gate.objects.filter(run_id=run_id, key=event.key, round=event.data["round"])
