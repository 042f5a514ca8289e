"""How late scheduled runs start, and what a look for due schedules costs."""

import statistics
import time
from datetime import timedelta
from typing import Any

from django.utils import timezone

from hermes_workflow.models import Design, Schedule
from hermes_workflow.rights import Principal
from runs import pulse, slots
from runs.management.commands.pulse import to_the_next
from runs.models import Run

MANY = 10_000
BURSTS = 5
APART = timedelta(seconds=6)


def lateness(principal: Principal, design: Design, *, many: int = MANY, bursts: int = BURSTS, apart: timedelta = APART) -> dict[str, Any]:
    """`many` hourly schedules, a sixtieth of them due at each full minute; here the minutes follow each other after a few seconds."""
    few, all_of_them = _look_ms(principal, design, many // 100), _look_ms(principal, design, many)
    each = many // 60
    first = timezone.now().replace(microsecond=0) + timedelta(seconds=3)
    ids = list(Schedule.objects.order_by("id").values_list("id", flat=True)[: each * bursts])
    for burst in range(bursts):
        Schedule.objects.filter(id__in=ids[burst * each : (burst + 1) * each]).update(next_at=first + burst * apart)
    ends = first + bursts * apart
    while timezone.now() < ends:
        time.sleep(to_the_next())
        pulse.beat()
    began = Run.objects.filter(schedule_id__in=ids, slot__isnull=False).values_list("created_at", "slot")
    late = sorted((at - slot).total_seconds() for at, slot in began if slot)
    return {
        "late_p50_s": round(statistics.median(late), 3),
        "late_p95_s": round(late[min(len(late) - 1, len(late) * 95 // 100)], 3),
        "late_max_s": round(late[-1], 3),
        "runs": len(late),
        "expected": each * bursts,
        "due_at_once": each,
        "schedules": many,
        "look_ms": {str(many // 100): few, str(many): all_of_them},
    }


def _look_ms(principal: Principal, design: Design, many: int) -> float:
    """A look that finds nothing due, among so many."""
    missing = many - Schedule.objects.count()
    next_at = timezone.now() + timedelta(hours=1)
    given = {"design": design, "owner": principal.user, "timezone": "Europe/Berlin", "next_at": next_at}
    Schedule.objects.bulk_create([Schedule(cron=f"{number % 60} * * * *", **given) for number in range(missing)], batch_size=500)
    took = []
    for _ in range(50):
        began = time.perf_counter()
        slots.start_due(timezone.now(), limit=pulse.BATCH)
        took.append((time.perf_counter() - began) * 1000)
    return round(statistics.median(took), 3)
