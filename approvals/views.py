"""The inbox and the page of a gate: what waits, what an answer does, and answering it."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_safe

from approvals import selectors
from approvals.display import answered_as, deciding, detail_of, rows_of
from approvals.people import sees
from approvals.requests import Said, answer_from, problem_part
from approvals.shell import shell_of
from hermes_workflow.core.errors import Malformed
from hermes_workflow.http.queries import read_moment
from hermes_workflow.pages import PageRequest, asks_for, page
from hermes_workflow.rights import Principal
from runs import services
from runs.models import Gate

SIZE = 50
LOOK_AHEAD = 20
MOST_SHOWN = 200
SHOWS = ("mine", "everyone", "answered")


@page
@require_safe
def inbox(request: PageRequest) -> HttpResponseBase:
    """What waits, oldest first, with the first gate beside it."""
    services.honour_deadlines()
    show = request.GET.get("show", "mine")
    if show not in SHOWS:
        raise Malformed(f"show: must be one of {', '.join(SHOWS)}")
    listed = _listed(request, show)
    if asks_for(request, "gate-rows"):
        return render(request, "approvals/rows_part.html", listed)
    first = listed["gates"][0]["gate_id"] if listed["gates"] else None
    detail = detail_of(request.principal, selectors.gate_for(request.principal, first)) if first else {}
    if asks_for(request, "gate-detail"):
        return render(request, "components/gate_detail.html" if detail else "approvals/no_gate.html", {**listed, **detail})
    return render(request, "approvals/inbox.html", {**listed, **detail, "current": first})


@page
@require_safe
def gate(request: PageRequest, gate_id: str) -> HttpResponseBase:
    """One gate, beside the list it is in. Reading it honours its deadline."""
    return _gate_page(request, _on_time(request.principal, int(gate_id)))


def _on_time(principal: Principal, gate_id: int) -> Gate:
    found = selectors.gate_for(principal, gate_id)
    services.read_run(principal=principal, run_id=found.run_id)
    return selectors.gate_for(principal, gate_id)


def _gate_page(request: PageRequest, found: Gate, *, said: Said | None = None) -> HttpResponse:
    detail = detail_of(request.principal, found)
    if asks_for(request, "gate-detail"):
        return render(request, "components/gate_detail.html", detail)
    show = "mine" if detail["can_answer"] else "everyone"
    listed = _listed(request, show)
    ids = [row["gate_id"] for row in listed["gates"]]
    place = ids.index(found.pk) if found.pk in ids else None
    around = {
        "own": True,
        "heading": "h1",
        "current": found.pk,
        "place": f"{place + 1} of {listed['count_mine' if show == 'mine' else 'count_all']}" if place is not None else "",
        "next_url": listed["gates"][place + 1]["url"] if place is not None and place + 1 < len(ids) else "",
    }
    problem = said.context() if said else {}
    status = said.refusal.status if said and said.refusal else 200
    return render(request, "approvals/inbox.html", {**listed, **detail, **around, **problem}, status=status)


@page
def answer(request: PageRequest, gate_id: str) -> HttpResponseBase:
    """Record an answer. Only a POST with its token does; following the address shows the gate."""
    if request.method != "POST":
        return redirect("gate", gate_id)
    said = answer_from(request, int(gate_id))
    following = _next(request.principal, said.gate)
    next_url = reverse("gate", args=[following.pk]) if following else reverse("inbox")
    if said.refusal is not None:
        if asks_for(request, "gate-detail"):
            return problem_part(request, said, next_url=next_url if following else "")
        return _gate_page(request, _on_time(request.principal, said.gate.pk), said=said)
    if not request.htmx:
        messages.success(request, said.toast)
        return redirect(next_url)
    detail = detail_of(request.principal, following) if following else _listed(request, "mine")
    response = render(request, "components/gate_detail.html" if following else "approvals/no_gate.html", detail)
    response["HX-Push-Url"] = next_url
    return said.announce(response)


def _next(principal: Principal, done: Gate) -> Gate | None:
    """The gate that waits next for this person: below the one that was answered, else from the top."""
    for after in ((done.waiting_since, done.pk), None):
        for found in selectors.inbox(principal, after=after, limit=LOOK_AHEAD).items:
            if found.pk != done.pk and not selectors.why_not(principal, found):
                return found
    return None


def _listed(request: PageRequest, show: str) -> dict[str, Any]:
    """The rows of a tab, its counts by the same filter, and the way to more."""
    principal = request.principal
    frame = shell_of(request)
    mine, more_mine = frame.inbox_count, frame.inbox_more
    everyone, more_everyone = selectors.count(principal, mine=False)
    gates, older = _answered(request) if show == "answered" else _waiting(request, mine=show == "mine")
    return {
        "show": show,
        "gates": gates,
        "older": f"?show={show}&after={older}" if older else "",
        "refresh": f"{reverse('inbox')}?show={show}",
        "count_mine": f"{mine}+" if more_mine else mine,
        "count_all": f"{everyone}+" if more_everyone else everyone,
        "others": _others(everyone - mine),
    }


def _others(number: int) -> str:
    """What else is open; empty when nothing is."""
    if number <= 0:
        return ""
    gates = "1 other gate is" if number == 1 else f"{number} other gates are"
    return f"{gates} open for everyone. New ones appear here by themselves."


def _waiting(request: PageRequest, *, mine: bool) -> tuple[list[dict[str, Any]], str]:
    found = selectors.inbox(request.principal, mine=mine, after=_place(request), limit=SIZE)
    faded = _faded(request, {gate.pk for gate in found.items})
    ends = deciding(faded)
    gates = sorted([*found.items, *faded], key=lambda gate: (gate.waiting_since, gate.pk))
    older = f"{found.next[0].isoformat()}_{found.next[1]}".replace("+00:00", "Z") if found.next else ""
    return rows_of(gates, ends), older


def _answered(request: PageRequest) -> tuple[list[dict[str, Any]], str]:
    found = selectors.answered_by(request.principal, after=_place(request), limit=SIZE)
    seen = [row.gate for row in found]
    rows = [entry | {"answered": answered_as("you", row)} for entry, row in zip(rows_of(seen, {}), found, strict=True)]
    older = f"{found[-1].at.isoformat()}_{found[-1].pk}".replace("+00:00", "Z") if len(found) == SIZE else ""
    return [row for row, gate in zip(rows, seen, strict=True) if sees(request.principal, gate)], older


def _faded(request: PageRequest, listed: set[int]) -> list[Gate]:
    """Gates that the page shows and that are over: they stay, greyed, until the person moves on."""
    shown = {
        int(part) for part in request.GET.get("shown", "").split(",")[:MOST_SHOWN] if part.isascii() and part.isdigit() and len(part) < 19
    }
    if not shown - listed:
        return []
    over = Gate.objects.filter(pk__in=shown - listed).exclude(status=Gate.Status.OPEN)
    return [gate for gate in over.select_related(*selectors.RELATED) if sees(request.principal, gate)]


def _place(request: PageRequest) -> tuple[Any, int] | None:
    """The row that the page before ended with."""
    given = request.GET.get("after", "")
    if not given:
        return None
    at, _, row_id = given.rpartition("_")
    try:
        moment = read_moment(at)
    except ValueError:
        moment = None
    if moment is None or not (row_id.isascii() and row_id.isdigit() and len(row_id) < 19):
        raise Malformed("after: must be the place that a page gave")
    return moment, int(row_id)


@page
@require_GET
def counts(request: PageRequest) -> HttpResponseBase:
    """The badges alone."""
    return render(request, "components/counts.html")
