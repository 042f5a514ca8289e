"""The crew: threads of one process that perform what is due, so that a step of hours keeps nobody but its own thread."""

import atexit
import logging
import time
from multiprocessing.util import Finalize
from threading import Lock, Thread

from django.conf import settings
from django.db import connections

from runs import heartbeat, outbox, stopping, worker

logger = logging.getLogger(__name__)

LEAVE_WITHIN = 6.0  # seconds: longer than a program's grace, shorter than the supervisor's
FIRST_TO_GO = 100  # the priority of a finalizer: before multiprocessing's own


class Shift(Thread):
    """One look at what is due; `done` is how many attempts it performed so far."""

    def __init__(self, run_id: str | None, seconds: float) -> None:
        super().__init__(name="shift", daemon=True)
        self.run_id, self.seconds, self.done = run_id, seconds, 0

    def run(self) -> None:
        """Perform what is due, then tell performers to stop what nobody wants any more."""
        try:
            self.done = worker.drain(run_id=self.run_id, seconds=self.seconds)
            stopping.stop_due()
        except Exception:
            logger.exception("a worker's thread failed; the next ring or the pulse tries again")
        finally:
            connections.close_all()


class Crew:
    """The shifts of a process, at most `most` at a time."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._shifts: list[Shift] = []
        self._guard = Lock()
        self._left = False

    def work(self, run_id: str | None = None, *, seconds: float = worker.DRAIN_SECONDS) -> Shift | None:
        """Begin a shift; None when all are at work, who look for more when they are done."""
        with self._guard:
            self._shifts = [shift for shift in self._shifts if shift.is_alive()]
            if self._left or len(self._shifts) >= self.most:
                return None
            self._shifts.append(Shift(run_id, seconds))
            self._shifts[-1].start()
            return self._shifts[-1]

    @property
    def idle(self) -> bool:
        """Whether nobody is at work."""
        return not any(shift.is_alive() for shift in self._shifts)

    def leave(self) -> None:
        """The process ends: stop every performer and hand back what is not finished, so that others take it at once."""
        with self._guard:
            self._left = True
        heartbeat.let_go()
        until = time.monotonic() + LEAVE_WITHIN
        for shift in self._shifts:
            shift.join(max(0.0, until - time.monotonic()))
        if self.idle:
            return
        try:
            outbox.hand_back(worker.name())
        except Exception:
            logger.exception("unfinished steps were not handed back; others take them over when their leases run out")


_crew: Crew | None = None


def of_this_process() -> Crew:
    """The crew of a worker process; it leaves when the process ends in order."""
    global _crew
    if _crew is None:
        _crew = Crew(settings.HERMES_STEPS_PER_WORKER)
        atexit.register(_crew.leave)
        Finalize(None, _crew.leave, exitpriority=FIRST_TO_GO)  # forked processes run no atexit
    return _crew
