"""What every request passes first: the client's address behind proxies, and the content security policy."""

from collections.abc import Callable

from csp.constants import SELF, UNSAFE_EVAL, UNSAFE_INLINE
from csp.middleware import CSPMiddleware, PolicyParts
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase

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


class ContentSecurityPolicy(CSPMiddleware):
    """No inline script or style anywhere but in the admin, whose Alpine components evaluate expressions in attributes."""

    def get_policy_parts(self, request: HttpRequest, response: HttpResponseBase, report_only: bool = False) -> PolicyParts:
        """The site's policy, loosened under `/admin/` only."""
        parts = super().get_policy_parts(request, response, report_only)
        if request.path.startswith(ADMIN) and not report_only:
            parts.replace = {**(parts.replace or {}), "script-src": [SELF, UNSAFE_EVAL, UNSAFE_INLINE], "style-src": [SELF, UNSAFE_INLINE]}
        return parts
