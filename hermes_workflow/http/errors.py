"""Every refusal over HTTP in its one shape, whoever raised it; under `/api/` also what Django itself refuses."""

import sys
from collections.abc import Iterator
from math import ceil
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.views import csrf, defaults
from django.views.decorators.csrf import csrf_exempt
from rest_framework import exceptions
from rest_framework.response import Response

from hermes_workflow.core.errors import Forbidden, HermesError, Malformed, NotFound, TooLarge
from hermes_workflow.core.text import shorten
from hermes_workflow.lost_connections import give_up_after

API = "/api/"
SHOWN_FAULTS = 10
RETRY_AFTER = "5"  # seconds: a database that restarts is back by then


class Unauthenticated(HermesError):
    """Sign in, or send a valid token."""

    code = "unauthenticated"
    status = 401


class CsrfFailed(Forbidden):
    """The request does not carry the CSRF token of its session."""

    code = "csrf"


class MethodNotAllowed(HermesError):
    """This address does not take that method."""

    code = "method_not_allowed"
    status = 405


class NotAcceptable(HermesError):
    """No answer of this address has the type you accept."""

    code = "not_acceptable"
    status = 406


class UnsupportedMediaType(HermesError):
    """The body must be JSON, sent as application/json."""

    code = "unsupported_media_type"
    status = 415


class TooManyRequests(HermesError):
    """Too many requests; try again later."""

    code = "too_many_requests"
    status = 429


class Internal(HermesError):
    """This is our mistake; nothing was changed halfway. Report it with the time and the address."""

    code = "internal"
    status = 500


class Unavailable(HermesError):
    """The database cannot be reached or written now; nothing was changed. Try again."""

    code = "unavailable"
    status = 503


OF_DRF: tuple[tuple[type[exceptions.APIException], type[HermesError]], ...] = (
    (exceptions.NotAuthenticated, Unauthenticated),
    (exceptions.AuthenticationFailed, Unauthenticated),
    (exceptions.MethodNotAllowed, MethodNotAllowed),
    (exceptions.NotAcceptable, NotAcceptable),
    (exceptions.UnsupportedMediaType, UnsupportedMediaType),
    (exceptions.Throttled, TooManyRequests),
    (exceptions.PermissionDenied, Forbidden),
    (exceptions.NotFound, NotFound),
    (exceptions.ParseError, Malformed),
)
OF_DJANGO: tuple[tuple[type[Exception], type[HermesError]], ...] = (
    (RequestDataTooBig, TooLarge),
    (SuspiciousOperation, Malformed),
    (Http404, NotFound),
    (PermissionDenied, Forbidden),
    (OperationalError, Unavailable),
    (InterfaceError, Unavailable),
)


def handle(error: Exception, context: dict[str, Any]) -> Response | None:
    """What DRF calls for an exception in a view; None leaves it to the handler of 500."""
    refusal = refusal_of(error)
    if refusal is None:
        return None
    give_up_after(error)
    headers = headers_of(refusal)
    if challenge := getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = challenge
    if wait := getattr(error, "wait", None):
        headers["Retry-After"] = str(ceil(wait))
    if isinstance(error, exceptions.MethodNotAllowed):
        headers["Allow"] = ", ".join(context["view"].allowed_methods)
    return Response(refusal.document(), status=refusal.status, headers=headers)


def refusal_of(error: Exception) -> HermesError | None:
    """Any error that a request can cause, as ours; None for one that is our own mistake."""
    if isinstance(error, HermesError):
        return error
    if isinstance(error, exceptions.ValidationError):
        return Malformed("; ".join(list(faults(error.detail))[:SHOWN_FAULTS]))
    if isinstance(error, exceptions.PermissionDenied) and str(error.detail).startswith("CSRF"):
        return CsrfFailed(hint="send the CSRF cookie's value in the header X-CSRFToken, or use a token")
    if isinstance(error, exceptions.APIException):
        ours = next((mine for theirs, mine in OF_DRF if isinstance(error, theirs)), None)
        return ours(_said(error)) if ours else None
    return next((mine() for theirs, mine in OF_DJANGO if isinstance(error, theirs)), None)


def _said(error: exceptions.APIException) -> str:
    """DRF's own words where they name what is wrong; ours where they are general."""
    if isinstance(error, exceptions.ParseError | exceptions.MethodNotAllowed | exceptions.AuthenticationFailed):
        return shorten(str(error.detail), 200)[1:-1].replace('\\"', '"')
    return ""


def faults(detail: Any, place: str = "") -> Iterator[str]:
    """`field: what is wrong` for each fault of a body, in the order of its fields."""
    if isinstance(detail, dict):
        for key, inner in detail.items():
            yield from faults(inner, place if key == "non_field_errors" else f"{place}.{key}".lstrip("."))
    elif isinstance(detail, list):
        for inner in detail:
            yield from faults(inner, place)
    else:
        yield f"{place}: {detail}" if place else str(detail)


def headers_of(refusal: HermesError) -> dict[str, str]:
    """What is said beside the document: when to come back."""
    return {"Retry-After": RETRY_AFTER} if isinstance(refusal, Unavailable) else {}


def is_api(request: HttpRequest) -> bool:
    """Whether the answer must be JSON."""
    return request.path.startswith(API)


def answer(refusal: HermesError) -> JsonResponse:
    """The refusal as a response, outside of DRF."""
    return JsonResponse(refusal.document(), status=refusal.status, headers=headers_of(refusal))


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """400, 413: what Django refuses before a view is asked."""
    return answer(refusal_of(exception) or Malformed()) if is_api(request) else defaults.bad_request(request, exception)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """403."""
    return answer(Forbidden()) if is_api(request) else defaults.permission_denied(request, exception)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """404."""
    return answer(NotFound("there is no such address")) if is_api(request) else defaults.page_not_found(request, exception)


def server_error(request: HttpRequest) -> HttpResponseBase:
    """500: our own mistake, without a trace of it for the client. 503: the database does not answer, wherever that was noticed."""
    error = sys.exception()
    refusal = None
    if isinstance(error, OperationalError | InterfaceError):
        refusal = Unavailable()
        give_up_after(error)
    if is_api(request):
        return answer(refusal or Internal())
    if refusal:
        return HttpResponse(render_to_string("503.html"), status=refusal.status, headers=headers_of(refusal))
    return defaults.server_error(request)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponseBase:
    """403: a session's request without its CSRF token."""
    return answer(CsrfFailed()) if is_api(request) else csrf.csrf_failure(request, reason)


def locked_out(request: HttpRequest, response: HttpResponse | None = None, credentials: Any = None) -> HttpResponse:
    """429: too many wrong passwords for this name from this address; known and unknown names are told the same."""
    refusal = TooManyRequests("too many wrong passwords; try again in 15 minutes")
    return answer(refusal) if is_api(request) else render(request, "429.html", status=refusal.status)


@csrf_exempt
def no_such_address(request: HttpRequest) -> JsonResponse:
    """The end of the API's addresses, whatever the method."""
    return answer(NotFound("there is no such address"))
