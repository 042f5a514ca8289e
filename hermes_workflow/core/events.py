"""Events: what can happen to a run, as small facts in order. The names here are stored for ever."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

RUN_STARTED = "run.started"  # {perform, version, plan, tests, starts?, timeout_seconds?}; body: the input
RUN_REOPENED = "run.reopened"  # {why, by, keys, from?, tests?, version?, plan?}; un-settles the keys
RUN_STUCK = "run.stuck"  # {kind, msg, place}; facts are kept, a later turn tries again
RUN_RESUMED = "run.resumed"  # {}; no longer stuck
RUN_COMPLETED = "run.completed"  # {}
RUN_FAILED = "run.failed"  # {node_id, msg, kind?, hint?}
RUN_CANCELLED = "run.cancelled"  # {by, reason}

STEP_SCHEDULED = "step.scheduled"  # {number, kind, delay?}; opens an attempt, `delay` seconds from now
STEP_COMPLETED = "step.completed"  # {number?, collect?, tests?, structured?, by?}; body: the output
STEP_FAILED = "step.failed"  # {number, kind, msg, hint, retry_after?}; one try
STEP_UNPERFORMED = "step.unperformed"  # {number, msg}; the attempt found no performer
STEP_WITHDRAWN = "step.withdrawn"  # {number}; the attempt was never begun, because the run is failing
STEP_GAVE_UP = "step.gave_up"  # {kind, msg, hint}; the budget is spent
STEP_SKIPPED = "step.skipped"  # {because}
CONDITION_EVALUATED = "condition.evaluated"  # {result, trace, tests?}
DELIVERY_REQUESTED = "delivery.requested"  # {number, kind, of, by, request}; opens an attempt that sends again what `of` sent
DELIVERY_TRIED = "delivery.tried"  # {number, target, ok, detail}

GATE_OPENED = "gate.opened"  # {round, kind, options, quorum, stop_on, minutes, on_timeout, digest, asked}; body: what is shown
GATE_VOTED = "gate.voted"  # {round, by, name, answer, comment, channel, left}
GATE_ANSWERED = "gate.answered"  # {round, answer, by, name, comment, tests?, stops?}
GATE_EXPIRED = "gate.expired"  # {round}
GATE_ESCALATED = "gate.escalated"  # {round, why, to, asked, reached}
GATE_CLOSED = "gate.closed"  # {round, why}


@dataclass(frozen=True, slots=True)
class Event:
    """One fact. `seq` counts from 1 in its run; `body` is present only while it is being recorded."""

    type: str
    key: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    at: datetime | None = None
    seq: int = 0
    v: int = 1
