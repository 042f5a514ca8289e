"""The REST API of gates: the inbox, and the two ways to answer, which are one."""

import re
from datetime import datetime
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from approvals.selectors import STATUSES, count, decisions_of, gate_for, inbox, why_not
from approvals.services import UNSET, Source, answer_gate, respond
from hermes_workflow.core.errors import NotFound
from hermes_workflow.http.bodies import Anything, Body, Flag, Text, Whole
from hermes_workflow.http.endpoint import Endpoint
from hermes_workflow.http.openapi import documented, page_of
from hermes_workflow.http.paging import BIGGEST, Cursor, link, read_cursor
from hermes_workflow.http.queries import PAGE_SIZE, PAGING, choice, flag
from runs import services
from runs.api.addresses import run_at
from runs.api.shapes import PendingShape, RunShape
from runs.documents import instant, pending
from runs.models import Gate

GATE_ID = re.compile(r"[0-9]{1,19}\Z", re.ASCII)
COMMENT_LIMIT, DIGEST_LIMIT, NODE_LIMIT = 2000, 71, 128


class SourceBody(Body):
    """Where a bot heard a person decide: the message is named by one of its three ids."""

    channel = Text(max_length=64)
    external_id = Text(max_length=255, help_text="The person's account in that channel")
    message_id = Text(required=False, max_length=255, allow_blank=True)
    message_url = Text(required=False, max_length=1000, allow_blank=True)
    event_id = Text(required=False, max_length=255, allow_blank=True)


class ReplyBody(Body):
    """What goes with every answer."""

    comment = Text(default="", max_length=COMMENT_LIMIT, allow_blank=True)
    digest = Text(required=False, max_length=DIGEST_LIMIT, help_text="Of what was shown: 409 when it has changed since")
    resume = Flag(default=True, help_text="False only records the answer; a later turn goes on")
    source = SourceBody(required=False, help_text="Only from a bot")  # type: ignore[assignment]


class AnswerBody(ReplyBody):
    """An answer to a gate."""

    answer = Anything(help_text="One of the options, exactly")


class RespondBody(ReplyBody):
    """An answer to the gate at a node, or the result of the agent step that waits there."""

    node_id = Text(max_length=NODE_LIMIT, help_text="Where the run waits: node_id of its pending")
    gate_id = Whole(required=False, min_value=1, max_value=BIGGEST)
    answer = Anything(required=False, help_text="At a gate: one of the options, exactly")
    structured = Anything(required=False, help_text="The result of an agent step as JSON, which conditions can read")
    output = Anything(required=False, help_text="The result of an agent step as text")


class DecisionShape(serializers.Serializer):
    """Who answered what, and how it came."""

    answer = serializers.CharField()
    comment = serializers.CharField()
    by = serializers.CharField()
    on_behalf_of = serializers.CharField(allow_null=True)
    channel = serializers.CharField()
    at = serializers.DateTimeField()


class GateSummaryShape(PendingShape):
    """A gate in a list."""

    run_id = serializers.CharField()
    name = serializers.CharField()
    title = serializers.CharField()
    version = serializers.IntegerField()
    run_status = serializers.CharField()
    profile = serializers.CharField()
    status = serializers.CharField()
    answer = serializers.CharField()
    ended_at = serializers.DateTimeField(allow_null=True)


class GateShape(GateSummaryShape):
    """A gate, its decisions, and whether you may answer it now."""

    why_not = serializers.CharField(help_text="Empty when you may answer")
    decisions = DecisionShape(many=True)


def gate_summary(gate: Gate) -> dict[str, Any]:
    """A gate as it is shown, and the run it belongs to."""
    run = gate.run
    return {
        **pending(gate),
        "run_id": run.pk,
        "name": run.design.slug,
        "title": run.design.title,
        "version": run.version.number,
        "run_status": run.status,
        "profile": gate.profile.name,
        "status": gate.status,
        "answer": gate.answer,
        "ended_at": instant(gate.ended_at),
    }


def _decisions(gate: Gate) -> list[dict[str, Any]]:
    return [
        {
            "answer": decision.answer,
            "comment": decision.comment,
            "by": decision.by.get_username(),
            "on_behalf_of": decision.on_behalf_of.get_username() if decision.on_behalf_of else None,
            "channel": decision.channel,
            "at": instant(decision.at),
        }
        for decision in decisions_of(gate)
    ]


def gate_at(endpoint: Endpoint, gate_id: str) -> Gate:
    """The gate of an address, its deadline honoured. Raises NotFound, also for what can be no id."""
    if not GATE_ID.match(gate_id) or int(gate_id) > BIGGEST:
        raise NotFound("there is no such gate")
    gate = gate_for(endpoint.principal, int(gate_id))
    services.honour_deadline(gate.run)
    return gate


def with_source(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of a reply as the service takes them."""
    given = fields.pop("source", None)
    return {**fields, "source": Source(**given) if given else None}


class Gates(Endpoint):
    """The inbox."""

    reads = (
        *PAGING,
        choice("status", "Gates that stand there; open unless given", STATUSES),
        flag("mine", "1: only those that ask you; 0: all that you may see"),
    )

    @documented(
        "List gates",
        answers=page_of(
            GateSummaryShape,
            count=serializers.IntegerField(help_text="By the same filter, exact to 1,000"),
            more=serializers.BooleanField(help_text="There are more than `count`"),
        ),
        query=reads,
        operation_id="gates_list",
    )
    def get(self, request: Request) -> Response:
        """Oldest waiting first, read forwards: `previous` is null."""
        services.honour_deadlines()
        wanted = {"mine": self.query.get("mine", False), "status": self.query.get("status", "open")}
        after = read_cursor(self.query["cursor"], (datetime, int)).values if "cursor" in self.query else None
        found = inbox(self.principal, after=after, limit=self.query.get("page_size", PAGE_SIZE), **wanted)
        total, more = count(self.principal, **wanted)
        following = link(request, Cursor(found.next)) if found.next else None
        results = [gate_summary(gate) for gate in found.items]
        return Response({"results": results, "next": following, "previous": None, "count": total, "more": more})


class OneGate(Endpoint):
    """One gate."""

    @documented("Read a gate", answers=GateShape, refuses=(404,), operation_id="gates_read")
    def get(self, request: Request, gate_id: str) -> Response:
        """As it stands, its deadline honoured. Reading never answers."""
        gate = gate_for(self.principal, gate_at(self, gate_id).pk)
        return Response({"ok": True, **gate_summary(gate), "why_not": why_not(self.principal, gate), "decisions": _decisions(gate)})


class Answer(Endpoint):
    """The answer to one gate."""

    @documented("Answer a gate", answers=RunShape, body=AnswerBody, keyed=True, refuses=(403, 404, 409), operation_id="gates_answer")
    def post(self, request: Request, gate_id: str) -> Response:
        """The deciding answer wins; later ones get 409 with its winner and time."""
        gate = gate_at(self, gate_id)
        fields = with_source(self.body(AnswerBody))
        run_id = answer_gate(principal=self.principal, gate_id=gate.pk, key=self.idempotency_key(), channel="api", **fields)
        return Response(services.document_of(principal=self.principal, run_id=run_id))


class Respond(Endpoint):
    """The answer to what a run waits for."""

    @documented(
        "Answer a gate of a run, or perform its agent step",
        answers=RunShape,
        body=RespondBody,
        keyed=True,
        refuses=(403, 404, 409),
        operation_id="runs_respond",
    )
    def post(self, request: Request, run_id: str) -> Response:
        """An agent step takes exactly one of `structured` and `output`; an approval takes `answer`."""
        run = run_at(self, run_id)
        fields = with_source(self.body(RespondBody))
        respond(principal=self.principal, run_id=run.pk, key=self.idempotency_key(), channel="api", **{"answer": UNSET, **fields})
        return Response(services.document_of(principal=self.principal, run_id=run.pk))
