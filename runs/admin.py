"""Runs and their rows in the admin: history is looked at, never edited; runs are cancelled, retried and purged through services."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from unfold.decorators import display

from hermes_workflow.admin.access import principal
from hermes_workflow.admin.shown import Shown
from hermes_workflow.core.errors import Conflict, HermesError
from runs import journal, services
from runs.models import Attempt, Delivery, Event, Gate, Run

ENDED = (Run.Status.DONE, Run.Status.FAILED, Run.Status.CANCELLED)
MOST_AT_ONCE = 100


def _on_site(name: str, pk: Any, word: str) -> str:
    return format_html('<a class="hermes-link" href="{}">{}</a>', reverse(name, args=[pk]), word)


class Timely(Shown):
    """Rows with deadlines: time passes before they are shown, outside the admin's own transaction."""

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        """The list, deadlines honoured."""
        services.honour_deadlines()
        return super().changelist_view(request, extra_context)

    def change_view(self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None) -> Any:
        """One row, deadlines honoured."""
        services.honour_deadlines()
        return super().change_view(request, object_id, form_url, extra_context)


class OfRun(Shown):
    """Rows of runs, found by the run's id."""

    search_fields = ("=run__id",)
    search_help_text = "The id of a run"

    @display(description="Run")
    def on_site(self, row: Any) -> str:
        """The run's page."""
        return _on_site("run", row.run_id, row.run_id[:8])


@admin.register(Run)
class RunAdmin(Timely):
    """Every run. An action takes one run after the other, each in a turn of its own, and says what became of each."""

    list_display = ("id", "design", "numbered", "status", "origin", "started_by", "created_at", "on_site")
    list_filter = ("status", "origin", "profile")
    search_fields = ("=id", "=workflow_id", "=design__slug")
    search_help_text = "The id of a run, or the name of a design"
    list_select_related = ("design", "version", "started_by")
    ordering = ("-created_at", "-id")
    hidden = ("start_digest",)
    actions = ("cancel", "retry", "purge")

    @display(description="Version")
    def numbered(self, run: Run) -> str:
        """The version that it runs."""
        return f"v{run.version.number}"

    @display(description="Page")
    def on_site(self, run: Run) -> str:
        """Its page."""
        return _on_site("run", run.pk, "Open")

    def get_actions(self, request: HttpRequest) -> Any:
        """Purging is for superusers."""
        found = super().get_actions(request)
        if not getattr(request.user, "is_superuser", False):
            found.pop("purge", None)
        return found

    @admin.action(description="Cancel the chosen runs")
    def cancel(self, request: HttpRequest, rows: QuerySet[Run]) -> None:
        """Stop them on purpose."""
        who = principal(request)
        self._each(request, rows, "cancelled", lambda run: services.cancel_run(principal=who, run_id=run.pk, reason="from the admin"))

    @admin.action(description="Retry the chosen runs")
    def retry(self, request: HttpRequest, rows: QuerySet[Run]) -> None:
        """Go on at the failed step of each."""
        who = principal(request)
        self._each(request, rows, "goes on", lambda run: services.retry_run(principal=who, run_id=run.pk))

    @admin.action(description="Purge the chosen runs")
    def purge(self, request: HttpRequest, rows: QuerySet[Run]) -> HttpResponseBase | None:
        """Ask, then remove ended runs and their history for good."""
        if request.POST.get("confirmed") == "yes":
            self._each(request, rows, "purged", _purge)
            return None
        context = {**self.admin_site.each_context(request), "title": "Purge runs", "rows": rows[:MOST_AT_ONCE], "opts": self.opts}
        return TemplateResponse(request, "admin/runs/purge.html", context)

    def _each(self, request: HttpRequest, rows: QuerySet[Run], done: str, do: Callable[[Run], None]) -> None:
        for run in rows[:MOST_AT_ONCE]:
            try:
                do(run)
            except HermesError as refusal:
                self.message_user(request, f"{run.pk[:8]}: {refusal.msg}", messages.WARNING)
            else:
                self.message_user(request, f"{run.pk[:8]}: {done}", messages.SUCCESS)


def _purge(run: Run) -> None:
    if run.status not in ENDED:
        raise Conflict("it has not ended; cancel it first")
    journal.purge(run.pk)


@admin.register(Event)
class EventAdmin(OfRun):
    """The history, as it is stored."""

    list_display = ("__str__", "type", "key", "at", "on_site")


@admin.register(Attempt)
class AttemptAdmin(OfRun):
    """Work for machines: what it was given, who holds it."""

    list_display = ("key", "number", "kind", "status", "worker", "ready_at", "on_site")
    list_filter = ("status", "kind")


@admin.register(Gate)
class GateAdmin(OfRun, Timely):
    """Questions to people; they are answered on the site."""

    list_display = ("key", "kind", "status", "answer", "waiting_since", "due_at", "at_site", "on_site")
    list_filter = ("status", "kind", "profile")

    @display(description="Gate")
    def at_site(self, gate: Gate) -> str:
        """Its page."""
        return _on_site("gate", gate.pk, "Open")


@admin.register(Delivery)
class DeliveryAdmin(OfRun):
    """One row per attempt to send."""

    list_display = ("key", "number", "target", "ok", "detail", "at", "on_site")
    list_filter = ("ok",)
