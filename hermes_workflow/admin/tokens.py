"""Tokens in the admin: made for bots and shown once, listed, revoked; and the files that runs were started on."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from unfold.decorators import display

from hermes_workflow.admin.access import AdminsOnly, principal
from hermes_workflow.admin.shown import Shown
from hermes_workflow.core.errors import HermesError
from hermes_workflow.models import Attachment, Token
from hermes_workflow.rights import BOT_SCOPES, NAMED_SCOPES
from hermes_workflow.tokens import NAME_LIMIT, issue_token
from hermes_workflow.words import size

DAY = 86400


class BotToken(forms.Form):
    """What a bot's token needs."""

    name = forms.CharField(max_length=NAME_LIMIT, help_text="What the token is for.")
    user = forms.CharField(max_length=150, required=False, label="Bot user", help_text="Made if it is new; blank: named after the token.")
    scopes = forms.MultipleChoiceField(
        choices=[(scope, scope) for scope in BOT_SCOPES],
        required=False,
        help_text="Nothing chosen: all but send. With send, runs that the bot starts may deliver to channels, once a person confirmed.",
    )
    days = forms.IntegerField(min_value=1, max_value=3650, required=False, label="Valid for days", help_text="Blank: as configured.")


@admin.register(Token)
class TokenAdmin(AdminsOnly):
    """The secret is shown once; only its hash is kept. Deleting revokes at once."""

    list_display = ("shown_name", "user", "bot", "reach", "created", "expiry")
    list_filter = ("bot",)
    search_fields = ("name", "user__username", "token_key")
    list_select_related = ("user",)
    ordering = ("-created",)
    fields = ("name", "user", "bot", "reach", "created", "expiry")
    readonly_fields = fields

    @display(description="Token")
    def shown_name(self, token: Token) -> str:
        """Its name and how it begins."""
        return f"{token.name or 'unnamed'} ({token.token_key[:8]}…)"

    @display(description="Scopes")
    def reach(self, token: Token) -> str:
        """What it is limited to."""
        return ", ".join(token.scopes) or ("all that a bot may do, but send" if token.bot else "all that its user may do")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody changes a token."""
        return False

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponseBase:
        """Make a token for a bot, and show it once."""
        who = principal(request)
        who.require("design")
        if not who.is_admin:
            return self._page(request, BotToken(), status=403)
        form = (
            BotToken(request.POST)
            if request.method == "POST"
            else BotToken(initial={"scopes": [scope for scope in BOT_SCOPES if scope not in NAMED_SCOPES]})
        )
        if not form.is_bound or not form.is_valid():
            return self._page(request, form, status=400 if form.is_bound else 200)
        given = form.cleaned_data
        try:
            token, secret = issue_token(
                principal=who,
                name=given["name"],
                bot=True,
                user=given["user"] or None,
                scopes=given["scopes"] or None,
                expires_in=given["days"] * DAY if given["days"] else None,
            )
        except HermesError as refusal:
            name, _, rest = refusal.msg.partition(": ")
            form.add_error(name if rest and name in form.fields else None, rest or refusal.msg)
            return self._page(request, form, status=refusal.status)
        return self._page(request, form, token=token, secret=secret)

    def _page(self, request: HttpRequest, form: BotToken, status: int = 200, **more: Any) -> TemplateResponse:
        context = {**self.admin_site.each_context(request), "title": "New bot token", "form": form, "opts": self.opts, **more}
        return TemplateResponse(request, "admin/tokens/new.html", context, status=status)


@admin.register(Attachment)
class AttachmentAdmin(Shown):
    """Uploaded files, as they came."""

    list_display = ("filename", "media_type", "bytes", "uploaded_by", "created_at")
    search_fields = ("filename", "=sha256")
    list_select_related = ("uploaded_by",)
    hidden = ("id", "content")

    def get_queryset(self, request: HttpRequest) -> Any:
        """Without the files themselves."""
        from django.db.models.functions import Length

        return super().get_queryset(request).defer("content").annotate(length=Length("content"))

    @display(description="Size")
    def bytes(self, row: Any) -> str:
        """How large it is."""
        return size(row.length)
