"""`manage.py pulse`: looks each second at what is due."""

import logging
import signal
import time
from threading import Event
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db import Error, close_old_connections
from django.utils import timezone

from runs import health, pulse
from runs.standin import StandIn

logger = logging.getLogger(__name__)

PERIOD = 1.0  # seconds


class Command(BaseCommand):
    """A beat that fails is logged, and the next one tries again."""

    help = "Honour deadlines and repair lost rings, once a second until stopped."

    def add_arguments(self, parser: CommandParser) -> None:
        """`--once` for cron and for a look by hand."""
        parser.add_argument("--once", action="store_true", help="beat once, and fail if the beat fails")

    def handle(self, *args: Any, once: bool, **options: Any) -> None:
        """Until SIGTERM or Ctrl-C."""
        if once:
            pulse.beat()
            return
        stopping = Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopping.set())
        watch, standin = health.Watch(timezone.now()), StandIn()
        while not stopping.wait(to_the_next()):
            beat(watch, standin)
        standin.leave()


def to_the_next() -> float:
    """Seconds to the next full second: what a schedule starts at a full minute is not late by the pause before a look."""
    return PERIOD - time.time() % PERIOD


def beat(watch: health.Watch, standin: StandIn) -> None:
    """One beat that never ends the loop; a broken database connection is replaced before the next."""
    try:
        if pulse.beat().unheard:
            standin.work()
        watch.look(timezone.now())
    except Exception as error:
        logger.error("a beat of the pulse failed; the next one tries again: %s", error, exc_info=not isinstance(error, Error))
        close_old_connections()
