"""The heartbeat: one thread per process renews every lease held here, and tells a performer when its lease is gone."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread

from django.conf import settings
from django.db import connection

from runs import outbox
from runs.journal import Lease

logger = logging.getLogger(__name__)

QUICKEST = 0.2  # seconds between two beats at least
SLOWEST = 2.0  # seconds: a cancelled step learns of it within this time

_held: dict[int, tuple[Lease, Event]] = {}
_guard = Lock()
_thread: Thread | None = None
_ending = Event()


@contextmanager
def holding(lease: Lease) -> Iterator[Callable[[], bool]]:
    """Keep a lease alive inside the block. Yields a cheap question: has it been taken away?"""
    gone = Event()
    with _guard:
        if _ending.is_set():
            gone.set()
        _held[lease.id] = (lease, gone)
        _ensure_beating()
    try:
        yield gone.is_set
    finally:
        with _guard:
            _held.pop(lease.id, None)


def let_go() -> None:
    """This process ends: every performer here is told to stop, and one that begins yet at once."""
    with _guard:
        _ending.set()
        for _, gone in _held.values():
            gone.set()


def ending() -> bool:
    """Whether this process ends: what a performer was told to stop is then handed back, not failed."""
    return _ending.is_set()


def _ensure_beating() -> None:
    global _thread
    if _thread is None or not _thread.is_alive():  # a fork leaves the thread behind
        _thread = Thread(target=_beat, name="heartbeat", daemon=True)
        _thread.start()


def _beat() -> None:
    pause = Event()
    interval = max(QUICKEST, min(settings.HERMES_LEASE_SECONDS / 3, SLOWEST))
    idle = 0
    while not _has_ended(idle):
        pause.wait(interval)
        with _guard:
            held = list(_held.values())
        idle = 0 if held else idle + 1
        for lease, gone in held:
            _renew(lease, gone)
    connection.close()


def _has_ended(idle: int) -> bool:
    """Whether this thread is no longer needed. Said under the guard: a lease taken a moment later must find no thread that is leaving."""
    global _thread
    with _guard:
        if idle < 2 or _held:
            return False
        _thread = None
        return True


def _renew(lease: Lease, gone: Event) -> None:
    try:
        if not outbox.renew(lease):
            gone.set()
    except Exception:
        logger.warning("the lease of %s:%s was not renewed", lease.run_id, lease.key, exc_info=True)
        connection.close()
