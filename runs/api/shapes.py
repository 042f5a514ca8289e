"""How runs look over the API: bodies that are read, answers that are documented."""

from typing import Any

from rest_framework import serializers

from hermes_workflow.http.bodies import Anyhow, Anything, Body, Choice, Flag, Text
from runs.diagnostics import is_live
from runs.documents import instant
from runs.models import Event, Session
from runs.starts import PERFORM

REASON_LIMIT = 500
CONFIRM = "A bot's: the person agreed that the run sends to its channels"


class StartBody(Body):
    """What a run is started on."""

    input = Anyhow(required=False)
    workflow_id = Text(required=False, max_length=128, help_text="Your own name of the run")
    perform = Choice(PERFORM, default="host", help_text="`caller`: every agent step waits for you")
    confirm = Flag(default=False, help_text=CONFIRM)


class UploadBody(StartBody):
    """What a run is started on, with a text file."""

    file = serializers.FileField(help_text="UTF-8 text of at most 1 MiB; becomes input.text and input.filename")


class RetryBody(Body):
    """How to go on."""

    version = Choice(("pinned", "current"), default="pinned")
    confirm = Flag(default=False, help_text=CONFIRM)


class ResendBody(Body):
    """Nothing but a word."""

    confirm = Flag(default=False, help_text=CONFIRM)


class CancelBody(Body):
    """Why to stop."""

    reason = Text(default="", max_length=REASON_LIMIT, allow_blank=True)


class SignalBody(Body):
    """What happened outside."""

    type = Text(max_length=128)
    key = Text(max_length=160)
    payload = Anything(required=False)


class PendingShape(serializers.Serializer):
    """An open gate, as it is shown to who answers it."""

    gate_id = serializers.IntegerField()
    node_id = serializers.CharField()
    kind = serializers.CharField()
    question = serializers.CharField()
    options = serializers.ListField(child=serializers.CharField())
    context = Anyhow()  # type: ignore[assignment]
    waiting_since = serializers.DateTimeField()
    deadline = serializers.DateTimeField(allow_null=True)
    on_timeout = serializers.CharField(allow_null=True)
    escalated_at = serializers.DateTimeField(allow_null=True)
    digest = serializers.CharField(help_text="Send it with the answer: 409 when something else is shown by then")
    votes = serializers.ListField(child=Anyhow())
    quorum = serializers.IntegerField()
    round = serializers.IntegerField()
    prompt = serializers.CharField(required=False, help_text="Only for an agent step")


class FailureShape(serializers.Serializer):
    """Why a run failed."""

    node_id = serializers.CharField()
    msg = serializers.CharField()
    kind = serializers.CharField(required=False)
    hint = serializers.CharField(required=False)


class SentShape(serializers.Serializer):
    """One try to deliver."""

    node_id = serializers.CharField()
    target = serializers.CharField()
    ok = serializers.BooleanField()
    detail = serializers.CharField()


class RunSummaryShape(serializers.Serializer):
    """A run in a list."""

    ok = serializers.BooleanField()
    run_id = serializers.CharField()
    workflow_id = serializers.CharField(allow_null=True)
    name = serializers.CharField()
    dialect = serializers.CharField()
    version = serializers.IntegerField()
    status = serializers.CharField()
    cursor = serializers.IntegerField()
    error = FailureShape(allow_null=True)
    origin = serializers.CharField()
    started_by = serializers.CharField(allow_null=True)
    seq = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)


class RunShape(RunSummaryShape):
    """The run document."""

    outputs = Anyhow(help_text="By node; a value over 64 KiB is `{$ref}`")
    skipped = serializers.ListField(child=serializers.CharField())
    pending = PendingShape(allow_null=True)
    pendings = PendingShape(many=True)
    answers = serializers.DictField(child=serializers.CharField())
    attempts = serializers.DictField(child=serializers.IntegerField())
    deliveries = SentShape(many=True)
    stuck = Anyhow(allow_null=True)
    input = Anyhow()
    next = serializers.CharField(help_text="What you can do now")


class EventShape(serializers.Serializer):
    """One fact of a run."""

    seq = serializers.IntegerField()
    type = serializers.CharField()
    key = serializers.CharField()
    at = serializers.DateTimeField()
    data = Anyhow()  # type: ignore[assignment]


class MessageShape(serializers.Serializer):
    """One message of a transcript."""

    role = serializers.ChoiceField(choices=["user", "assistant", "error"])
    content = serializers.CharField()
    at = serializers.DateTimeField()


class SessionShape(serializers.Serializer):
    """The transcript of one attempt of an agent step."""

    node_id = serializers.CharField()
    number = serializers.IntegerField()
    profile = serializers.CharField()
    model = serializers.CharField()
    external_id = serializers.CharField(help_text="The performer's own name for the conversation")
    usage = serializers.DictField(child=serializers.FloatField(), help_text="What it cost, as the performer counts it")
    live = serializers.BooleanField(help_text="Whether the performer is at work on it now")
    started_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)
    messages = MessageShape(many=True)


class ReceiptShape(serializers.Serializer):
    """Who did what and when, without what was said; `sha256` covers the canonical JSON of the rest."""

    format = serializers.IntegerField()
    run = Anyhow()
    input = Anyhow()
    outputs = serializers.ListField(child=Anyhow())
    gates = serializers.ListField(child=Anyhow())
    attempts = serializers.ListField(child=Anyhow())
    deliveries = serializers.ListField(child=Anyhow())
    history = Anyhow()
    sha256 = serializers.CharField()


def event_document(event: Event) -> dict[str, Any]:
    """One fact, without its body."""
    return {"seq": event.seq, "type": event.type, "key": event.key, "at": instant(event.at), "data": event.data}


def session_document(session: Session) -> dict[str, Any]:
    """A transcript with its messages."""
    return {
        "node_id": session.attempt.key,
        "number": session.attempt.number,
        "profile": session.profile,
        "model": session.model,
        "external_id": session.external_id,
        "usage": session.usage,
        "live": is_live(session.attempt, session),
        "started_at": instant(session.started_at),
        "ended_at": instant(session.ended_at),
        "messages": [{"role": said.role, "content": said.content, "at": instant(said.at)} for said in session.messages.all()],
    }
