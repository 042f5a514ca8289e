"""Reading runs and gates: what a principal may see of them. Nothing here changes anything."""

from django.db.models import QuerySet

from hermes_workflow.core.errors import NotFound
from hermes_workflow.rights import Principal
from runs.models import Attempt, Delivery, Event, Gate, Notice, Run, Session

RELATED = ("design", "version", "profile", "started_by")


def runs_for(principal: Principal) -> QuerySet[Run]:
    """The runs of the principal's profiles, newest first, whatever their origin."""
    if not principal.may("read"):
        return Run.objects.none()
    rows = Run.objects.filter(profile_id__in=principal.profile_ids)
    return rows.select_related(*RELATED).order_by("-created_at", "-id")


def run_for(principal: Principal, run_id: str) -> Run:
    """One run by its id. Raises NotFound, also for one that the principal may not see."""
    found = runs_for(principal).filter(pk=run_id).first()
    if found is None:
        raise NotFound("there is no such run")
    return found


def run_named(principal: Principal, prefix: str) -> Run:
    """One run by its id, its workflow id, or a unique beginning of its id (6 characters at least). Raises NotFound."""
    rows = runs_for(principal)
    exact = rows.filter(pk=prefix).first() or rows.filter(workflow_id=prefix).first()
    if exact:
        return exact
    found = list(rows.filter(pk__startswith=prefix)[:2]) if len(prefix) >= 6 else []
    if len(found) != 1:
        raise NotFound("no run has this id" if not found else "more than one run begins like this")
    return found[0]


def open_gates(run_id: str) -> list[Gate]:
    """The open gates of a run, oldest first, persons before agents."""
    gates = Gate.objects.filter(run_id=run_id, status=Gate.Status.OPEN).order_by("waiting_since", "id")
    return sorted(gates, key=lambda gate: gate.kind == Gate.Kind.AGENT)


def events_of(run_id: str) -> QuerySet[Event]:
    """The history, oldest first."""
    return Event.objects.filter(run_id=run_id).order_by("seq")


def sessions_of(run_id: str) -> QuerySet[Session]:
    """The transcripts of a run's agent attempts, oldest first."""
    rows = Session.objects.filter(attempt__run_id=run_id).select_related("attempt").prefetch_related("messages")
    return rows.order_by("started_at", "id")


def sessions_for(principal: Principal) -> QuerySet[Session]:
    """The transcripts of every run that the principal may see, newest first."""
    if not principal.may("read"):
        return Session.objects.none()
    rows = Session.objects.filter(attempt__run__profile_id__in=principal.profile_ids)
    return rows.select_related("attempt__run__design").order_by("-id")


def notices_for(principal: Principal) -> QuerySet[Notice]:
    """The bell of a person, newest first."""
    return Notice.objects.filter(user=principal.user).select_related("run__design").order_by("-created_at", "-id")


def unread_count(principal: Principal, *, cap: int = 100) -> int:
    """How many notices are unread, counted up to `cap`."""
    return Notice.objects.filter(user=principal.user, read_at=None)[:cap].count()


def attempts_of(run_id: str) -> QuerySet[Attempt]:
    """Every attempt of a run, in order."""
    return Attempt.objects.filter(run_id=run_id).order_by("id")


def deliveries_of(run_id: str) -> QuerySet[Delivery]:
    """The receipts of a run, oldest first."""
    return Delivery.objects.filter(run_id=run_id).order_by("id")
