"""Starting a run over the API: on a JSON input, or on a text file."""

import io
import re
from typing import IO, Any

from django.core.exceptions import TooManyFieldsSent, TooManyFilesSent
from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import MemoryFileUploadHandler, TemporaryFileUploadHandler
from django.http.multipartparser import MultiPartParser, MultiPartParserError
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response

from hermes_workflow.api.designs import design_named
from hermes_workflow.core.documents import read_json
from hermes_workflow.core.errors import Malformed, TooLarge
from hermes_workflow.http.bodies import JSONBody
from hermes_workflow.http.endpoint import Endpoint
from hermes_workflow.http.openapi import documented
from hermes_workflow.uploads import Upload, keep, read_upload
from runs.api.shapes import RunShape, StartBody, UploadBody
from runs.services import document_of, start_run

FORM_LIMIT = 2 * 1024 * 1024 + 64 * 1024  # a file and an input of 1 MiB each, and what is around them
FLAGS = {"true": True, "false": False}
BOUNDARY = re.compile(r"""boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))(?:\s*;|\s*$)""", re.IGNORECASE)


class UploadForm(BaseParser):
    """multipart/form-data: one `file`, and the fields of a start as text (`input` as JSON)."""

    media_type = "multipart/form-data"

    def parse(self, stream: IO[bytes], media_type: str | None = None, parser_context: Any = None) -> dict[str, Any]:
        """The fields, the file as an Upload under `file`. Raises Malformed, TooLarge."""
        data = stream.read(FORM_LIMIT + 1)
        if len(data) > FORM_LIMIT:
            raise TooLarge(f"the form must be at most {FORM_LIMIT:,} bytes")
        fields, files = _parsed(data, media_type or "", (parser_context or {})["request"])
        found: dict[str, Any] = {name: _single(name, values) for name, values in fields.lists()}
        if "input" in found:
            found["input"] = read_json(found["input"])
        if found.get("confirm") in FLAGS:
            found["confirm"] = FLAGS[found["confirm"]]
        for name, values in files.lists():
            found[name] = _upload(_single(name, values))
        return found


def _parsed(data: bytes, media_type: str, request: Request) -> tuple[Any, Any]:
    boundary = BOUNDARY.search(media_type)
    if boundary is None:
        raise Malformed("the form must name a boundary of 1 to 70 characters")
    # Django takes a form that was cut off for a whole one.
    if not data.rstrip(b"\r\n").endswith(f"--{boundary[1] or boundary[2]}--".encode()):
        raise Malformed("the form ends before its last boundary")
    meta = {"CONTENT_TYPE": media_type, "CONTENT_LENGTH": str(len(data))}
    handlers = [MemoryFileUploadHandler(request._request), TemporaryFileUploadHandler(request._request)]
    try:
        return MultiPartParser(meta, io.BytesIO(data), handlers, "utf-8").parse()
    except (TooManyFieldsSent, TooManyFilesSent):
        raise TooLarge("the form has too many parts") from None
    except MultiPartParserError as error:
        raise Malformed(f"the form cannot be read: {error}") from None


def _single(name: str, values: list[Any]) -> Any:
    if len(values) != 1:
        raise Malformed(f"{name[:80]!r}: given {len(values)} times")
    return values[0]


def _upload(file: UploadedFile) -> Upload:
    return read_upload(file.name or "", file.read())


class Start(Endpoint):
    """Runs of one design."""

    parser_classes = (JSONBody, UploadForm)

    @documented(
        "Start a run",
        answers=RunShape,
        status=201,
        also={200: RunShape},
        body={"application/json": StartBody, "multipart/form-data": UploadBody},
        keyed=True,
        refuses=(403, 404, 409),
        operation_id="runs_start",
    )
    def post(self, request: Request, name: str) -> Response:
        """Advanced as far as it goes without a performer: 201; the same key and body again: 200."""
        design = design_named(self, name)
        given: dict[str, Any] = dict(request.data)
        upload = given.pop("file") if isinstance(given.get("file"), Upload) else None
        fields = self.body(StartBody, given)
        if upload:
            fields["input"] = _with_file(fields.get("input", {}), upload)
        run, new = start_run(principal=self.principal, design=design, origin="api", key=self.idempotency_key(), **fields)
        if upload:
            keep(principal=self.principal, upload=upload)
        return Response(document_of(principal=self.principal, run_id=run.pk), status=201 if new else 200)


def _with_file(given: dict[str, Any], upload: Upload) -> dict[str, Any]:
    if twice := [name for name in upload.input if name in given]:
        raise Malformed(f"input.{twice[0]}: comes from the file; send one of them")
    return {**given, **upload.input}
