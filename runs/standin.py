"""Who works while no worker can be rung: a crew of the pulse's own process, as many as there would be workers."""

import logging

from django.conf import settings

from runs.crew import Crew

logger = logging.getLogger(__name__)

SHIFT = 5.0  # seconds after which a thread takes nothing new and waits to be asked again


class StandIn:
    """Redis only rings; while it is away, runs go on, slower than with all machines at work."""

    def __init__(self) -> None:
        self._crew = Crew(settings.HERMES_WORKERS)

    def work(self) -> None:
        """Add a thread, if there is room for one; it performs what is due."""
        if self._crew.idle:
            logger.warning("workers cannot be rung; the pulse works in their place")
        self._crew.work(seconds=SHIFT)

    def leave(self) -> None:
        """The pulse ends, and hands back what is not finished."""
        self._crew.leave()
