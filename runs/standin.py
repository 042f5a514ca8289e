"""Who works while no worker can be rung: threads of the pulse's own process, as many as there would be workers."""

import logging
from threading import Thread

from django.conf import settings
from django.db import connections

from runs import worker

logger = logging.getLogger(__name__)

SHIFT = 5.0  # seconds after which a thread takes nothing new and waits to be asked again


class StandIn:
    """Redis only rings; while it is away, runs go on, slower than with all machines at work."""

    def __init__(self) -> None:
        self._threads: list[Thread] = []

    def work(self) -> None:
        """Add a thread, if there is room for one; it performs what is due."""
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        if not self._threads:
            logger.warning("workers cannot be rung; the pulse works in their place")
        if len(self._threads) < settings.HERMES_WORKERS:
            self._threads.append(Thread(target=_shift, name="stand-in", daemon=True))
            self._threads[-1].start()


def _shift() -> None:
    try:
        worker.drain(seconds=SHIFT)
    except Exception:
        logger.exception("the stand-in failed; the next pulse asks again")
    finally:
        connections.close_all()
