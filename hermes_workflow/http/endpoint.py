"""The base of every API view: who asks, and what was asked."""

import re
from collections.abc import Sequence
from typing import Any, ClassVar

from django.http import HttpRequest
from django.urls import URLPattern, path
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from hermes_workflow.core.errors import Malformed
from hermes_workflow.http.bodies import Body
from hermes_workflow.http.queries import Parameter, read_query
from hermes_workflow.rights import Principal, principal_of

KEY = re.compile(r"[\x21-\x7e]{1,255}\Z")
KEY_HEADER = "Idempotency-Key"
LONGEST_TYPE = 500


class Endpoint(APIView):
    """One address. `reads` are the query parameters of its GET; no other method takes any."""

    reads: ClassVar[Sequence[Parameter]] = ()
    query: dict[str, Any]

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Request:
        """A body sent in chunks has no length until it has been received."""
        if "HTTP_TRANSFER_ENCODING" in request.META and not request.META.get("CONTENT_LENGTH"):
            request.META["CONTENT_LENGTH"] = str(len(request.body))
        return super().initialize_request(request, *args, **kwargs)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Who asks comes first, then whether the address can be read."""
        super().initial(request, *args, **kwargs)
        if len(request.content_type) > LONGEST_TYPE:
            raise Malformed(f"Content-Type: at most {LONGEST_TYPE} characters")
        self.query = read_query(request.query_params, self.reads if request.method in ("GET", "HEAD") else ())

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        """What one person may see is kept by no cache."""
        response.headers.setdefault("Cache-Control", "no-store")
        return super().finalize_response(request, response, *args, **kwargs)

    @property
    def principal(self) -> Principal:
        """Who asks."""
        if not hasattr(self, "_principal"):
            self._principal = principal_of(self.request)
        return self._principal

    def body(self, shape: type[Body], given: dict[str, Any] | None = None) -> dict[str, Any]:
        """The fields of the request, or of `given`. Raises ValidationError, Malformed, TooLarge."""
        serializer = shape(data=self.request.data if given is None else given)
        serializer.is_valid(raise_exception=True)
        return dict(serializer.validated_data)

    def idempotency_key(self) -> str | None:
        """The header, if it was sent. Raises Malformed."""
        key = self.request.headers.get(KEY_HEADER)
        if key is not None and not KEY.match(key):
            raise Malformed(f"{KEY_HEADER}: must be 1 to 255 visible ASCII characters")
        return key


def route(pattern: str, view: type[APIView], name: str) -> list[URLPattern]:
    """An address with its slash and without: a redirect would lose the body of a POST."""
    handler = view.as_view()
    return [path(pattern, handler, name=name), path(pattern.removesuffix("/"), handler)]
