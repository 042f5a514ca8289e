"""Inbound webhooks in the admin: each follows its design; here one is switched off, trusted to send, or given another secret."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from unfold.decorators import display

from hermes_workflow import hooks
from hermes_workflow.admin.access import AdminsOnly
from hermes_workflow.admin.env_names import check_name, state_of
from hermes_workflow.models import Hook


class HookForm(forms.ModelForm):
    """What an admin decides of a webhook."""

    class Meta:
        model = Hook
        fields = ("enabled", "may_send", "owner", "secret_env")
        help_texts = {
            "owner": "Runs are started in this person's name and with their rights.",
            "may_send": "Its runs may deliver to channels; a design that would is not started without this.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "owner" in self.fields:
            self.fields["owner"].required = False

    def clean_secret_env(self) -> str:
        """A name, and never a secret itself."""
        name = str(self.cleaned_data["secret_env"])
        check_name(name)
        return name

    def clean_owner(self) -> Any:
        """Somebody who may start the design."""
        owner = self.cleaned_data["owner"]
        if "owner" in self.changed_data and not hooks.may_start(owner, self.instance.design):
            raise forms.ValidationError("must be somebody who may start this design")
        return owner


@admin.register(Hook)
class HookAdmin(AdminsOnly):
    """A webhook is made and removed by saving the design that names it."""

    form = HookForm
    list_display = ("slug", "design", "owner", "secret", "enabled", "may_send")
    list_select_related = ("design", "owner")
    list_filter = ("enabled",)
    search_fields = ("slug", "design__slug")
    fields = ("slug", "design", "address", "secret", "enabled", "may_send", "owner", "secret_env")
    readonly_fields = ("slug", "design", "address", "secret")
    autocomplete_fields = ("owner",)

    @display(description="Address")
    def address(self, hook: Hook) -> str:
        """Where it is called."""
        return f"/api/hooks/{hook.slug}/"

    @display(description="Secret here")
    def secret(self, hook: Hook) -> str:
        """Whether this web process has it."""
        return state_of([hook.secret_env])

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nobody: a design names it."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody: it goes when no design names it."""
        return False
