"""After a commit: ring the doorbell for work, and tell the sockets that a run changed. Losing either loses nothing."""

import logging

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.conf import settings
from django_q.tasks import async_task

logger = logging.getLogger(__name__)

CHANGES = "changes"
DRAIN = "runs.tasks.drain"


def announce(run_id: str, seq: int, *, ring: bool) -> None:
    """Ids only. The pulse repairs a lost ring; without Redis the web processes look for changes themselves."""
    if ring:
        ring_for(run_id)
    if settings.REDIS_URL:
        _tell_sockets(run_id, seq)


def ring_for(run_id: str) -> None:
    """Ask a worker to look for work of this run."""
    try:
        async_task(DRAIN, run_id)
    except Exception:
        logger.warning("the doorbell did not ring for run %s; the pulse will", run_id, exc_info=True)


def _tell_sockets(run_id: str, seq: int) -> None:
    layer = get_channel_layer()
    if layer is None:
        return
    try:
        async_to_sync(layer.group_send)(CHANGES, {"type": "run.changed", "id": run_id, "seq": seq})
    except Exception:
        logger.warning("sockets were not told that run %s changed", run_id, exc_info=True)
