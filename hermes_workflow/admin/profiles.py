"""Profiles in the admin: who belongs to one, and what performs its agent steps."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from unfold.decorators import action, display
from unfold.widgets import UnfoldAdminTextareaWidget

from hermes_workflow.admin import performer_fields as performers
from hermes_workflow.admin.access import AdminsOnly
from hermes_workflow.admin.performer_settings import READERS, SETTINGS, TITLES, name_of
from hermes_workflow.core.errors import HermesError, NotFound
from hermes_workflow.models import Profile
from hermes_workflow.services import SLUG
from hermes_workflow.words import shown
from runs.assignments import Unperformed
from runs.seams.base import Performed
from runs.trial import PROMPT, Tried, try_out

MAX_MINUTES = 4320
MOST_MODELS, LONGEST_MODEL = 200, 128
LONGEST_SHOWN = 20_000


class ModelsField(forms.CharField):
    """The catalogue: one model a line."""

    widget = UnfoldAdminTextareaWidget

    def prepare_value(self, value: Any) -> Any:
        """As lines; what was typed stays as it was typed."""
        return "\n".join(map(str, value)) if isinstance(value, list) else value

    def clean(self, value: Any) -> list[str]:
        """The models, each once."""
        models = list(dict.fromkeys(line.strip() for line in super().clean(value).splitlines() if line.strip()))
        if len(models) > MOST_MODELS or any(len(model) > LONGEST_MODEL for model in models):
            raise forms.ValidationError(f"at most {MOST_MODELS} models of at most {LONGEST_MODEL} characters")
        return models

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Whether other lines were typed."""
        return (self.prepare_value(initial) or "") != (data or "").replace("\r\n", "\n")


class ProfileFields(forms.ModelForm):
    """What every profile has."""

    catalogue = ModelsField(
        required=False, widget=UnfoldAdminTextareaWidget(attrs={"rows": 4}), help_text="The models that steps may choose from, one a line."
    )

    class Meta:
        model = Profile
        fields = ("name", "title", "performer", "model", "catalogue", "allow_model_override", "timeout_minutes", "is_open", "members")
        help_texts = {
            "model": "What is asked for when a step names none; blank leaves it to the performer.",
            "allow_model_override": "Steps may name another model: one of the catalogue, or any while that is empty.",
            "timeout_minutes": f"1 to {MAX_MINUTES}, for steps that name none; blank means 10.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        profile = self.instance
        for name, value in performers.initial_of(profile.performer, profile.settings).items():
            self.initial.setdefault(name, value)
        for setting, names in performers.names_in(profile.performer, profile.settings):
            field = self.fields.get(name_of(profile.performer, setting))
            if field:
                field.help_text = f"{setting.help} Here: {performers.state_of(names)}."

    def clean_name(self) -> str:
        """Nodes name profiles by their slug."""
        name = self.cleaned_data["name"]
        if not SLUG.match(name):
            raise forms.ValidationError("must be 1 to 64 of a-z, 0-9, dot, dash and underscore, starting with a letter or digit")
        return str(name)

    def clean_timeout_minutes(self) -> int | None:
        """As long as a node may ask for."""
        minutes: int | None = self.cleaned_data["timeout_minutes"]
        if minutes is not None and not 1 <= minutes <= MAX_MINUTES:
            raise forms.ValidationError(f"must be from 1 to {MAX_MINUTES}")
        return minutes

    def clean(self) -> dict[str, Any] | None:
        """The settings of the chosen performer, checked by its own reader; those of the others are dropped."""
        given = super().clean()
        performer = self.cleaned_data.get("performer") or ""
        settings = performers.settings_of(performer, self.cleaned_data)
        if performer == self.instance.performer:
            settings = {**performers.unknown_in(performer, self.instance.settings), **settings}
        wrong = [name for name in self.errors if name.startswith(f"{performer}_")]
        if performer in READERS and not wrong:
            try:
                READERS[performer](settings)
            except HermesError as refusal:
                self.add_error(performers.field_at_fault(performer, refusal.msg), refusal.msg)
        self.chosen_settings = settings
        return given

    def save(self, commit: bool = True) -> Any:
        """With the settings that the fields make up."""
        self.instance.settings = self.chosen_settings
        return super().save(commit)


ProfileForm: type[ProfileFields] = type("ProfileForm", (ProfileFields,), dict(performers.form_fields()))


class TrialForm(forms.Form):
    """What is said to the performer."""

    prompt = forms.CharField(max_length=4000, strip=False, help_text="Sent once, for real: it costs what a step costs. At most 30 seconds.")


@admin.register(Profile)
class ProfileAdmin(AdminsOnly):
    """A change reaches every worker within a second; runs and designs that name a profile keep it from being deleted."""

    form = ProfileForm
    list_display = ("name", "title", "performer", "model", "environment", "is_open", "people", "designs")
    search_fields = ("name", "title")
    fieldsets = (
        (None, {"fields": ("name", "title", "is_open", "members")}),
        ("Who performs", {"fields": ("performer", "model", "catalogue", "allow_model_override", "timeout_minutes")}),
        *(
            (
                TITLES[performer],
                {
                    "fields": tuple(name_of(performer, setting) for setting in settings),
                    "classes": ("performer-part", f"performer-{performer}"),
                },
            )
            for performer, settings in SETTINGS.items()
        ),
    )
    autocomplete_fields = ("members",)
    actions_detail = ["test"]

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

    @display(description="Environment here")
    def environment(self, profile: Profile) -> str:
        """The variables it names, and whether this web process has them."""
        return performers.environment_of(profile.performer, profile.settings)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Nodes refer to a profile by its name, so it stays."""
        return ("name",) if obj else ()

    @action(description="Test", url_path="test", permissions=["change"])
    def test(self, request: HttpRequest, object_id: str) -> HttpResponseBase:
        """Make one real call, and show what came back."""
        profile = self.get_object(request, object_id)
        if profile is None:
            raise NotFound("there is no such profile")
        form = TrialForm(request.POST if request.method == "POST" else None, initial={"prompt": PROMPT})
        tried = try_out(profile, prompt=form.cleaned_data["prompt"]) if form.is_bound and form.is_valid() else None
        context = {
            **self.admin_site.each_context(request),
            "title": f"Test {profile.name}",
            "profile": profile,
            "parks": profile.performer == Profile.Performer.NONE,
            "variables": performers.environment_of(profile.performer, profile.settings),
            "form": form,
            "tried": tried,
            "facts": facts_of(tried) if tried else [],
            "text": text_of(tried) if tried else "",
            "failed": tried is not None and not isinstance(tried.outcome, Performed),
            "opts": self.opts,
        }
        status = 400 if form.is_bound and not form.is_valid() else 200
        return TemplateResponse(request, "admin/profiles/test.html", context, status=status)


def text_of(tried: Tried) -> str:
    """What the performer answered, with nothing invisible in it."""
    return shown(tried.outcome.value)[:LONGEST_SHOWN] if isinstance(tried.outcome, Performed) else ""


def facts_of(tried: Tried) -> list[tuple[str, str]]:
    """What else is known of the call."""
    outcome = tried.outcome
    if isinstance(outcome, Unperformed):
        return []
    if isinstance(outcome, Performed):
        given = {**outcome.provenance, **{f"usage: {key}": value for key, value in outcome.usage.items()}, "session": outcome.session}
    else:
        given = {"retry after": outcome.retry_after, **outcome.diagnostics}
    return [(key, shown(value)[:LONGEST_SHOWN]) for key, value in given.items() if value not in (None, "", [], {})]
