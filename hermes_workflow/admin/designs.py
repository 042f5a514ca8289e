"""Designs in the admin: the list, and the ways to the editor, the versions, the start and the end of one design."""

import re
from typing import Any

from django.contrib import admin, messages
from django.db.models import Count, QuerySet
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, re_path, reverse
from django.utils.html import format_html
from unfold.decorators import display

from hermes_workflow import selectors, services
from hermes_workflow.admin.access import AdminsOnly, principal
from hermes_workflow.admin.editor import edit
from hermes_workflow.admin.moves import STARTER
from hermes_workflow.admin.starting import start
from hermes_workflow.admin.versions import history, restore, show_version
from hermes_workflow.models import Design

PK = re.compile(r"[0-9]{1,18}\Z")


def chosen(request: HttpRequest, object_id: str) -> Design:
    """The design of an address. Raises Http404, also for one of a foreign profile."""
    found = selectors.designs_for(principal(request)).filter(pk=object_id).first() if PK.match(object_id) else None
    if found is None or not principal(request).may("design"):
        raise Http404("there is no such design")
    return found


@admin.register(Design)
class DesignAdmin(AdminsOnly):
    """Designs of one's profiles; nodes are never rows, so the form is a page of its own over the document."""

    list_display = ("name", "title", "dialect", "profile", "version", "runs", "ways")
    list_filter = (("profile", admin.RelatedOnlyFieldListFilter),)
    search_fields = ("slug", "title", "description")
    list_per_page = 50
    actions = None

    def get_queryset(self, request: HttpRequest) -> QuerySet[Design]:
        """Designs of the person's profiles."""
        return selectors.designs_for(principal(request)).defer("current__document").annotate(run_count=Count("runs"))

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Admins and designers; of foreign profiles nothing."""
        return principal(request).may("design") and (obj is None or obj.profile_id in principal(request).profile_ids)

    has_change_permission = has_view_permission
    has_delete_permission = has_view_permission

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Admins and designers."""
        return principal(request).may("design")

    @display(description="Name", ordering="slug")
    def name(self, design: Design) -> str:
        """The slug."""
        return design.slug

    @display(description="Version")
    def version(self, design: Design) -> str:
        """The number of the current version."""
        return f"v{design.current.number}" if design.current else ""

    @display(description="Runs", ordering="run_count")
    def runs(self, design: Any) -> str:
        """How often it was started, as a link to those runs."""
        return format_html('<a class="hermes-link" href="{}?name={}">{}</a>', reverse("runs"), design.slug, design.run_count)

    @display(description="Go to")
    def ways(self, design: Design) -> str:
        """Where to go from here."""
        names = (("start", "Start a run"), ("history_list", "Versions"))
        links = [
            format_html('<a class="hermes-link" href="{}">{}</a>', reverse(_url(name), args=[design.pk]), word) for name, word in names
        ]
        return format_html("{} · {}", *links)

    def get_urls(self) -> list[URLPattern]:
        """Besides the usual ones: versions, and starting."""

        def at(path: str, view: Any, name: str) -> URLPattern:
            return re_path(rf"^(?P<object_id>[0-9]+)/{path}$", self.admin_site.admin_view(view), name=f"hermes_workflow_design_{name}")

        version = r"versions/(?P<number>[0-9]{1,9})/"
        return [
            at("start/", self.start_view, "start"),
            at("versions/", self.versions_view, "history_list"),
            at(version, self.version_view, "version"),
            at(version + "restore/", self.restore_view, "restore"),
            *super().get_urls(),
        ]

    def changeform_view(self, request: HttpRequest, object_id: Any = None, form_url: str = "", extra_context: Any = None) -> Any:
        """The editor. It is no form over a row, and no transaction is round it: the service has its own."""
        who = principal(request)
        who.require("design")
        if object_id is None:
            return edit(request, who, None, beginning=STARTER)
        design = chosen(request, object_id)
        return edit(request, who, design, beginning=design.current.document if design.current else STARTER)

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponseBase:
        """Ask, then hide the design; its runs and their history stay."""
        design = chosen(request, object_id)
        if request.method == "POST":
            services.delete_design(principal=principal(request), design=design)
            messages.success(request, f"{design.slug} is deleted. Its runs and their history stay.")
            return redirect("admin:hermes_workflow_design_changelist")
        about = {"title": f"Delete {design.slug}", "design": design, "original": design, "opts": self.opts}
        context = {**self.admin_site.each_context(request), **about}
        return TemplateResponse(request, "admin/designs/delete.html", context)

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponseBase:
        """Its versions are its history."""
        return redirect("admin:hermes_workflow_design_history_list", object_id)

    def versions_view(self, request: HttpRequest, object_id: str) -> HttpResponseBase:
        """Every version, newest first."""
        return history(request, chosen(request, object_id))

    def version_view(self, request: HttpRequest, object_id: str, number: str) -> HttpResponseBase:
        """One version."""
        return show_version(request, chosen(request, object_id), int(number))

    def restore_view(self, request: HttpRequest, object_id: str, number: str) -> HttpResponseBase:
        """Save an old document as a new version."""
        return restore(request, principal(request), chosen(request, object_id), int(number))

    def start_view(self, request: HttpRequest, object_id: str) -> HttpResponseBase:
        """Start a run on real input."""
        return start(request, principal(request), chosen(request, object_id))


def _url(name: str) -> str:
    return f"admin:hermes_workflow_design_{name}"
