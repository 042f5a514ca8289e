"""Decisions with their provenance, and the chat accounts that people confirmed as theirs."""

from django.conf import settings
from django.db import models
from django.db.models.functions import Coalesce


class Decision(models.Model):
    """What a person answered. A relayed one is `by` the bot, `on_behalf_of` the person whose rights counted."""

    gate = models.ForeignKey("runs.Gate", on_delete=models.CASCADE, related_name="decisions", db_index=False)
    answer = models.TextField()
    comment = models.TextField(blank=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="decisions")
    on_behalf_of = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="relayed_decisions")
    channel = models.CharField(max_length=64)
    message_id = models.CharField(max_length=255, blank=True)
    message_url = models.CharField(max_length=1000, blank=True)
    event_id = models.CharField(max_length=255, blank=True)
    message_key = models.CharField(max_length=71, null=True, unique=True)
    idempotency_key = models.CharField(max_length=255, null=True)
    body_digest = models.CharField(max_length=71)
    digest_seen = models.CharField(max_length=71)
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint("gate", Coalesce("on_behalf_of", "by"), name="decision_once_per_person"),
            models.UniqueConstraint(fields=["by", "idempotency_key"], name="decision_key_once"),
        ]

    def __str__(self) -> str:
        return f"{self.person}: {self.answer}"

    @property
    def person(self) -> "models.Model":
        """Whose answer it is."""
        return self.on_behalf_of or self.by


class ChatIdentity(models.Model):
    """A chat account and the user who confirmed on the site that it is theirs."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="chat_identities")
    channel = models.CharField(max_length=64)
    external_id = models.CharField(max_length=255)
    confirmed_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "chat identities"
        constraints = [models.UniqueConstraint(fields=["channel", "external_id"], name="chat_account_once")]

    def __str__(self) -> str:
        return f"{self.channel}:{self.external_id}"


class LinkCode(models.Model):
    """A short code that a person types in a chat to say that the account there is theirs; one per person, kept as a keyed hash."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="link_code")
    digest = models.CharField(max_length=64, unique=True)
    expires_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"a code of {self.user}"


class LinkTry(models.Model):
    """A wrong code, counted against the bot that passed it on and the account it came from."""

    bot = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    account = models.CharField(max_length=71)
    at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"{self.bot} at {self.at}"
