"""Each event of a history as one plain sentence that names who did it."""

from collections.abc import Callable, Mapping
from typing import Any

from hermes_workflow.core import events as e
from runs.models import Event, Run
from runs.waiting import spoken

Data = Mapping[str, Any]
HOW = {e.GATE_EXPIRED: "Nobody answered {} in time", e.RUN_COMPLETED: "The run finished", e.RUN_RESUMED: "The run goes on"}


def told(event: Event, run: Run) -> str:
    """The sentence; of a type that this code does not know, the type itself."""
    if event.type in HOW:
        return HOW[event.type].format(event.key)
    tell = TELLERS.get(event.type)
    return tell(event.key, event.data, run) if tell else event.type


def _started(key: str, data: Data, run: Run) -> str:
    who = run.started_by.get_username() if run.started_by else "nobody"
    return f"{who} started the run from {run.origin}, version {data.get('version', '?')}"


def _reopened(key: str, data: Data, run: Run) -> str:
    who, keys = data.get("by") or "The system", ", ".join(data.get("keys") or ())
    if data.get("from"):
        return f"{who} went back to {data['from']}, to do again {keys}"
    under = f", with version {data['version']}" if data.get("version") else ""
    return f"{who} retried the run{f' at {keys}' if keys else ''}{under}"


def _failed(key: str, data: Data, run: Run) -> str:
    place = f" at {data['node_id']}" if data.get("node_id") else ""
    return f"The run failed{place}{_reason(data.get('msg'))}"


def _cancelled(key: str, data: Data, run: Run) -> str:
    return f"{data.get('by') or 'Somebody'} cancelled the run{_quoted(data.get('reason'))}"


def _scheduled(key: str, data: Data, run: Run) -> str:
    wait = f", due in {data['delay']:g} s" if data.get("delay") else ""
    return f"Attempt {data.get('number', '?')} of {key} was queued{wait}"


def _completed(key: str, data: Data, run: Run) -> str:
    return f"{data['by']} performed {key}" if data.get("by") else f"{key} finished"


def _voted(key: str, data: Data, run: Run) -> str:
    return f"{_name(data)} answered {data.get('answer', '')} at {key}{_quoted(data.get('comment'))}"


def _answered(key: str, data: Data, run: Run) -> str:
    return f"{key} is decided: {data['answer']}" if data.get("answer") else f"{_name(data)} took on {key}"


def _escalated(key: str, data: Data, run: Run) -> str:
    to = f" to {spoken(data['to'])}" if data.get("to") else ""
    return f"{key} was escalated{to}, because of its {data.get('why', 'deadline')}"


def _sent(key: str, data: Data, run: Run) -> str:
    done = "Delivered" if data.get("ok") else "Could not deliver"
    return f"{done} {key} to {spoken(data.get('target') or '')}{'' if data.get('ok') else _reason(data.get('detail'))}"


def _name(data: Data) -> str:
    return str(data.get("name") or data.get("by") or "Somebody")


def _quoted(text: Any) -> str:
    return f": “{text}”" if text else ""


def _reason(text: Any) -> str:
    return f": {text}" if text else ""


TELLERS: dict[str, Callable[[str, Data, Run], str]] = {
    e.RUN_STARTED: _started,
    e.RUN_REOPENED: _reopened,
    e.RUN_STUCK: lambda key, data, run: f"Deciding met a fault{_reason(data.get('msg'))}",
    e.RUN_FAILED: _failed,
    e.RUN_CANCELLED: _cancelled,
    e.STEP_SCHEDULED: _scheduled,
    e.STEP_COMPLETED: _completed,
    e.STEP_FAILED: lambda key, data, run: f"Attempt {data.get('number', '?')} of {key} failed{_reason(data.get('msg'))}",
    e.STEP_UNPERFORMED: lambda key, data, run: f"Nobody performs {key}{_reason(data.get('msg'))}",
    e.STEP_WITHDRAWN: lambda key, data, run: f"{key} is not begun, because the run is failing",
    e.STEP_GAVE_UP: lambda key, data, run: f"{key} failed for good{_reason(data.get('msg'))}",
    e.STEP_SKIPPED: lambda key, data, run: f"{key} was skipped{_reason(data.get('because'))}",
    e.CONDITION_EVALUATED: lambda key, data, run: f"{key} is {'true' if data.get('result') else 'false'}{_reason(data.get('trace'))}",
    e.DELIVERY_REQUESTED: lambda key, data, run: f"{data.get('by') or 'Somebody'} had {key} sent again",
    e.DELIVERY_TRIED: _sent,
    e.GATE_OPENED: lambda key, data, run: f"{key} waits to be {'performed' if data.get('kind') == 'agent' else 'answered'}",
    e.GATE_VOTED: _voted,
    e.GATE_ANSWERED: _answered,
    e.GATE_ESCALATED: _escalated,
    e.GATE_CLOSED: lambda key, data, run: f"{key} closed unanswered{_reason(data.get('why'))}",
}
