"""The search field: designs, runs and open gates by the beginning of an id or a part of a name."""

from django.db.models import Q, QuerySet
from django.http import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET

from approvals.display import rows_of
from approvals.selectors import RELATED
from hermes_workflow.pages import PageRequest, page
from hermes_workflow.selectors import designs_for
from runs.models import Gate
from runs.selectors import runs_for

MOST = 20
LONGEST = 200
WHOLE_ID = 32


@page
@require_GET
def search(request: PageRequest) -> HttpResponseBase:
    """What matches, at most 20 of a kind; a whole run id goes straight to its run."""
    query = request.GET.get("q", "").strip()[:LONGEST]
    principal = request.principal
    runs = runs_for(principal)
    if len(query) == WHOLE_ID and runs.filter(pk=query).exists():
        return redirect("run", query)
    reach = principal.profile_ids if principal.may("read") else ()
    gates = Gate.objects.filter(status=Gate.Status.OPEN, profile_id__in=reach)
    context = {
        "q": query,
        "designs": designs_for(principal).filter(Q(slug__icontains=query) | Q(title__icontains=query))[:MOST] if query else [],
        "runs": runs.filter(_names_run(query))[:MOST] if query else [],
        "gates": rows_of(list(_gates(gates, query)), {}) if query else [],
    }
    return render(request, "designs/search.html", context)


def _names_run(query: str) -> Q:
    return Q(pk__startswith=query) | Q(workflow_id__icontains=query) | Q(design__slug__icontains=query)


def _gates(gates: QuerySet[Gate], query: str) -> QuerySet[Gate]:
    named = Q(question__icontains=query) | Q(key__icontains=query) | Q(run__design__slug__icontains=query) | Q(run__id__startswith=query)
    return gates.filter(named).select_related(*RELATED).order_by("waiting_since", "id")[:MOST]
