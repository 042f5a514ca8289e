"""Inbound webhooks: a signed call starts a run, without a sign-in and without a token."""

import hashlib
from typing import Any

from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import SimpleRateThrottle

from hermes_workflow.core.documents import LIMIT
from hermes_workflow.core.errors import TooLarge
from hermes_workflow.http.endpoint import Endpoint
from hermes_workflow.http.errors import UnsupportedMediaType
from hermes_workflow.http.openapi import documented
from runs.calls import Call, take

TIMESTAMP, SIGNATURE, REQUEST_ID = "X-Webhook-Timestamp", "X-Webhook-Signature-V2", "X-Request-ID"
LONGEST_HEADER = 200
HEADERS = {
    TIMESTAMP: "The time in whole seconds since 1970, within 300 seconds of now",
    SIGNATURE: "Hex HMAC-SHA256 over `<timestamp>.<body>` with the webhook's secret",
    REQUEST_ID: "1 to 128 visible ASCII characters; the same id and body again give the first run",
}


class CallShape(serializers.Serializer):
    """What became of a call."""

    ok = serializers.BooleanField()
    status = serializers.ChoiceField(("accepted", "duplicate"))
    run_id = serializers.CharField()


class PerCaller(SimpleRateThrottle):
    """So many calls a minute of one webhook by one address, known or not: nobody uses up what others may send."""

    rate = "600/min"

    def get_cache_key(self, request: Request, view: Any) -> str:
        """Slug and address, in a few plain characters."""
        caller = f"{view.kwargs['slug']} {request.META.get('REMOTE_ADDR', '')}"
        return f"hook:{hashlib.sha256(caller.encode('utf-8', 'replace')).hexdigest()}"


class Hook(Endpoint):
    """One webhook."""

    authentication_classes = ()
    permission_classes = ()
    throttle_classes = (PerCaller,)

    @extend_schema(
        parameters=[
            OpenApiParameter(name, str, OpenApiParameter.HEADER, required=True, description=about) for name, about in HEADERS.items()
        ]
    )
    @documented(
        "Start a run by a signed call",
        answers=CallShape,
        status=202,
        also={200: CallShape},
        body=OpenApiTypes.OBJECT,
        refuses=(403, 404, 409, 429),
        operation_id="hooks_call",
    )
    def post(self, request: Request, slug: str) -> Response:
        """The body becomes the run's input. 202; the same request id and body again: 200 with `status` duplicate."""
        if request.content_type.partition(";")[0].strip().lower() != "application/json":
            raise UnsupportedMediaType
        body = request._request.body
        if len(body) > LIMIT:
            raise TooLarge(f"the body must be at most {LIMIT:,} bytes")
        run, new = take(_call(request, slug, body), now=timezone.now())
        status = "accepted" if new else "duplicate"
        return Response({"ok": True, "status": status, "run_id": run.pk}, status=202 if new else 200)


def _call(request: Request, slug: str, body: bytes) -> Call:
    timestamp, signature, request_id = (request.headers.get(name, "")[:LONGEST_HEADER] for name in HEADERS)
    return Call(slug=slug, timestamp=timestamp, signature=signature, request_id=request_id, body=body)
