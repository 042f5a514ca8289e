"""What no address of the site takes is answered before Django reads it, which keeps a body of any size and trips over odd headers."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

from django.utils.http import parse_header_parameters

from hermes_workflow.core.errors import HermesError, Malformed, TooLarge

LARGEST_BODY = 4 * 1024 * 1024  # above what any address takes: a form with a text and a file of 1 MiB each
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


class Doorway:
    """Passes on requests that can be read, and of each no more than the largest body."""

    def __init__(self, application: Any) -> None:
        self.application = application

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Pass on or refuse. A body that grows too large ends for Django as if the client had left."""
        if fault := _fault(scope["headers"]):
            await _refuse(send, fault)
            return
        taken = 0

        async def bounded() -> dict[str, Any]:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            return message if taken <= LARGEST_BODY else {"type": "http.disconnect"}

        await self.application(scope, bounded, send)
        if taken > LARGEST_BODY:
            await _refuse(send, _too_large())


def _too_large() -> TooLarge:
    return TooLarge(f"the body must be at most {LARGEST_BODY:,} bytes")


def _fault(headers: list[tuple[bytes, bytes]]) -> HermesError | None:
    for name, value in headers:
        if name == b"content-length" and (not value.isdigit() or len(value) > 18 or int(value) > LARGEST_BODY):
            return _too_large()
        if name == b"content-type" and not _is_readable(value):
            return Malformed("Content-Type: cannot be read")
    return None


def _is_readable(content_type: bytes) -> bool:
    try:
        parse_header_parameters(content_type.decode("latin1"))
    except Exception:  # encodings, boundaries, lengths: whatever is wrong with it
        return False
    return True


async def _refuse(send: Send, refusal: HermesError) -> None:
    """Answer and hang up: what is still on its way is not worth reading."""
    body = json.dumps(refusal.document()).encode()
    headers = {
        "content-type": "application/json",
        "content-length": str(len(body)),
        "cache-control": "no-store",
        "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
        "cross-origin-opener-policy": "same-origin",
        "referrer-policy": "same-origin",
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "connection": "close",
    }
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": refusal.status, "headers": encoded})
    await send({"type": "http.response.body", "body": body})
