"""The pages of designs: the list, one design with what it does, and starting it on a text or a file."""

from dataclasses import asdict
from typing import Any
from uuid import uuid4

from django.contrib import messages
from django.db.models import Max
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import NoReverseMatch, reverse
from django.views.decorators.http import require_GET

from hermes_workflow import hooks, programs, selectors, timetable, uploads
from hermes_workflow.core.errors import HermesError, Malformed, TooLarge
from hermes_workflow.graph_layout import drawn
from hermes_workflow.icons import KIND_ICONS
from hermes_workflow.models import Design
from hermes_workflow.pages import PageRequest, page
from hermes_workflow.rights import Principal
from hermes_workflow.services import check_document
from hermes_workflow.words import sentence
from runs.models import Run
from runs.selectors import runs_for
from runs.services import start_run

MOST_DESIGNS = 500
MOST_VERSIONS = 20
MOST_RUNS = 10
MOST_SCHEDULES = 10
TEXT_LIMIT = 1024 * 1024
KEY_LIMIT = 255


@page
@require_GET
def designs(request: PageRequest) -> HttpResponseBase:
    """Every design of the person's profiles, with its last run."""
    found = list(selectors.designs_for(request.principal).select_related("current__author")[:MOST_DESIGNS])
    last = _last_runs(request.principal, found)
    rows = [{"design": design, "last": last.get(design.pk), "nodes": _counts(design)} for design in found]
    context = {"rows": rows, "may_start": request.principal.may("start"), "add_url": _admin("hermes_workflow_design_add", request)}
    return render(request, "designs/list.html", context)


def _last_runs(principal: Principal, found: list[Design]) -> dict[int, Run]:
    newest = runs_for(principal).filter(design__in=found).order_by().values("design_id").annotate(newest=Max("created_at"))
    times = {row["design_id"]: row["newest"] for row in newest}
    rows = Run.objects.filter(design__in=times, created_at__in=set(times.values()))
    return {run.design_id: run for run in rows if run.created_at == times[run.design_id]}


def _counts(design: Design) -> str:
    nodes = (design.current.document.get("nodes") or []) if design.current else []
    gates = sum(node.get("type") == "approval" for node in nodes)
    return f"{len(nodes)} node{'' if len(nodes) == 1 else 's'}, {gates} approval{'' if gates == 1 else 's'}"


def _admin(name: str, request: PageRequest, *args: Any) -> str:
    """The editor's address, for who may use it."""
    if not request.principal.may("design"):
        return ""
    try:
        return reverse(f"admin:{name}", args=args)
    except NoReverseMatch:
        return ""


@page
@require_GET
def design(request: PageRequest, name: str) -> HttpResponseBase:
    """One design: its picture, its steps, its defects, its versions, and the form that starts it."""
    return _shown(request, name)


def _shown(request: PageRequest, name: str, *, refusal: HermesError | None = None, text: str = "") -> HttpResponse:
    found = selectors.design_for(request.principal, name)
    document = found.current.document if found.current else {"nodes": []}
    defects = check_document(request.principal, found.dialect, document, found.profile)
    plan = (
        programs.compile_document(found.dialect, document) if found.current and not programs.defects_of(found.dialect, document) else None
    )
    context = {
        "design": found,
        "nodes": document.get("nodes") or [],
        "graph": _picture(plan) if plan else None,
        "defects": [defect if isinstance(defect, dict) else asdict(defect) for defect in defects],
        "versions": selectors.versions_of(found)[:MOST_VERSIONS],
        "runs": runs_for(request.principal).filter(design=found)[:MOST_RUNS],
        "hooks": [{"hook": hook, "problem": hooks.problem_of(hook)} for hook in hooks.of_design(found)],
        "schedules": [(one, timetable.in_words(one), timetable.coming(one, 1)) for one in found.schedules.all()[:MOST_SCHEDULES]],
        "may_design": request.principal.may("design"),
        "may_start": request.principal.may("start") and found.current is not None,
        "edit_url": _admin("hermes_workflow_design_change", request, found.pk),
        "idempotency_key": uuid4().hex,
        "text": text,
        "refusal": f"{sentence(refusal.msg)} {sentence(refusal.hint)}" if refusal else "",
        "text_error": sentence(refusal.msg.removeprefix("text: ")) if refusal and refusal.msg.startswith("text: ") else "",
    }
    return render(request, "designs/design.html", context, status=refusal.status if refusal else 200)


def _picture(plan: Any) -> dict[str, Any]:
    names = [*([plan.trigger] if plan.trigger else []), *(step.id for step in plan.steps)]
    kinds = {step.id: step.kind for step in plan.steps} | {plan.trigger: "trigger"}
    nodes = [{"id": name, "state": "pending", "sub": kinds[name], "icon": KIND_ICONS.get(kinds[name], "diamond")} for name in names]
    return drawn(nodes, [{"source": edge.source, "target": edge.target, "state": "pending"} for edge in plan.edges])


@page
def start(request: PageRequest, name: str) -> HttpResponseBase:
    """Start a run on the pasted text or the uploaded file."""
    if request.method != "POST":
        return redirect("design", name)
    found = selectors.design_for(request.principal, name)
    try:
        (given, upload), key = _input(request), request.POST.get("idempotency_key", "")
        if len(key) > KEY_LIMIT:
            raise Malformed(f"idempotency_key: at most {KEY_LIMIT} characters")
        run, new = start_run(principal=request.principal, design=found, input=given, origin="web", key=key or None)
        if upload:
            uploads.keep(principal=request.principal, upload=upload)
    except HermesError as refusal:
        return _shown(request, name, refusal=refusal, text=request.POST.get("text", "")[:TEXT_LIMIT])
    messages.success(request, f"{found.slug} started." if new else f"{found.slug} was started by this form already.")
    return redirect("run", run.pk)


def _input(request: PageRequest) -> tuple[dict[str, Any], uploads.Upload | None]:
    """What the run works on, and the file to keep once it runs."""
    text = request.POST.get("text", "").replace("\r\n", "\n")
    file = request.FILES.get("file")
    if file and text.strip():
        raise Malformed("text and file: give one of them")
    if file:
        if (file.size or 0) > uploads.LIMIT:
            raise TooLarge(f"file: at most {uploads.LIMIT:,} bytes")
        upload = uploads.read_upload(file.name or "file.txt", file.read())
        return dict(upload.input), upload
    if len(text.encode("utf-8", "replace")) > TEXT_LIMIT:
        raise TooLarge(f"text: at most {TEXT_LIMIT:,} bytes")
    if not text.strip():
        raise Malformed("text: paste a text, or choose a file below")
    return {"text": text}, None
