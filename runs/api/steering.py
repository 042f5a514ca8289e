"""Moving runs over the API: retry, cancel, signal. Each answers with the run document."""

from rest_framework.request import Request
from rest_framework.response import Response

from hermes_workflow.core.errors import Conflict
from hermes_workflow.http.endpoint import Endpoint
from hermes_workflow.http.openapi import documented
from runs import services
from runs.api.addresses import run_at
from runs.api.shapes import CancelBody, ResendBody, RetryBody, RunShape, SignalBody
from runs.resending import resend


class Retry(Endpoint):
    """A failed run goes on."""

    @documented("Retry a failed run", answers=RunShape, body=RetryBody, refuses=(403, 404, 409), operation_id="runs_retry")
    def post(self, request: Request, run_id: str) -> Response:
        """At the failed step; what succeeded is kept."""
        run = run_at(self, run_id)
        services.retry_run(principal=self.principal, run_id=run.pk, **self.body(RetryBody))
        return Response(services.document_of(principal=self.principal, run_id=run.pk))


class Cancel(Endpoint):
    """A run stops on purpose."""

    @documented("Cancel a run", answers=RunShape, body=CancelBody, refuses=(403, 404, 409), operation_id="runs_cancel")
    def post(self, request: Request, run_id: str) -> Response:
        """Whoever started it may, and operators."""
        run = run_at(self, run_id)
        services.cancel_run(principal=self.principal, run_id=run.pk, **self.body(CancelBody))
        return Response(services.document_of(principal=self.principal, run_id=run.pk))


class Resend(Endpoint):
    """A delivery is sent again."""

    @documented("Send a delivery again", answers=RunShape, body=ResendBody, keyed=True, refuses=(403, 404, 409), operation_id="runs_resend")
    def post(self, request: Request, run_id: str, node_id: str) -> Response:
        """Under the delivery's own key, so that a receiver can tell; the run stays as it is, and a new receipt follows."""
        run = run_at(self, run_id)
        resend(principal=self.principal, run_id=run.pk, node_id=node_id, key=self.idempotency_key(), **self.body(ResendBody))
        return Response(services.document_of(principal=self.principal, run_id=run.pk))


class Signal(Endpoint):
    """Something happened outside."""

    @documented("Signal a run", answers=RunShape, body=SignalBody, refuses=(403, 404, 409), operation_id="runs_signal")
    def post(self, request: Request, run_id: str) -> Response:
        """409 when the run waits for none: no step of a design does."""
        run_at(self, run_id)
        self.principal.require("operate")
        self.body(SignalBody)
        raise Conflict("this run waits for no signal")
