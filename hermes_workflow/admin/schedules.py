"""Schedules in the admin: all of them, held to the same rules as on their page."""

import json
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from unfold.decorators import display
from unfold.widgets import UnfoldAdminTextareaWidget

from hermes_workflow import timetable
from hermes_workflow.admin.access import AdminsOnly, principal
from hermes_workflow.core.documents import read_json
from hermes_workflow.core.errors import HermesError
from hermes_workflow.core.text import kind_of
from hermes_workflow.models import Design, Schedule
from hermes_workflow.schedules import cron_fault, zone_fault


class InputField(forms.CharField):
    """What each run works on: a JSON object."""

    widget = UnfoldAdminTextareaWidget

    def prepare_value(self, value: Any) -> Any:
        """As JSON; what was typed stays as it was typed."""
        return value if isinstance(value, str) else json.dumps(value or {}, indent=2, ensure_ascii=False)

    def clean(self, value: Any) -> dict[str, Any]:
        """The object. Raises ValidationError with the place."""
        try:
            found = read_json(super().clean(value).strip() or "{}")
        except HermesError as refusal:
            raise forms.ValidationError(refusal.msg) from None
        if not isinstance(found, dict):
            raise forms.ValidationError(f"must be an object, got {kind_of(found)}")
        return found

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Whether something else was typed."""
        return bool(self.prepare_value(initial) != (data or "").replace("\r\n", "\n"))


class ScheduleForm(forms.ModelForm):
    """A schedule that can fire."""

    cron = forms.CharField(strip=False, max_length=100, help_text="Minute, hour, day, month, weekday: 0 6 * * MON-FRI. Or @daily.")
    timezone = forms.CharField(strip=False, max_length=64, initial="UTC", help_text="Whose clock the cron means, such as Europe/Berlin.")
    input = InputField(required=False, help_text="A JSON object that each run works on.")

    class Meta:
        model = Schedule
        fields = ("design", *sorted(timetable.SETTABLE))

    def clean_cron(self) -> str:
        """One that fires."""
        if fault := cron_fault(self.cleaned_data["cron"]):
            raise forms.ValidationError(fault)
        return str(self.cleaned_data["cron"])

    def clean_timezone(self) -> str:
        """One that exists."""
        if fault := zone_fault(self.cleaned_data["timezone"]):
            raise forms.ValidationError(fault)
        return str(self.cleaned_data["timezone"])

    def clean_design(self) -> Design:
        """One that has something to start."""
        design: Design = self.cleaned_data["design"]
        if design.deleted_at or design.current_id is None:
            raise forms.ValidationError("must be a design that has a version and was not deleted")
        return design


@admin.register(Schedule)
class ScheduleAdmin(AdminsOnly):
    """Runs belong to whoever saved a schedule last."""

    form = ScheduleForm
    list_display = ("design", "cron", "timezone", "owner", "enabled", "next_at", "problem")
    list_select_related = ("design", "owner")
    list_filter = ("enabled", "overlap", "catch_up")
    search_fields = ("design__slug", "design__title", "cron")
    autocomplete_fields = ("design",)
    fields = ("design", "cron", "timezone", "coming", "input", "overlap", "catch_up", "may_send", "enabled", "problem", "owner", "node_id")
    readonly_fields = ("coming", "problem", "owner", "node_id")
    actions = None

    def get_queryset(self, request: HttpRequest) -> QuerySet[Schedule]:
        """Those of designs that are there."""
        return timetable.schedules_for(principal(request))

    @display(description="Next times")
    def coming(self, schedule: Schedule) -> str:
        """In the person's timezone."""
        found = [f"{timezone.localtime(moment):%a %d %b %Y, %H:%M %Z}" for moment in timetable.coming(schedule)] if schedule.pk else []
        return "; ".join(found) or "none"

    def get_readonly_fields(self, request: HttpRequest, obj: Schedule | None = None) -> Any:
        """Its design stays; the times of a trigger are changed in the design."""
        fixed = ("design",) if obj else ()
        return (*self.readonly_fields, *fixed, *(timetable.TIMING if obj and obj.node_id else ()))

    def has_delete_permission(self, request: HttpRequest, obj: Schedule | None = None) -> bool:
        """Not one that follows a trigger, which would make it again."""
        return super().has_delete_permission(request, obj) and not (obj and obj.node_id)

    def save_model(self, request: HttpRequest, obj: Schedule, form: Any, change: bool) -> None:
        """Through the service that every door uses."""
        given = {name: form.cleaned_data[name] for name in timetable.SETTABLE if name in form.cleaned_data}
        if change:
            timetable.change(principal=principal(request), schedule=obj, **given)
        else:
            obj.pk = timetable.create(principal=principal(request), design=form.cleaned_data["design"], **given).pk

    def delete_model(self, request: HttpRequest, obj: Schedule) -> None:
        """Through the service that every door uses."""
        timetable.remove(principal=principal(request), schedule=obj)
