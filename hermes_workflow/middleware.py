"""What every request passes first: the client's address behind proxies, the content security policy, static files."""

from collections.abc import Callable, Iterator

from csp.constants import SELF, UNSAFE_EVAL, UNSAFE_INLINE
from csp.middleware import CSPMiddleware, PolicyParts
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile

from hermes_workflow.core.errors import Malformed
from hermes_workflow.core.text import shorten
from hermes_workflow.http.errors import API, bad_request

ADMIN = "/admin/"


def forwarded_address(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Take the address the outermost trusted proxy saw; without proxies the header is a client's word and ignored."""
    proxies = settings.HERMES_TRUSTED_PROXIES

    def middleware(request: HttpRequest) -> HttpResponse:
        hops = [hop.strip() for hop in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",") if hop.strip()]
        if proxies and len(hops) >= proxies:
            request.META["REMOTE_ADDR"] = hops[-proxies]
        return get_response(request)

    return middleware


def no_nul(get_response: Callable[[HttpRequest], HttpResponseBase]) -> Callable[[HttpRequest], HttpResponseBase]:
    """A NUL is refused here, wherever a page or the database would meet it: no text of people holds one, and PostgreSQL takes none."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        for name, text in _given(request):
            if "\x00" in text:
                return bad_request(request, Malformed(f"{shorten(name)[1:-1]}: must hold no NUL character"))
        return get_response(request)

    return middleware


def _given(request: HttpRequest) -> Iterator[tuple[str, str]]:
    """The names and texts of query, cookies and form; the API reads its own bodies."""
    yield from request.COOKIES.items()
    forms = (request.GET,) if request.path.startswith(API) else (request.GET, request.POST)
    for form in forms:
        for name, values in form.lists():
            yield name, name
            yield from ((name, text) for text in values)


class ContentSecurityPolicy(CSPMiddleware):
    """No inline script or style; in the admin alone Alpine evaluates the expressions of attributes and styles are set inline."""

    def get_policy_parts(self, request: HttpRequest, response: HttpResponseBase, report_only: bool = False) -> PolicyParts:
        """The site's policy, loosened under `/admin/` only."""
        parts = super().get_policy_parts(request, response, report_only)
        if request.path.startswith(ADMIN) and not report_only:
            parts.replace = {**(parts.replace or {}), "script-src": [SELF, UNSAFE_EVAL], "style-src": [SELF, UNSAFE_INLINE]}
        return parts


class StaticFiles(WhiteNoiseMiddleware):
    """WhiteNoise, answering with the bytes: under ASGI Django would read its open file into memory anyway, and not close it."""

    @staticmethod
    def serve(static_file: StaticFile, request: HttpRequest) -> HttpResponse:
        """The file, or what its headers say instead (not modified, a range, a method that is not allowed)."""
        found = static_file.get_response(request.method, request.META)
        body = b""
        if found.file is not None:
            with found.file as file:
                body = file.read()
        response = HttpResponse(body, status=int(found.status))
        del response["Content-Type"]
        for name, value in found.headers:
            response[name] = value
        return response
