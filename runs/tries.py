"""Each try of each step, put together from a run's events: when it began and ended, and how."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from hermes_workflow.core import events as e
from runs.models import Event

OPENS = (e.STEP_SCHEDULED, e.DELIVERY_REQUESTED)
ENDS = {
    e.STEP_COMPLETED: "done",
    e.STEP_FAILED: "failed",
    e.STEP_UNPERFORMED: "cancelled",
    e.STEP_WITHDRAWN: "cancelled",
    e.DELIVERY_TRIED: "done",
}


@dataclass(slots=True)
class Try:
    """One try. `began` counts the wait before it (`ready_at`) out; `status` is running until it ended."""

    number: int
    ready_at: datetime
    status: str = "running"
    ended_at: datetime | None = None
    error: dict[str, Any] = field(default_factory=dict)

    @property
    def seconds(self) -> float | None:
        """How long it took, the wait before it not counted."""
        return max(0.0, (self.ended_at - self.ready_at).total_seconds()) if self.ended_at else None


def tries_of(events: Iterable[Event]) -> dict[str, list[Try]]:
    """`{step: tries}`, oldest first; a step that a person performed has none."""
    found: dict[str, list[Try]] = defaultdict(list)
    for event in events:
        if event.type in OPENS:
            found[event.key].append(Try(event.data["number"], event.at + timedelta(seconds=event.data.get("delay") or 0)))
        elif event.type in ENDS:
            for one in found[event.key]:
                if one.number == event.data.get("number") and one.status == "running":
                    one.status, one.ended_at = ENDS[event.type], event.at
                    one.error = {name: event.data[name] for name in ("kind", "msg") if event.type == e.STEP_FAILED and name in event.data}
        elif event.type in (e.RUN_CANCELLED, e.RUN_REOPENED):
            _end_open(found, event)
    return found


def _end_open(found: dict[str, list[Try]], event: Event) -> None:
    """Stopped by a cancel, or by a retry that took the step over."""
    keys = event.data.get("keys") or list(found)
    for one in (one for key in keys for one in found.get(key, []) if one.status == "running"):
        one.status, one.ended_at = "cancelled", event.at
