"""What every socket does: it says that something changed and nothing else, to people who may still see it, at their pace."""

import asyncio
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from types import SimpleNamespace
from typing import Any
from weakref import WeakKeyDictionary

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.contrib.auth import get_user
from django.db import Error
from django.utils.module_loading import import_string

from hermes_workflow.core.documents import read_json
from hermes_workflow.core.errors import HermesError, Malformed
from hermes_workflow.fields import dumps
from hermes_workflow.rights import Principal
from runs.watching import Watch, watcher

LARGEST_FRAME = 65_536
FRAMES, FRAMES_SECONDS = 50, 5.0
SOCKETS_PER_USER = 30

SIGNED_OUT, NOT_ALLOWED, NOT_FOUND, TOO_MANY, TOO_BIG, TOO_SLOW, TRY_LATER = 4401, 4403, 4404, 4429, 1009, 1013, 1013

_open: "WeakKeyDictionary[asyncio.AbstractEventLoop, dict[int, deque[ChangeSocket]]]" = WeakKeyDictionary()


class ChangeSocket(AsyncWebsocketConsumer):
    """Pushes `{"type": "changed", "id", "seq"}`; several changes while the client is slow become one. A client has nothing to say here."""

    check_every = 20.0
    send_within = 10.0
    retry_after = 1.0  # while the database is away
    closing = False

    async def watches(self, principal: Principal) -> set[Watch]:
        """What rings, as far as the person may see it. Raises NotFound."""
        raise NotImplementedError

    async def page_is_behind(self, principal: Principal) -> bool:
        """Whether something changed between the page and its socket."""
        raise NotImplementedError

    async def frame(self) -> Mapping[str, Any]:
        """`{"id", "seq"}` of the next push."""
        raise NotImplementedError

    async def connect(self) -> None:
        """Watch, then accept: an open socket misses nothing. A refusal accepts first, so that its reason can be read."""
        self.bell = asyncio.Event()
        self.frames: deque[float] = deque(maxlen=FRAMES)
        self.tasks: list[asyncio.Task[None]] = []
        principal = await self._principal()
        try:
            if principal is None:
                await self.accept()
                return await self.close(SIGNED_OUT)
            await watcher().watch(await self.watches(principal), self.bell)
            if await self.page_is_behind(principal):
                self.bell.set()
        except HermesError as refusal:
            await self.accept()
            await self._say({"type": "error", **refusal.document()})
            return await self.close(NOT_FOUND)
        except Error:
            await self.accept()
            return await self.close(TRY_LATER)
        await self.accept()
        self._user_id = principal.id
        await self._make_room()
        self.tasks = [asyncio.create_task(self._push()), asyncio.create_task(self._keep_checking())]
        return None

    async def close(self, code: int | bool | None = None, reason: str | None = None) -> None:
        """Once, whatever still comes in or was to be said."""
        if not self.closing:
            self.closing = True
            await super().close(code, reason)

    async def disconnect(self, code: int) -> None:
        """Forget everything about this socket."""
        watcher().leave(self.bell)
        for task in self.tasks:
            task.cancel()
        mine = _open.get(asyncio.get_running_loop(), {}).get(getattr(self, "_user_id", 0))
        if mine and self in mine:
            mine.remove(self)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Nothing is asked for over this socket; whoever sends much of it is cut off."""
        now = time.monotonic()
        self.frames.append(now)
        if len(self.frames) == FRAMES and now - self.frames[0] < FRAMES_SECONDS:
            await self.close(TOO_MANY)
        elif len(bytes_data or (text_data or "").encode("utf-8", "replace")) > LARGEST_FRAME:
            await self.close(TOO_BIG)
        else:
            await self._say(_complaint(text_data))

    async def _principal(self) -> Principal | None:
        """The person of the session as it is now; None once they signed out, were disabled, or the session is gone."""
        key = getattr(self.scope.get("session"), "session_key", None)
        return await database_sync_to_async(_signed_in)(key) if key else None

    async def _make_room(self) -> None:
        everyone = _open.setdefault(asyncio.get_running_loop(), {})
        mine = everyone.setdefault(self._user_id, deque())
        mine.append(self)
        while len(mine) > SOCKETS_PER_USER:
            await mine.popleft().close(TOO_MANY)

    async def _push(self) -> None:
        while True:
            await self.bell.wait()
            self.bell.clear()
            try:
                frame = await self.frame()
            except Error:
                self.bell.set()
                await asyncio.sleep(self.retry_after)
            else:
                await self._say({"type": "changed", **frame})

    async def _keep_checking(self) -> None:
        """Rights are read again, so that a removed role, a disabled account or a sign-out ends what may be seen."""
        pause = self.check_every
        while True:
            await asyncio.sleep(pause)
            pause = self.check_every
            try:
                principal = await self._principal()
                if principal is None:
                    return await self.close(SIGNED_OUT)
                await watcher().watch(await self.watches(principal), self.bell)
            except HermesError:
                return await self.close(NOT_ALLOWED)
            except Error:
                pause = self.retry_after

    async def _say(self, frame: Mapping[str, Any]) -> None:
        """Send within a bound: a client that does not read is let go, and nothing piles up for it. A closed socket says nothing."""
        if self.closing:
            return
        try:
            await asyncio.wait_for(self.send(dumps(frame)), self.send_within)
        except TimeoutError:
            watcher().leave(self.bell)
            with suppress(TimeoutError):
                await asyncio.wait_for(self.close(TOO_SLOW), self.send_within)


def _signed_in(session_key: str) -> Principal | None:
    session = import_string(f"{settings.SESSION_ENGINE}.SessionStore")(session_key)
    user = get_user(SimpleNamespace(session=session))  # type: ignore[arg-type]
    return Principal(user) if user.is_authenticated else None


def _complaint(text: str | None) -> dict[str, Any]:
    """Why a frame was not taken."""
    try:
        if text is None:
            raise Malformed("frames are JSON text")
        sent = read_json(text)
        if not isinstance(sent, dict):
            raise Malformed("a frame is an object")
        raise Malformed("this socket only tells what changed; it takes no frames")
    except HermesError as refusal:
        return {"type": "error", **refusal.document()}
