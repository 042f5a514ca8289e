"""Which pages may open a socket: our own, and those of trusted origins."""

from typing import Any
from urllib.parse import urlsplit

from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.http.request import split_domain_port, validate_host


class SameOrigin:
    """Refuses a handshake from elsewhere. Cookies ignore ports, so another port of the same host is elsewhere too."""

    def __init__(self, application: Any) -> None:
        self.application = application

    async def __call__(self, scope: Any, receive: Any, send: Any) -> Any:
        """Pass on or deny."""
        headers = [(name.lower(), value.decode("latin1")) for name, value in scope.get("headers", [])]
        chosen = self.application if is_own(headers) else WebsocketDenier()
        return await chosen(scope, receive, send)


def is_own(headers: list[tuple[bytes, str]]) -> bool:
    """Exactly one Origin, and it is the allowed host the browser talks to or a trusted origin; without one nobody vouches."""
    origins = [value for name, value in headers if name == b"origin"]
    hosts = [value for name, value in headers if name == b"host"]
    if len(origins) != 1 or len(hosts) != 1:
        return False
    return origins[0] in settings.CSRF_TRUSTED_ORIGINS or (is_allowed(hosts[0]) and names_host(origins[0], hosts[0]))


def is_allowed(host: str) -> bool:
    """Whether the site answers to this host name."""
    domain, _ = split_domain_port(host)
    return bool(domain) and validate_host(domain, settings.ALLOWED_HOSTS)


def names_host(origin: str, host: str) -> bool:
    """Whether the origin is a page served by `host`, port included."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and parts.netloc.lower() == host.lower()
