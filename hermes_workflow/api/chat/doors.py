"""The address that takes what was typed."""

from typing import Any

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from approvals.api import SourceBody
from approvals.codes import redeem
from approvals.links import link_code, link_path
from approvals.sources import Source
from hermes_workflow.api.chat import commands
from hermes_workflow.api.chat.answers import do_answer
from hermes_workflow.api.chat.commands import Asked, Said
from hermes_workflow.api.chat.parse import Command, parse
from hermes_workflow.api.chat.speakers import speaker
from hermes_workflow.api.chat.texts import refused_text
from hermes_workflow.core.errors import HermesError, Malformed
from hermes_workflow.http.bodies import Anyhow, Body, Text
from hermes_workflow.http.endpoint import Endpoint
from hermes_workflow.http.openapi import documented
from hermes_workflow.pages import zone_of

LONGEST = 200_000

DO = {
    "list": commands.do_list,
    "run": commands.do_run,
    "retry": commands.do_retry,
    "runs": commands.do_runs,
    "status": commands.do_status,
    "answer": do_answer,
}


class CommandBody(Body):
    """What a person typed."""

    text = Text(max_length=LONGEST, help_text="The whole message, such as /workflow list")
    source = SourceBody(required=False, help_text="Only from a bot: whose message it is")  # type: ignore[assignment]


class CommandShape(serializers.Serializer):
    """The answer to a command."""

    ok = serializers.BooleanField()
    text = serializers.CharField(help_text="Plain text to show in the chat; a refusal of a command has it too")
    data = Anyhow(help_text="The same as data: the run document, designs, runs")  # type: ignore[assignment]


class CommandDoor(Endpoint):
    """Commands of a chat."""

    @documented(
        "Do what was typed in a chat",
        answers=CommandShape,
        body=CommandBody,
        keyed=True,
        refuses=(403, 404, 409, 422, 429),
        operation_id="chat_command",
    )
    def post(self, request: Request) -> Response:
        """As the person who typed it: the one signed in, or with `source` the one whose chat account it is."""
        fields = self.body(CommandBody)
        source = Source(**fields["source"]) if "source" in fields else None
        try:
            said = self._said(parse(fields["text"]), source)
        except HermesError as refusal:
            refusal.extra = {"text": self._refused(refusal), **refusal.extra}
            raise
        return Response({"ok": True, "text": said.text, "data": said.data})

    def _said(self, command: Command, source: Source | None) -> Said:
        if command.verb == "help":
            return commands.help_said()
        if command.verb == "link":
            return self._link(command, source)
        who = speaker(self.principal, source, self.idempotency_key())
        with timezone.override(zone_of(who.principal.user)):
            return DO[command.verb](Asked(who, command, self._site))

    def _link(self, command: Command, source: Source | None) -> Said:
        """Make the account the person's by their code, or say where they can."""
        if source is None:
            raise Malformed("source: linking is for a chat account, and this came from none", hint="type it in the chat, to the bot")
        if command.words:
            identity = redeem(principal=self.principal, source=source, code=command.words[0])
            name = identity.user.get_username()
            text = f"This account speaks for {name} from now on. {name} can end that at {self._site('/account/')}"
            return Said(text, {"linked": {"user": name, "channel": identity.channel, "external_id": identity.external_id}})
        if not self.principal.is_bot:
            raise Malformed("source: only a bot relays; leave it out")
        self.principal.require("relay")
        source.check()
        path = link_path(link_code(source.channel, source.external_id))
        return Said(f"Open {self._site(path)} while signed in, and confirm that this account is yours.", {"url": path})

    def _refused(self, refusal: HermesError) -> str:
        link: dict[str, Any] = refusal.extra.get("link") or {}
        if link:
            return (
                f"This chat account belongs to nobody here yet. Make a code at {self._site('/account/')} and type it here, or open "
                f"{self._site(link['url'])} while signed in and confirm the account."
            )
        return refused_text(refusal.msg.removeprefix("text: "), refusal.hint)

    def _site(self, path: str) -> str:
        return self.request.build_absolute_uri(path)
