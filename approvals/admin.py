"""Decisions in the admin, as they were made; and the chat accounts that people confirmed, which can be taken away."""

from django.contrib import admin
from unfold.decorators import display

from approvals.models import ChatIdentity, Decision
from hermes_workflow.admin.access import Removable
from hermes_workflow.admin.shown import Shown


@admin.register(Decision)
class DecisionAdmin(Shown):
    """Who answered what, by which way."""

    list_display = ("whose", "answer", "gate", "channel", "by", "at")
    list_filter = ("channel",)
    search_fields = ("=gate__run__id", "=by__username", "=on_behalf_of__username")
    search_help_text = "The id of a run, or a user's name"
    list_select_related = ("gate", "by", "on_behalf_of")
    hidden = ("body_digest", "message_key")

    @display(description="Person")
    def whose(self, decision: Decision) -> str:
        """Whose answer it is."""
        return str(decision.person)


@admin.register(ChatIdentity)
class ChatIdentityAdmin(Removable):
    """Removing one ends relays for that account until the person links it again."""

    list_display = ("channel", "external_id", "user", "confirmed_at")
    list_filter = ("channel",)
    search_fields = ("external_id", "user__username")
    list_select_related = ("user",)
    fields = ("channel", "external_id", "user", "confirmed_at")
    readonly_fields = fields
