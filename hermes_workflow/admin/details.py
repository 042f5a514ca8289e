"""What the editor asks of a design besides its nodes."""

from typing import Any

from django import forms
from django.conf import settings

from hermes_workflow.models import Design
from hermes_workflow.rights import Principal, profiles_for
from hermes_workflow.services import NOTE_LIMIT, TITLE_LIMIT

DESCRIPTION_LIMIT = 10_000
BIGGEST = 2**31 - 1


class Details(forms.Form):
    """Name (of a new design), title, description, profile, note, and the version that the draft was made from."""

    name = forms.CharField(max_length=64, strip=False, help_text="1 to 64 of a-z, 0-9, dot, dash and underscore. It stays for good.")
    title = forms.CharField(max_length=TITLE_LIMIT, required=False)
    description = forms.CharField(max_length=DESCRIPTION_LIMIT, required=False, widget=forms.Textarea)
    profile = forms.ChoiceField(help_text="Who may see and use it. Who performs an agent step is said by that node's own profile.")
    separate_duties = forms.BooleanField(
        required=False, label="Separate duties", help_text="Who starts a run, or saved its version, may not answer its gates."
    )
    note = forms.CharField(max_length=NOTE_LIMIT, required=False, label="Note for this version", help_text="What changed, for the history.")
    base_version = forms.IntegerField(min_value=1, max_value=BIGGEST, widget=forms.HiddenInput)

    def __init__(self, *args: Any, principal: Principal, new: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = profiles_for(principal).values_list("name", "title")
        profile = self.fields["profile"]
        assert isinstance(profile, forms.ChoiceField)
        profile.choices = [(name, f"{name}: {title}" if title and title != name else name) for name, title in names]
        del self.fields["base_version" if new else "name"]

    @classmethod
    def of(cls, design: Design | None, *, principal: Principal, note: str = "") -> "Details":
        """The details as they are; those of a new design."""
        initial: dict[str, Any] = {"note": note, "profile": settings.HERMES_DEFAULT_PROFILE}
        if design is not None:
            kept = {name: getattr(design, name) for name in ("title", "description", "separate_duties")}
            initial |= {**kept, "profile": design.profile.name, "base_version": design.current.number if design.current else None}
        return cls(initial=initial, principal=principal, new=design is None)

    def refuse(self, msg: str) -> bool:
        """Put a refusal that names one of the fields beside it. Whether it did."""
        name, _, rest = msg.partition(": ")
        if not rest or name not in self.fields:
            return False
        self.add_error(name, rest)
        return True
