"""Reminders: a gate that is still open rings the bell of those who may answer it, once a period and never in a flood."""

from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Q, QuerySet

from hermes_workflow.rights import MAY, readers_of
from hermes_workflow.words import span
from runs import health
from runs.models import Gate, Notice
from runs.seams.notification import TEXT_LIMIT

LOOKED = "reminders"
LOOK_EVERY = timedelta(minutes=1)
PER_LOOK = 50  # gates
MOST = 30  # reminders of one gate
BELLS = 200  # people who are reminded of one gate

Due = tuple[datetime, int, Gate]


def remind(now: datetime, *, limit: int = PER_LOOK) -> int:
    """Remind of the gates whose next reminder came due since the last look. Returns of how many."""
    period = timedelta(hours=settings.HERMES_REMIND_HOURS)
    looked = health.seen(LOOKED)
    if period <= timedelta(0) or (looked is not None and looked <= now < looked + LOOK_EVERY):
        return 0
    due = _due(max(looked or now, now - period), now, period, limit)
    for _, number, gate in due[:limit]:
        _remind(gate, number, now)
    health.sign(LOOKED, due[limit - 1][0] if len(due) > limit else now)
    return min(len(due), limit)


def _due(since: datetime, now: datetime, period: timedelta, limit: int) -> list[Due]:
    """`(when, which, gate)` of the reminders that came due after `since`, oldest first, and one more than `limit` if there are more."""
    waiting = Gate.objects.filter(status=Gate.Status.OPEN).exclude(kind=Gate.Kind.AGENT).order_by("waiting_since", "id")
    oldest = waiting.values_list("waiting_since", flat=True).first()
    found: list[Due] = []
    for number in range(1, min(MOST, (now - oldest) // period if oldest else 0) + 1):
        after = number * period
        rows = waiting.filter(waiting_since__gt=since - after, waiting_since__lte=now - after)
        found += [
            (gate.waiting_since + after, number, gate)
            for gate in rows.select_related("run__design", "run__version", "profile")[: limit + 1]
        ]
    return sorted(found, key=lambda one: (one[0], one[2].pk))[: limit + 1]


def _remind(gate: Gate, number: int, now: datetime) -> None:
    design = gate.run.design
    title = f"{design.title or design.slug}: {gate.key} has waited {span((now - gate.waiting_since).total_seconds())} for an answer"
    shared = {"run": gate.run, "source": f"remind:{gate.pk}:{number}", "created_at": now}
    rows = [Notice(user=user, title=title[:300], text=gate.question[:TEXT_LIMIT], **shared) for user in asked(gate)[:BELLS]]
    Notice.objects.bulk_create(rows, ignore_conflicts=True)


def asked(gate: Gate) -> QuerySet[User]:
    """Who may still answer a gate: people it asks, who see its run, who are not barred and did not answer yet."""
    names = [audience.partition(":") for audience in gate.audiences.filter(open=True).values_list("audience", flat=True)]
    meant = Q(pk__in=[number for kind, _, number in names if kind == "user"])
    meant |= Q(groups__in=[number for kind, _, number in names if kind == "group"])
    if any(kind == "profile" for kind, _, _ in names):
        meant |= Q(is_superuser=True) | Q(groups__name__in=MAY["answer"])
    silent = [vote["by"] for vote in gate.votes if isinstance(vote.get("by"), int)]
    if gate.run.design.separate_duties or settings.HERMES_SEPARATE_DUTIES:
        silent += [user for user in (gate.run.started_by_id, gate.run.version.author_id) if user is not None]
    return readers_of(gate.profile).filter(meant).exclude(pk__in=silent).distinct().order_by("pk")
