"""Whether the parts of the installation work: each leaves a sign now and then, and a wedged cluster of workers is replaced.

A killed worker can take the lock of the task queue with it: the cluster looks alive and takes nothing any more. Only a task that
does run proves the opposite, so the pulse sends one through the queue. Steps are performed beside the tasks: however long they take, a
canary is answered at once.
"""

import logging
import time
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import Error, connection
from django.utils import timezone
from django_q.tasks import async_task, queue_size
from redis.exceptions import RedisError

from hermes_workflow.lost_connections import give_up_after
from hermes_workflow.supervisor import ask_for_new_workers
from runs.models import Beacon

logger = logging.getLogger(__name__)

PULSE, WORKERS = "pulse", "workers"
CANARY = "runs.tasks.canary"
EVERY = timedelta(seconds=10)  # between two canaries
SILENT = timedelta(seconds=30)  # without a sign the workers are taken for wedged
STARTING = timedelta(seconds=60)  # new workers get this long: replacing those that are slow to start would go on for ever
PULSE_SILENT = timedelta(seconds=15)
SIGNED_FOR = 5.0  # seconds for which a process does not sign the same again

_signed: dict[str, float] = {}


@dataclass(frozen=True, slots=True)
class Health:
    """Which parts work."""

    database: bool
    workers: bool
    pulse: bool

    @property
    def ok(self) -> bool:
        """Whether all do."""
        return self.database and self.workers and self.pulse


def sign(name: str, now: datetime | None = None) -> None:
    """Leave a sign of life."""
    Beacon.objects.update_or_create(name=name, defaults={"at": now or timezone.now()})


def sign_again(name: str) -> None:
    """Leave a sign of life, unless this process did so a moment ago."""
    if time.monotonic() - _signed.get(name, -SIGNED_FOR) >= SIGNED_FOR:
        _signed[name] = time.monotonic()
        sign(name)


def seen(name: str) -> datetime | None:
    """The last sign of life."""
    return Beacon.objects.filter(name=name).values_list("at", flat=True).first()


def recent(name: str, now: datetime, silence: timedelta) -> bool:
    """Whether there was a sign of life within the last `silence`."""
    at = seen(name)
    return at is not None and now - at < silence


def check(now: datetime | None = None) -> Health:
    """What works now; a database that does not answer leaves the rest unknown, which counts as not working."""
    moment = now or timezone.now()
    try:
        return Health(True, recent(WORKERS, moment, SILENT), recent(PULSE, moment, PULSE_SILENT))
    except Error as error:
        connection.close()
        give_up_after(error)
        return Health(database=False, workers=False, pulse=False)


class Watch:
    """The pulse's look at itself and at the workers; `began` is since when these workers have had the chance to leave a sign."""

    def __init__(self, began: datetime) -> None:
        self.began = began
        self.next_look = began

    def look(self, now: datetime) -> None:
        """Every now and then: leave the pulse's sign, send a canary, and have silent workers replaced. Without Redis none can be sent,
        and silence proves nothing.
        """
        if now < self.next_look:
            return
        self.next_look = now + min(EVERY, PULSE_SILENT / 3)
        sign(PULSE, now)
        if recent(WORKERS, now, EVERY):
            return
        try:
            if queue_size() < settings.HERMES_WORKERS:
                async_task(CANARY)
        except RedisError:
            self.began = now
            return
        if self.wedged(now):
            self.replace(now)

    def wedged(self, now: datetime) -> bool:
        """Whether the workers took nothing for too long: those who worked already, or those who never began to."""
        at = seen(WORKERS)
        return now - at > SILENT if at and at > self.began else now - self.began > STARTING

    def replace(self, now: datetime) -> None:
        """Have the workers replaced, and give the new ones time to leave a sign."""
        self.began = now
        asked = ask_for_new_workers()
        logger.error("the workers take no task any more; %s", "replacing them" if asked else "restart them")
