"""Reading runs over the API; reading honours deadlines."""

from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from approvals.receipts import receipt_of
from hermes_workflow.http.endpoint import Endpoint
from hermes_workflow.http.openapi import documented, page_of
from hermes_workflow.http.paging import page
from hermes_workflow.http.queries import PAGING, choice, moment, text
from runs import services
from runs.api.addresses import run_at
from runs.api.shapes import EventShape, ReceiptShape, RunShape, RunSummaryShape, SessionShape, event_document, session_document
from runs.documents import summary
from runs.models import Run
from runs.selectors import events_of, runs_for, sessions_of
from runs.values import output_value

FILTERS = {"status": "status", "name": "design__slug", "origin": "origin", "since": "created_at__gte", "until": "created_at__lt"}


class Runs(Endpoint):
    """Runs of every origin."""

    reads = (
        *PAGING,
        choice("status", "Runs that stand there", Run.Status.values),
        text("name", "Runs of this design"),
        text("origin", "Runs started from there: api, page, chat, schedule, hook"),
        moment("since", "Runs started then or later"),
        moment("until", "Runs started before"),
    )

    @documented("List runs", answers=page_of(RunSummaryShape), query=reads, operation_id="runs_list")
    def get(self, request: Request) -> Response:
        """Newest first."""
        services.honour_deadlines()
        return Response(page(request, self.query, self._chosen(), ("-created_at", "-id"), summary))

    def _chosen(self) -> QuerySet[Run]:
        chosen = {FILTERS[name]: value for name, value in self.query.items() if name in FILTERS}
        return runs_for(self.principal).filter(**chosen).defer("version__document", "version__viewport")


class OneRun(Endpoint):
    """One run."""

    @documented("Read a run", answers=RunShape, refuses=(404,), operation_id="runs_read")
    def get(self, request: Request, run_id: str) -> Response:
        """The run document."""
        return Response(services.document_of(principal=self.principal, run_id=run_at(self, run_id).pk))


class Events(Endpoint):
    """The history of a run."""

    reads = PAGING

    @documented("Read the history of a run", answers=page_of(EventShape), query=reads, refuses=(404,), operation_id="runs_events")
    def get(self, request: Request, run_id: str) -> Response:
        """Oldest first."""
        rows = events_of(run_at(self, run_id).pk)
        return Response(page(request, self.query, rows.defer("body"), ("seq",), event_document))


class Receipt(Endpoint):
    """The receipt of a run."""

    @documented("Read the receipt of a run", answers=ReceiptShape, refuses=(404,), operation_id="runs_receipt")
    def get(self, request: Request, run_id: str) -> Response:
        """Who did what and when; contents only as digests."""
        return Response(receipt_of(principal=self.principal, run_id=run_at(self, run_id).pk))


class Sessions(Endpoint):
    """The transcripts of a run."""

    reads = PAGING

    @documented("Read the transcripts of a run", answers=page_of(SessionShape), query=reads, refuses=(404,), operation_id="runs_sessions")
    def get(self, request: Request, run_id: str) -> Response:
        """One for each attempt of an agent step, oldest first."""
        rows = sessions_of(run_at(self, run_id).pk)
        return Response(page(request, self.query, rows, ("started_at", "id"), session_document))


class Output(Endpoint):
    """The output of one node."""

    @documented("Read the output of one node", answers={"description": "Any JSON value"}, refuses=(404,), operation_id="runs_output")
    def get(self, request: Request, run_id: str, node_id: str) -> Response:
        """The value itself, whatever its size."""
        return Response(output_value(principal=self.principal, run_id=run_at(self, run_id).pk, node_id=node_id))
