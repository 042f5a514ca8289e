"""Writing down an outcome although the database is away at that moment: a step of hours must not be performed again for that."""

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connection

from runs import heartbeat
from runs.journal import Lease

logger = logging.getLogger(__name__)

INSIST_FOR = 300.0  # seconds
PAUSE = 0.25  # seconds: who is back first keeps the step, and others look for it once a second

Written = TypeVar("Written")


def written(lease: Lease, write: Callable[[], Written]) -> Written:
    """What `write` gives, tried again while the database does not answer; the fence makes that safe. Raises the last error."""
    try:
        return write()
    except (OperationalError, InterfaceError) as error:
        if connection.in_atomic_block:
            raise
        logger.warning("the outcome of %s:%s waits for the database: %s", lease.run_id, lease.key, error)
    with heartbeat.holding(lease):
        return _again(write, time.monotonic() + INSIST_FOR)


def _again(write: Callable[[], Written], until: float) -> Written:
    while True:
        connection.close()
        time.sleep(PAUSE)
        try:
            return write()
        except (OperationalError, InterfaceError):
            if time.monotonic() >= until or heartbeat.ending():
                raise
