"""The list of runs as a page shows it: filters, pages by key, and one line per run on where it is now."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet
from django.utils import timezone

from hermes_workflow.core import events as e
from hermes_workflow.core.errors import Malformed
from hermes_workflow.rights import Principal
from runs import selectors, waiting
from runs.models import Attempt, Delivery, Event, Gate, Run
from runs.subjects import subjects_of

SIZE = 50
MOST_NEW = 100
ORIGINS = ("web", "api", "chat", "cli", "schedule", "hook", "import")


@dataclass(frozen=True, slots=True)
class Filters:
    """What the person looks for; empty means any."""

    status: str = ""
    name: str = ""
    origin: str = ""

    def __post_init__(self) -> None:
        if self.status and self.status not in Run.Status.values:
            raise Malformed(f"status: must be one of {', '.join(Run.Status.values)}")
        if self.origin and self.origin not in ORIGINS:
            raise Malformed(f"origin: must be one of {', '.join(ORIGINS)}")


@dataclass(frozen=True, slots=True)
class RunsPage:
    """One page. `fresh` counts the runs that began after the page was first shown."""

    rows: list[dict[str, Any]]
    newer: str
    older: str
    top: str
    fresh: int


def runs_page(*, principal: Principal, filters: Filters, before: str = "", after: str = "", top: str = "") -> RunsPage:
    """Newest first. `before` and `after` are run ids that a page ends at; `top` holds the first row while newer runs begin."""
    rows = _filtered(principal, filters)
    fresh = 0
    if after and (edge := _edge(principal, after)):
        found = list(rows.filter(_newer_than(edge)).order_by("created_at", "id")[: SIZE + 1])[::-1]
        found, newer = (found[1:], True) if len(found) > SIZE else (found, False)
        older = True
    else:
        edge = _edge(principal, before) if before else None
        if edge:
            rows = rows.filter(Q(created_at__lt=edge.created_at) | Q(created_at=edge.created_at, id__lt=edge.pk))
        elif top and (first := _edge(principal, top)):
            fresh = rows.filter(_newer_than(first))[:MOST_NEW].count()
            rows = rows.filter(Q(created_at__lt=first.created_at) | Q(created_at=first.created_at, id__lte=first.pk))
        found = list(rows[: SIZE + 1])
        found, older = found[:SIZE], len(found) > SIZE
        newer = edge is not None
    return RunsPage(
        rows=_rows(principal, found),
        newer=found[0].pk if found and newer else "",
        older=found[-1].pk if found and older else "",
        top=found[0].pk if found else "",
        fresh=fresh,
    )


def _filtered(principal: Principal, filters: Filters) -> QuerySet[Run]:
    rows = selectors.runs_for(principal)
    if filters.status:
        rows = rows.filter(status=filters.status)
    if filters.name:
        rows = rows.filter(design__slug=filters.name)
    return rows.filter(origin=filters.origin) if filters.origin else rows


def _edge(principal: Principal, run_id: str) -> Run | None:
    return selectors.runs_for(principal).filter(pk=run_id).first()


def _newer_than(run: Run) -> Q:
    return Q(created_at__gt=run.created_at) | Q(created_at=run.created_at, id__gt=run.pk)


def _rows(principal: Principal, runs: list[Run]) -> list[dict[str, Any]]:
    ids = [run.pk for run in runs]
    waiting_gates = Gate.objects.filter(run_id__in=ids, status=Gate.Status.OPEN).order_by("waiting_since", "id")
    gates = _first(waiting_gates.select_related("profile", "run__design", "run__version").prefetch_related("audiences"))
    attempts = _first(Attempt.objects.filter(run_id__in=ids, status__in=("ready", "leased")).order_by("id"))
    ends = _first(
        Event.objects.filter(run_id__in=[r.pk for r in runs if r.status == Run.Status.CANCELLED], type=e.RUN_CANCELLED).defer("body")
    )
    sent: dict[str, list[Delivery]] = defaultdict(list)
    for delivery in Delivery.objects.filter(run_id__in=ids).order_by("id"):
        sent[delivery.run_id].append(delivery)
    retries, subjects = principal.may("operate"), subjects_of(ids)
    return [
        {"subject": subjects.get(run.pk, ""), **_row(run, gates.get(run.pk), attempts.get(run.pk), ends.get(run.pk), sent[run.pk], retries)}
        for run in runs
    ]


def _first(rows: Iterable[Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for row in rows:
        found.setdefault(row.run_id, row)
    return found


def _row(run: Run, gate: Gate | None, attempt: Attempt | None, end: Event | None, sent: list[Delivery], retries: bool) -> dict[str, Any]:
    return {
        "run_id": run.pk,
        "workflow_id": run.workflow_id,
        "name": run.design.slug,
        "status": run.status,
        "says": _says(run, gate, attempt, end, sent),
        "error": run.error,
        "origin": run.origin,
        "by": run.started_by.get_username() if run.started_by else "",
        "created_at": run.created_at,
        "seconds": ((run.ended_at or timezone.now()) - run.created_at).total_seconds(),
        "gate": gate,
        "deadline": gate.due_at if gate else None,
        "waiting_since": gate.waiting_since if gate else None,
        "on_timeout": gate.on_timeout if gate else "",
        "failed_deliveries": sum(not ok for ok in {(one.key, one.target): one.ok for one in sent}.values()),  # the latest counts
        "may_retry": retries and run.status == Run.Status.FAILED,
    }


def _says(run: Run, gate: Gate | None, attempt: Attempt | None, end: Event | None, sent: list[Delivery]) -> str:
    if run.status == Run.Status.FAILED:
        error = run.error or {}
        return f"at {error['node_id']}: {error['msg']}" if error.get("node_id") else error.get("msg", "")
    if gate:
        asked = waiting.asked(gate)
        return f"{asked[0].upper()}{asked[1:]}, at {gate.key}" + (f", {len(gate.votes)} of {gate.quorum}" if gate.quorum > 1 else "")
    if attempt:
        late = attempt.ready_at > timezone.now()
        return f"{attempt.key}, attempt {attempt.number}" + (f", due at {waiting.clock(attempt.ready_at)}" if late else "")
    if end:
        return f"By {end.data.get('by', '')}" + (f": “{end.data['reason']}”" if end.data.get("reason") else "")
    targets = [waiting.spoken(delivery.target) for delivery in sent if delivery.ok]
    return f"Delivered to {', '.join(dict.fromkeys(targets))}" if targets else ""
