"""A person's socket on the live server, as their browser would open it."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import websockets
from django.conf import settings
from django.test import Client

from hermes_workflow.rights import Principal

SOON = 2.0  # seconds in which a change must have reached an open page
QUIET = 1.2  # more than two looks of the watcher


def session_of(who: Principal) -> str:
    """The cookie of a new session of the person."""
    client = Client()
    client.force_login(who.user, backend="django.contrib.auth.backends.ModelBackend")
    return f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"


@asynccontextmanager
async def opened(url: str, path: str, cookie: str = "", **more: Any) -> AsyncIterator[Any]:
    """An open socket."""
    headers = {"Cookie": cookie} if cookie else {}
    async with websockets.connect(url.replace("http", "ws") + path, origin=url, additional_headers=headers, **more) as socket:
        yield socket


async def told(socket: Any, within: float = SOON) -> Any:
    """The next frame."""
    return json.loads(await asyncio.wait_for(socket.recv(), within))


async def quiet(socket: Any, seconds: float = QUIET) -> bool:
    """Whether nothing comes for a while."""
    try:
        await asyncio.wait_for(socket.recv(), seconds)
    except TimeoutError:
        return True
    return False


async def closed(socket: Any, within: float = 5.0) -> int:
    """The code that the server closes with; frames before it are read over."""
    try:
        async with asyncio.timeout(within):
            while True:
                await socket.recv()
    except websockets.exceptions.ConnectionClosed as end:
        return end.rcvd.code if end.rcvd else 0
