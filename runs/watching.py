"""What the sockets of this process watch: looked at every half second, so that other processes' changes reach open pages without Redis."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from hashlib import sha256
from time import monotonic
from weakref import WeakKeyDictionary

from channels.db import database_sync_to_async
from channels.layers import get_channel_layer
from django.conf import settings
from django.db import Error
from django.db.models import Count, Max, Sum

from hermes_workflow.lost_connections import give_up_after
from hermes_workflow.rights import Principal
from runs.announcements import CHANGED, CHANGES
from runs.models import Gate, GateAudience, Message, Notice, Run

logger = logging.getLogger(__name__)

EVERY = 0.5
EVERY_WITH_REDIS = 5.0  # Redis wakes the look; this is the net below it
TRUSTED = 2.0  # seconds since Redis was last heard; the pulse lets itself be heard each second
LONGEST_PAUSE = 30.0
GATHER = 0.05
CAP = 1000
NEWEST_RUNS = 50  # a page of the list of runs

Watch = tuple[str, str | int]
"""("run", id), ("runs", profile id), ("asked", audience), ("gates", profile id) or ("notices", user id)."""


def look(watches: Iterable[Watch]) -> dict[Watch, Hashable]:
    """A small state per watch. Of open gates: how many (capped), the newest, and how far their runs are, which tells votes."""
    asked = defaultdict(list)
    for kind, key in watches:
        asked[kind].append(key)
    runs = list(Run.objects.filter(id__in=asked["run"]).values_list("id", "seq", "status"))
    spoke = _spoke([run_id for run_id, _, status in runs if status == Run.Status.RUNNING])
    found: dict[Watch, Hashable] = {("run", run_id): (seq, spoke.get(run_id)) for run_id, seq, _ in runs}
    for audience in asked["asked"]:
        rows = GateAudience.objects.filter(audience=audience, open=True).order_by("-waiting_since", "-gate_id")[:CAP]
        found["asked", audience] = tuple(rows.aggregate(Count("id"), Max("gate_id"), Sum("gate__run__seq")).values())
    for profile in asked["gates"]:
        gates = Gate.objects.filter(profile_id=profile, status=Gate.Status.OPEN).order_by("-waiting_since", "-id")[:CAP]
        found["gates", profile] = tuple(gates.aggregate(Count("id"), Max("id"), Sum("run__seq")).values())
    for profile in asked["runs"]:
        newest = Run.objects.filter(profile_id=profile).order_by("-created_at", "-id")[:NEWEST_RUNS]
        found["runs", profile] = tuple(newest.aggregate(Max("created_at"), Sum("seq")).values())
    for user in asked["notices"]:
        unread = Notice.objects.filter(user_id=user, read_at=None)[:CAP]
        found["notices", user] = tuple(unread.aggregate(Count("id"), Max("id")).values())
    return found


def _spoke(run_ids: list[str]) -> dict[str, datetime]:
    """When an agent that is at work for a run was last heard."""
    rows = Message.objects.filter(session__attempt__run_id__in=run_ids, session__ended_at=None) if run_ids else Message.objects.none()
    return dict(rows.values_list("session__attempt__run_id").annotate(Max("at")))


def newest_runs(principal: Principal) -> set[Watch]:
    """What the list of runs is made of."""
    return {("runs", profile_id) for profile_id in principal.profile_ids} if principal.may("read") else set()


def state_of(watches: Iterable[Watch]) -> str:
    """What a page may hand to its socket, to be told when it is behind."""
    return sha256(repr(sorted(look(watches).items(), key=repr)).encode()).hexdigest()[:16]


class Watcher:
    """One per event loop. Looks only while somebody watches; one look serves all."""

    def __init__(self) -> None:
        self._watched: dict[Watch, set[asyncio.Event]] = defaultdict(set)
        self._seen: dict[Watch, Hashable] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._wake = asyncio.Event()
        self._heard = 0.0

    @property
    def is_looking(self) -> bool:
        """Whether somebody watches."""
        return bool(self._tasks)

    async def watch(self, watches: Iterable[Watch], bell: asyncio.Event) -> None:
        """From now on set `bell` when one of `watches` changes, and for nothing else."""
        wanted = set(watches)
        fresh = [watch for watch in wanted if watch not in self._seen]
        state = await database_sync_to_async(look)(fresh)
        for watch in fresh:
            self._seen.setdefault(watch, state.get(watch))
        for watch in wanted:
            self._watched[watch].add(bell)
        self._forget(bell, {watch for watch, bells in self._watched.items() if bell in bells} - wanted)
        if not self._tasks or any(task.done() for task in self._tasks):
            self._rest()
            self._tasks = [asyncio.create_task(self._look_again())]
            if settings.REDIS_URL:
                self._tasks.append(asyncio.create_task(self._listen()))

    def leave(self, bell: asyncio.Event) -> None:
        """Nobody listens to this bell any more."""
        self._forget(bell, {watch for watch, bells in self._watched.items() if bell in bells})
        if not self._watched:
            self._rest()

    def _rest(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._tasks = []

    def _forget(self, bell: asyncio.Event, watches: Iterable[Watch]) -> None:
        for watch in watches:
            self._watched[watch].discard(bell)
            if not self._watched[watch]:
                del self._watched[watch]
                self._seen.pop(watch, None)

    async def _look_again(self) -> None:
        looked = 0.0
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), EVERY)
                await asyncio.sleep(GATHER)
            if not self._wake.is_set() and monotonic() - looked < self._pause():
                continue
            self._wake.clear()
            looked = monotonic()
            try:
                self._compare(await database_sync_to_async(look)(list(self._watched)))
            except Exception as error:
                logger.warning("what changed could not be read; the next look tries again", exc_info=not isinstance(error, Error))
                give_up_after(error)

    def _pause(self) -> float:
        """Between two looks that nothing asked for: long only while Redis proves that it carries."""
        return EVERY_WITH_REDIS if monotonic() - self._heard < TRUSTED else EVERY

    def _compare(self, now: Mapping[Watch, Hashable]) -> None:
        for watch, bells in self._watched.items():
            if watch in self._seen and watch in now and self._seen[watch] != now[watch]:
                for bell in bells:
                    bell.set()
            self._seen[watch] = now.get(watch, self._seen.get(watch))

    async def _listen(self) -> None:
        """Until nobody watches any more, Redis or no Redis."""
        pause = EVERY
        while True:
            try:
                await self._hear()
            except Exception as error:
                logger.warning("Redis cannot be listened to: %s: %s", type(error).__name__, error)
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    async def _hear(self) -> None:
        layer = get_channel_layer()
        channel = await layer.new_channel()
        await layer.group_add(CHANGES, channel)
        try:
            while True:
                message = await layer.receive(channel)
                self._heard = monotonic()
                if message["type"] == CHANGED:
                    self._wake.set()
        finally:
            await layer.group_discard(CHANGES, channel)


_watchers: "WeakKeyDictionary[asyncio.AbstractEventLoop, Watcher]" = WeakKeyDictionary()


def watcher() -> Watcher:
    """The watcher of the running loop."""
    return _watchers.setdefault(asyncio.get_running_loop(), Watcher())
