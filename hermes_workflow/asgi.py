"""The web process: pages and API over HTTP, and the sockets that say what changed."""

import os
from typing import Any

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hermes_workflow.settings")
pages = get_asgi_application()

# Django must be set up before anything that imports a model.
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.security.websocket import WebsocketDenier  # noqa: E402
from channels.sessions import SessionMiddlewareStack  # noqa: E402
from django.db import connections  # noqa: E402
from django.urls import path, re_path  # noqa: E402

from approvals.consumers import InboxSocket  # noqa: E402
from hermes_workflow.doorway import Doorway  # noqa: E402
from hermes_workflow.origins import SameOrigin  # noqa: E402
from runs.consumers import RunSocket, RunsSocket  # noqa: E402

websocket_urlpatterns: list[Any] = [
    path("ws/inbox/", InboxSocket.as_asgi()),
    path("ws/runs/", RunsSocket.as_asgi()),
    re_path(r"^ws/runs/(?P<run_id>[a-f0-9]{6,32})/$", RunSocket.as_asgi()),
    re_path("", WebsocketDenier.as_asgi()),
]


async def pages_then_close(scope: Any, receive: Any, send: Any) -> None:
    """Each request has its own thread, so a connection kept open after it would be lost, not reused."""
    async with ThreadSensitiveContext():
        try:
            await pages(scope, receive, send)
        finally:
            await sync_to_async(connections.close_all)()


application = ProtocolTypeRouter(
    {
        "http": Doorway(pages_then_close),
        "websocket": SameOrigin(SessionMiddlewareStack(URLRouter(websocket_urlpatterns))),
    }
)
