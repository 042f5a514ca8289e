"""Profiles in the admin: who belongs to one, and what performs its agent steps."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from unfold.decorators import display
from unfold.widgets import UnfoldAdminTextareaWidget

from hermes_workflow.admin.access import AdminsOnly
from hermes_workflow.admin.looks import pretty
from hermes_workflow.core.documents import read_json
from hermes_workflow.core.errors import HermesError
from hermes_workflow.models import Profile
from hermes_workflow.services import SLUG
from runs.seams.program import Program


class JSONArea(forms.CharField):
    """An object as JSON, read strictly."""

    widget = UnfoldAdminTextareaWidget

    def prepare_value(self, value: Any) -> Any:
        """As people edit it; what they typed stays as they typed it."""
        return value if isinstance(value, str) else pretty(value or {})

    def clean(self, value: Any) -> dict[str, Any]:
        """The object. Raises ValidationError with the place."""
        text = super().clean(value)
        try:
            found = read_json(text) if text else {}
        except HermesError as refusal:
            raise forms.ValidationError(refusal.msg) from None
        if not isinstance(found, dict):
            raise forms.ValidationError("must be a JSON object")
        return found

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Whether another object was typed."""
        try:
            return bool(read_json(data or "{}") != (initial or {}))
        except HermesError:
            return True


class ProfileForm(forms.ModelForm):
    """The settings of a performer are checked by the performer's own reader."""

    settings = JSONArea(
        required=False,
        help_text='For a program: {"argv": ["/path/to/program"]}; also model_argv, env (names of variables to pass on), '
        "stdout_bytes, stderr_bytes, grace_seconds.",
    )

    class Meta:
        model = Profile
        fields = ("name", "title", "performer", "settings", "model", "allow_model_override", "is_open", "members")

    def clean_name(self) -> str:
        """Nodes name profiles by their slug."""
        name = self.cleaned_data["name"]
        if not SLUG.match(name):
            raise forms.ValidationError("must be 1 to 64 of a-z, 0-9, dot, dash and underscore, starting with a letter or digit")
        return str(name)

    def clean(self) -> dict[str, Any] | None:
        """A program has settings that can be run."""
        given = super().clean()
        if self.cleaned_data.get("performer") == Profile.Performer.SUBPROCESS and "settings" in self.cleaned_data:
            try:
                Program.read(self.cleaned_data["settings"])
            except HermesError as refusal:
                self.add_error("settings", refusal.msg)
        return given


@admin.register(Profile)
class ProfileAdmin(AdminsOnly):
    """A change reaches every worker within a second; runs and designs that name a profile keep it from being deleted."""

    form = ProfileForm
    list_display = ("name", "title", "performer", "model", "is_open", "people", "designs")
    search_fields = ("name", "title")
    fields = ("name", "title", "performer", "settings", "model", "allow_model_override", "is_open", "members")
    autocomplete_fields = ("members",)
    readonly_preprocess_fields = {"settings": pretty}

    def get_queryset(self, request: HttpRequest) -> Any:
        """With what the columns count."""
        return super().get_queryset(request).prefetch_related("members")

    @display(description="People")
    def people(self, profile: Profile) -> str:
        """How many, or all."""
        return "everybody" if profile.is_open else str(len(profile.members.all()))

    @display(description="Designs")
    def designs(self, profile: Profile) -> int:
        """How many there are now."""
        return profile.designs.filter(deleted_at=None).count()

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Nodes refer to a profile by its name, so it stays."""
        return ("name",) if obj else ()
