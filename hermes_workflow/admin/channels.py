"""Channels in the admin: where results may be sent. Addresses are templates, secrets the names of environment variables."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from unfold.decorators import display
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from hermes_workflow.admin.access import AdminsOnly
from hermes_workflow.admin.env_names import check_name, state_of
from hermes_workflow.channels import CHAT, PLATFORM, env_names, url_fault
from hermes_workflow.core.text import shorten
from hermes_workflow.models import Channel

MOST_CHATS = 500
URL_HELP = (
    "Apprise: the address of a service with places to fill, such as tgram://{env:TELEGRAM_TOKEN}/{chat_id}/?topic={thread}, "
    "discord://{env:WEBHOOK_ID}/{env:WEBHOOK_TOKEN} or ntfys://ntfy.example.com/{chat_id}. "
    "Hermes Agent: where its webhooks listen, such as https://agent.example.com:8644; the chat id of a target is the name of the route."
)


class ChatLines(forms.CharField):
    """Chat ids, one a line."""

    widget = UnfoldAdminTextareaWidget(attrs={"rows": 4})

    def prepare_value(self, value: Any) -> Any:
        """As people edit it; what they typed stays as they typed it."""
        return value if isinstance(value, str) else "\n".join(value or [])

    def clean(self, value: Any) -> list[str]:
        """The ids. Raises ValidationError naming the first that can be none."""
        found = list(dict.fromkeys(line.strip() for line in super().clean(value).splitlines() if line.strip()))
        if len(found) > MOST_CHATS:
            raise forms.ValidationError(f"at most {MOST_CHATS} chats")
        for chat in found:
            if not CHAT.match(chat):
                raise forms.ValidationError(f"{shorten(chat)} is not the id of a chat")
        return found

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Whether other lines were typed."""
        return bool("\n".join(initial or []).split() != (data or "").split())


class ChannelForm(forms.ModelForm):
    """A channel that can be used: an allowed service, its secrets by name."""

    url = forms.CharField(label="Address", max_length=1000, help_text=URL_HELP, widget=UnfoldAdminTextInputWidget())
    chats = ChatLines(
        label="Allowed chats",
        required=False,
        max_length=100_000,
        help_text="One id a line; none: every chat that the sender can reach. A design that names another is not saved.",
    )

    class Meta:
        model = Channel
        fields = ("platform", "kind", "url", "secret_env", "chats", "enabled")
        labels = {"secret_env": "Webhook secret"}
        help_texts = {
            "platform": "What a target begins with: telegram in telegram:-1001234567890.",
            "secret_env": "Hermes Agent: the environment variable that holds it.",
            "enabled": "Off: nothing is sent, and each receipt says so.",
        }

    def clean_platform(self) -> str:
        """The word before the colon of a target."""
        name = str(self.cleaned_data["platform"])
        if not PLATFORM.match(name) or name in ("user", "group"):
            raise forms.ValidationError("must be 1 to 64 of a-z, 0-9, dash and underscore, and neither user nor group")
        return name

    def clean_secret_env(self) -> str:
        """A name, and never a secret itself."""
        name = str(self.cleaned_data["secret_env"])
        if name:
            check_name(name)
        return name

    def clean(self) -> dict[str, Any] | None:
        """The address fits its kind, and names variables that may be sent."""
        given = super().clean()
        kind, url = self.cleaned_data.get("kind"), self.cleaned_data.get("url")
        if not kind or not url:
            return given
        if fault := url_fault(kind, url):
            self.add_error("url", fault)
        else:
            self._check_names(url)
        if kind == Channel.Kind.HERMES and not self.cleaned_data.get("secret_env") and "secret_env" not in self.errors:
            self.add_error("secret_env", "is needed: the agent refuses what is not signed")
        return given

    def _check_names(self, url: str) -> None:
        for name in env_names(Channel(url=url)):
            try:
                check_name(name)
            except forms.ValidationError as fault:
                self.add_error("url", fault)


@admin.register(Channel)
class ChannelAdmin(AdminsOnly):
    """A change holds for the next delivery."""

    form = ChannelForm
    list_display = ("platform", "kind", "secrets", "allowed", "enabled")
    list_filter = ("kind", "enabled")
    search_fields = ("platform",)
    fields = ("platform", "kind", "url", "secret_env", "secrets", "chats", "enabled")
    readonly_fields = ("secrets",)

    @display(description="Secrets here")
    def secrets(self, channel: Channel) -> str:
        """Whether this web process has them; never what they are."""
        return state_of(env_names(channel)) or "none needed"

    @display(description="Chats")
    def allowed(self, channel: Channel) -> str:
        """How many, or all."""
        return f"{len(channel.chats)} allowed" if channel.chats else "every chat"

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Targets name a channel by its platform, so it stays."""
        return (*self.readonly_fields, "platform") if obj else self.readonly_fields
