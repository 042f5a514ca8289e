"""Designs over the API."""

from rest_framework.request import Request
from rest_framework.response import Response

from hermes_workflow.api.shapes import (
    DesignBody,
    DesignShape,
    DesignSummaryShape,
    DocumentBody,
    VerdictShape,
    VersionShape,
    design_document,
    design_summary,
    version_document,
)
from hermes_workflow.core.errors import Malformed, NotFound
from hermes_workflow.http.endpoint import Endpoint
from hermes_workflow.http.openapi import documented, page_of
from hermes_workflow.http.paging import page
from hermes_workflow.http.queries import PAGING, text
from hermes_workflow.models import Design
from hermes_workflow.rights import Asking
from hermes_workflow.selectors import design_for, designs_for, versions_of
from hermes_workflow.services import SLUG, check_document, delete_design, save_design


def design_named(asking: Asking, name: str) -> Design:
    """The design of an address. Raises NotFound, also for what can be no name."""
    if not SLUG.match(name):
        raise NotFound("there is no such design")
    return design_for(asking.principal, name)


class Designs(Endpoint):
    """All designs of one's profiles."""

    reads = (*PAGING, text("profile", "Designs of this profile"))

    @documented("List designs", answers=page_of(DesignSummaryShape), query=reads, operation_id="designs_list")
    def get(self, request: Request) -> Response:
        """By name."""
        rows = designs_for(self.principal).exclude(current=None).defer("current__document", "current__viewport")
        if "profile" in self.query:
            rows = rows.filter(profile__name=self.query["profile"])
        return Response(page(request, self.query, rows, ("slug", "id"), design_summary))

    @documented("Create a design", answers=DesignShape, status=201, body=DesignBody, refuses=(403, 409, 422), operation_id="designs_create")
    def post(self, request: Request) -> Response:
        """The first version of a new design."""
        fields = self.body(DesignBody)
        if "base_version" in fields:
            raise Malformed("base_version: a new design has none")
        version = save_design(principal=self.principal, create_only=True, **{"name": "", **fields})
        return Response(design_document(version.design), status=201)


class OneDesign(Endpoint):
    """One design by its name."""

    @documented("Read a design", answers=DesignShape, refuses=(404,), operation_id="designs_read")
    def get(self, request: Request, name: str) -> Response:
        """The design with its current document."""
        return Response(design_document(design_named(self, name)))

    @documented(
        "Save a design",
        answers=DesignShape,
        also={201: DesignShape},
        body=DesignBody,
        refuses=(403, 404, 409, 422),
        operation_id="designs_save",
    )
    def put(self, request: Request, name: str) -> Response:
        """A new version, or a new design: 201."""
        fields = self.body(DesignBody)
        if fields.setdefault("name", name) != name:
            raise Malformed("name: must be the name in the address; a design keeps its name")
        version = save_design(principal=self.principal, **fields)
        return Response(design_document(version.design), status=201 if version.number == 1 else 200)

    @documented("Delete a design", answers=None, status=204, refuses=(403, 404), operation_id="designs_delete")
    def delete(self, request: Request, name: str) -> Response:
        """Its runs and their history stay."""
        delete_design(principal=self.principal, design=design_named(self, name))
        return Response(status=204)


class Versions(Endpoint):
    """The history of a design."""

    reads = PAGING

    @documented(
        "List the versions of a design", answers=page_of(VersionShape), query=reads, refuses=(404,), operation_id="designs_versions"
    )
    def get(self, request: Request, name: str) -> Response:
        """Newest first."""
        design = design_named(self, name)
        rows = versions_of(design).defer("document", "viewport")
        return Response(page(request, self.query, rows, ("-number",), lambda version: version_document(design, version)))


class Validate(Endpoint):
    """Checking without saving."""

    @documented("Check a workflow", answers=VerdictShape, body=DocumentBody, refuses=(403, 422), operation_id="designs_validate")
    def post(self, request: Request) -> Response:
        """Every defect at once; nothing is saved."""
        self.principal.require("read")
        fields = self.body(DocumentBody)
        defects = check_document(self.principal, fields["dialect"], fields["document"])
        return Response({"ok": not defects, "defects": defects})
