"""The states that a history holds: one per step, and one per gate for its latest round."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

PASSED, FAILED, SKIPPED, FALSE = "passed", "failed", "skipped", "false"


@dataclass(slots=True)
class StepState:
    """One step so far. `outcome` is empty until it is settled; `tries` counts failures since the last re-entry.

    `number` is the last attempt's; `unperformed` says how many of these numbers found no performer, or were never begun, and tried
    nothing; `delivered` is the number under whose key the step's result was sent.
    """

    outcome: str = ""
    number: int = 0
    unperformed: int = 0
    delivered: int = 0
    tries: int = 0
    spared: bool = False
    parked: bool = False
    failure: dict[str, Any] | None = None
    body_seq: int = 0
    data: dict[str, Any] = field(default_factory=dict)
    at: datetime | None = None


@dataclass(slots=True)
class GateState:
    """The latest round of a gate."""

    key: str
    round: int
    kind: str
    options: list[str]
    quorum: int
    stop_on: list[str]
    on_timeout: str
    waiting_since: datetime
    due_at: datetime | None
    digest: str
    body_seq: int
    votes: list[dict[str, Any]] = field(default_factory=list)
    escalated_at: datetime | None = None
    answer: dict[str, Any] | None = None
    status: str = "open"
