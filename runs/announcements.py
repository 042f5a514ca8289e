"""After a commit: ring the doorbell for work, and tell the sockets that a run changed. Losing either loses nothing."""

import logging
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.conf import settings
from django_q.tasks import async_task

logger = logging.getLogger(__name__)

CHANGES = "changes"
CHANGED, CARRIED = "run.changed", "redis.carries"
DRAIN = "runs.tasks.drain"
LET_ALONE = 2.0  # seconds: while Redis does not answer, nobody waits for it twice within this time

_let_alone_until = 0.0


def announce(run_id: str, seq: int, *, rings: int) -> None:
    """Ids only: one ring per step that waits for a worker, so that several begin at once. The pulse repairs a lost ring; without Redis
    the web processes look for changes themselves."""
    for _ in range(min(rings, settings.HERMES_WORKERS * settings.HERMES_STEPS_PER_WORKER)):
        if not ring_for(run_id):
            break
    _tell_sockets({"type": CHANGED, "id": run_id, "seq": seq})


def ring_for(run_id: str) -> bool:
    """Ask a worker to look for work of this run. Returns whether that was possible."""
    return _sent(lambda: async_task(DRAIN, run_id), f"the doorbell did not ring for run {run_id}; the pulse will")


def tell_pages(run_id: str) -> None:
    """Open pages of a run are behind although its history did not grow: its agent is writing."""
    _tell_sockets({"type": CHANGED, "id": run_id, "seq": 0})


def prove_carriage() -> None:
    """Let the web processes hear that Redis carries: while they do not, they look for changes themselves."""
    _tell_sockets({"type": CARRIED})


def _tell_sockets(message: Mapping[str, Any]) -> None:
    layer = get_channel_layer() if settings.REDIS_URL else None
    if layer is not None:
        _sent(lambda: async_to_sync(layer.group_send)(CHANGES, message), "Redis did not carry news to open pages")


def _sent(send: Callable[[], object], otherwise: str) -> bool:
    global _let_alone_until
    if settings.REDIS_URL and monotonic() < _let_alone_until:
        return False
    try:
        send()
    except Exception as error:
        _let_alone_until = monotonic() + LET_ALONE
        logger.warning("%s: %s: %s", otherwise, type(error).__name__, error)
        return False
    return True
