"""The versions of a design: who saved what when, what one looks like, and going back to it."""

import difflib
from typing import Any

from django.contrib import admin, messages
from django.db.models import Count
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse

from hermes_workflow.admin.cards import Offer, sheet
from hermes_workflow.admin.details import Details
from hermes_workflow.admin.draft import has_fields
from hermes_workflow.admin.editor import Draft, edit, page
from hermes_workflow.admin.looks import pretty
from hermes_workflow.core.errors import HermesError
from hermes_workflow.models import Design, DesignVersion
from hermes_workflow.rights import Principal
from hermes_workflow.selectors import versions_of
from hermes_workflow.services import save_design

MOST_VERSIONS = 500
MOST_LINES = 2000
COMPARED_LINES = 5000  # comparing takes the square of the lines at worst


def history(request: HttpRequest, design: Design) -> TemplateResponse:
    """Every version, newest first."""
    rows = versions_of(design).defer("document").annotate(run_count=Count("runs"))[:MOST_VERSIONS]
    return _page(request, design, "versions", f"Versions of {design.slug}", versions=rows)


def show_version(request: HttpRequest, design: Design, number: int) -> TemplateResponse:
    """One version: its picture, its document, and what is different now."""
    version = _version(design, number)
    current = design.current
    graph = sheet(version.document, [], Offer()).graph if has_fields(version.document) else {}
    newer = difference(version, current) if current and current.pk != version.pk else []
    title = f"{design.slug}, version {number}"
    return _page(request, design, "version", title, version=version, text=pretty(version.document), graph=graph, difference=newer)


def _version(design: Design, number: int) -> DesignVersion:
    found = versions_of(design).filter(number=number).first()
    if found is None:
        raise Http404("there is no such version")
    return found


def difference(old: DesignVersion, new: DesignVersion) -> list[tuple[str, str]]:
    """The lines that differ, each with + or - or a space, from this version to the current one."""
    before, after = (pretty(version.document).splitlines()[:COMPARED_LINES] for version in (old, new))
    lines = difflib.unified_diff(before, after, lineterm="", n=2)
    kinds = {"+": "added", "-": "removed", "@": "place"}
    return [(kinds.get(line[:1], "same"), line) for line in list(lines)[2:MOST_LINES]]


def _page(request: HttpRequest, design: Design, template: str, title: str, **context: Any) -> TemplateResponse:
    shared = {**admin.site.each_context(request), "title": title, "design": design, "original": design, "opts": Design._meta}
    return TemplateResponse(request, f"admin/designs/{template}.html", {**shared, **context})


def restore(request: HttpRequest, principal: Principal, design: Design, number: int) -> HttpResponseBase:
    """The old document as a new version; if that is refused, as a draft in the editor."""
    version = _version(design, number)
    note = f"Version {number} again"
    if request.method != "POST":
        return edit(request, principal, design, beginning=version.document, note=note)
    base = design.current.number if design.current else None
    try:
        saved = save_design(
            principal=principal, name=design.slug, dialect=design.dialect, document=version.document, note=note, base_version=base
        )
    except HermesError as refusal:
        return _as_draft(request, principal, design, version, note, refusal)
    messages.success(request, f"Version {number} is back as version {saved.number}.")
    return redirect("admin:hermes_workflow_design_change", design.pk)


def _as_draft(
    request: HttpRequest, principal: Principal, design: Design, version: DesignVersion, note: str, refusal: HermesError
) -> HttpResponseBase:
    details = Details.of(design, principal=principal, note=note)
    draft = Draft(details, version.document, defects=refusal.extra.get("defects"), refusal=refusal, status=refusal.status)
    return page(request, principal, design, draft)
