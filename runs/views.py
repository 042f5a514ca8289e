"""The pages of runs: the list, one run, and what people may do with it."""

from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from approvals.display import card_of, decisions_in
from approvals.requests import answer_from, problem_part
from approvals.selectors import why_not
from hermes_workflow.core.errors import HermesError, NotFound
from hermes_workflow.pages import PageRequest, asks_for, page
from hermes_workflow.rights import Principal
from hermes_workflow.selectors import designs_for
from hermes_workflow.words import sentence, shown
from runs import resending, selectors, services, warm
from runs.listing import ORIGINS, Filters, runs_page
from runs.models import Run
from runs.results import results_of
from runs.session_pages import SessionsPage, Wanted, profiles_in, session_page, sessions_page
from runs.story import Story, story_of
from runs.telling import told
from runs.watching import newest_runs, state_of

MOST_EVENTS = 500
MOST_DESIGNS = 200


@page
@require_GET
def runs(request: PageRequest) -> HttpResponseBase:
    """The list, newest first; a refetch holds the order and says how many runs are new."""
    services.honour_deadlines()
    given = request.GET
    filters = Filters(given.get("status", ""), given.get("name", ""), given.get("origin", ""))
    state = state_of(newest_runs(request.principal))
    found = runs_page(
        principal=request.principal, filters=filters, before=given.get("before", ""), after=given.get("after", ""), top=given.get("top", "")
    )
    for row in found.rows:
        _link(request.principal, row)
    context = {
        "runs": found.rows,
        "state": state,
        "fresh": found.fresh,
        "top": found.top,
        "filters": filters,
        "statuses": Run.Status.choices,
        "origins": ORIGINS,
        "names": list(designs_for(request.principal).values_list("slug", flat=True)[:MOST_DESIGNS]),
        "base": _query(filters),
        "newer": _query(filters, after=found.newer) if found.newer else "",
        "older": _query(filters, before=found.older) if found.older else "",
        "refresh": _query(filters, before=given.get("before", ""), after=given.get("after", ""), top=given.get("top", "") or found.top),
    }
    return render(request, "runs/list_part.html" if asks_for(request, "runs-list") else "runs/list.html", context)


def _query(filters: Filters, **more: str) -> str:
    given = {"status": filters.status, "name": filters.name, "origin": filters.origin, **more}
    return f"{reverse('runs')}?{urlencode({name: value for name, value in given.items() if value})}"


def _link(principal: Principal, row: dict[str, Any]) -> None:
    row["url"] = reverse("run", args=[row["run_id"]])
    gate = row["gate"]
    row["gate_url"] = reverse("gate", args=[gate.pk]) if gate and not why_not(principal, gate) else ""
    row["retry_url"] = reverse("run-retry", args=[row["run_id"]]) if row["may_retry"] else ""


@page
@require_GET
def run(request: PageRequest, run_id: str) -> HttpResponseBase:
    """One run; a unique beginning of its id will do."""
    found = selectors.run_named(request.principal, run_id)
    if found.pk != run_id:
        return redirect("run", found.pk)
    return _shown(request, run_id)


def _shown(request: PageRequest, run_id: str, *, refusal: HermesError | None = None, problem: dict[str, Any] | None = None) -> HttpResponse:
    story = story_of(principal=request.principal, run_id=run_id)
    context = {
        **_context(request, story),
        "refusal": f"{sentence(refusal.msg)} {sentence(refusal.hint)}" if refusal else "",
        **(problem or {}),
    }
    template = "runs/run_part.html" if asks_for(request, "run-page") else "runs/run.html"
    return render(request, template, context, status=refusal.status if refusal else 200)


def _context(request: PageRequest, story: Story) -> dict[str, Any]:
    principal, found = request.principal, story.run
    ended = found.status in (Run.Status.DONE, Run.Status.FAILED, Run.Status.CANCELLED)
    newest = found.design.current.number if found.design.current else found.version.number
    return {
        "story": story,
        "run": found,
        "document": story.document,
        "graph": story.graph,
        "outputs": results_of(warm.plan_of(found.plan_id), story.document["outputs"]),
        "events": [{"row": row, "says": shown(told(row, found)), "data": shown(row.data)} for row in story.events[-MOST_EVENTS:][::-1]],
        "sessions": story.sessions,
        "decisions": decisions_in(found.pk),
        "card": card_of(principal, story.gates, reverse_name="run-answer"),
        "may_cancel": not ended and services.may_cancel(principal, found),
        "may_retry": found.status == Run.Status.FAILED and principal.may("operate"),
        "deliveries": resending.deliveries(principal, found.pk),
        "newest": newest,
        "idempotency_key": uuid4().hex,
    }


@page
@require_POST
def retry(request: PageRequest, run_id: str) -> HttpResponseBase:
    """Go on at the failed step, with the pinned or the current version."""
    try:
        services.retry_run(principal=request.principal, run_id=run_id, version=request.POST.get("version", "pinned"))
    except NotFound:
        raise
    except HermesError as refusal:
        return _shown(request, run_id, refusal=refusal)
    messages.success(request, "The run goes on; finished steps are kept.")
    return redirect("run", run_id)


@page
@require_POST
def cancel(request: PageRequest, run_id: str) -> HttpResponseBase:
    """Stop the run on purpose."""
    try:
        services.cancel_run(principal=request.principal, run_id=run_id, reason=request.POST.get("reason", "").strip())
    except NotFound:
        raise
    except HermesError as refusal:
        return _shown(request, run_id, refusal=refusal)
    messages.success(request, "The run is cancelled.")
    return redirect("run", run_id)


@page
@require_POST
def resend(request: PageRequest, run_id: str) -> HttpResponseBase:
    """Send a delivery again; a second click of the same button sends nothing more."""
    given = request.POST
    key = given.get("idempotency_key", "")[:200]
    try:
        resending.resend(principal=request.principal, run_id=run_id, node_id=given.get("node_id", ""), key=key)
    except NotFound:
        raise
    except HermesError as refusal:
        return _shown(request, run_id, refusal=refusal)
    messages.success(request, "It is being sent again; its receipt will appear here.")
    return redirect("run", run_id)


@page
def answer(request: PageRequest, run_id: str, gate_id: str) -> HttpResponseBase:
    """Answer a gate in place on its run's page."""
    if request.method != "POST":
        return redirect("run", run_id)
    selectors.run_for(request.principal, run_id)
    said = answer_from(request, int(gate_id), run_id=run_id)
    if said.refusal is not None:
        if request.htmx:
            return problem_part(request, said)
        return _shown(request, run_id, refusal=said.refusal, problem=said.context())
    messages.success(request, said.toast) if not request.htmx else None
    response = _shown(request, run_id) if request.htmx else redirect("run", run_id)
    return said.announce(response) if request.htmx else response


@page
@require_GET
def sessions(request: PageRequest) -> HttpResponseBase:
    """Every transcript that the person may see, newest first."""
    given = request.GET
    wanted = Wanted(given.get("run", "").strip(), given.get("profile", ""), given.get("before", ""), given.get("after", ""))
    try:
        found = sessions_page(principal=request.principal, wanted=wanted)
    except NotFound:
        found = SessionsPage([], "", "")
    chosen = {name: value for name, value in (("run", wanted.run), ("profile", wanted.profile)) if value}
    context = {
        "sessions": found.rows,
        "wanted": wanted,
        "profiles": profiles_in(request.principal),
        "newer": f"?{urlencode({**chosen, 'after': found.newer})}" if found.newer else "",
        "older": f"?{urlencode({**chosen, 'before': found.older})}" if found.older else "",
    }
    return render(request, "runs/sessions.html", context)


@page
@require_GET
def session(request: PageRequest, session_id: str) -> HttpResponseBase:
    """One transcript; while its attempt is at work it grows."""
    context = session_page(principal=request.principal, session_id=int(session_id))
    return render(request, "runs/session_part.html" if asks_for(request, "session-page") else "runs/session.html", context)
