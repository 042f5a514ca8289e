"""An attempt while it is at work: what its performer writes reaches the transcript, and open pages, once a second at most."""

import logging
import time
from collections.abc import Callable

from django.utils import timezone

from runs import transcripts
from runs.announcements import tell_pages
from runs.assignments import Performance
from runs.journal import Lease
from runs.models import Attempt, Message

logger = logging.getLogger(__name__)

EVERY = 1.0  # seconds between two writes of one attempt
ANSWER = 2  # the number of the message that is being written; the first is what was asked


class Live:
    """Hears one performer. Its writes are of no consequence: one that fails is left out, and the settled transcript replaces them all."""

    def __init__(self, lease: Lease, work: Performance) -> None:
        self._lease, self._work = lease, work
        self._pieces: list[str] = []
        self._size, self._session = 0, 0
        self._unsaved = self._gone = False
        self._wrote = float("-inf")

    def hear(self, piece: str) -> None:
        """Take in what was just written; cheap, and never raises."""
        if self._size < transcripts.CONTENT_LIMIT and piece:
            self._pieces.append(piece[: transcripts.CONTENT_LIMIT])
            self._size += len(piece)
            self._unsaved = True
        self._show()

    def watching(self, cancelled: Callable[[], bool]) -> Callable[[], bool]:
        """The question whether the work is still wanted; performers ask it often, also while the writer pauses."""

        def asked() -> bool:
            self._gone = cancelled()
            self._show()
            return self._gone

        return asked

    def _show(self) -> None:
        if not self._unsaved or self._gone or time.monotonic() - self._wrote < EVERY:
            return
        self._wrote, self._unsaved = time.monotonic(), False
        try:
            self._write()
        except Exception:
            logger.warning("what %s:%s writes is not shown", self._lease.run_id, self._lease.key, exc_info=True)

    def _write(self) -> None:
        """Only while the attempt is ours: what a worker wrote that lost its lease is nobody's."""
        lease, now = self._lease, timezone.now()
        if not Attempt.objects.filter(pk=lease.id, fence=lease.fence, status=Attempt.Status.LEASED).exists():
            self._gone = True
            return
        if self._session:
            text = "".join(self._pieces)[: transcripts.CONTENT_LIMIT]
            Message.objects.filter(session=self._session, session__ended_at=None, number=ANSWER).update(content=text, at=now)
        else:
            self._begin()
        tell_pages(lease.run_id)

    def _begin(self) -> None:
        """The first piece; an attempt that is taken up again, by its ref, goes on where it was."""
        now = timezone.now()
        if self._lease.ref:
            kept = Message.objects.filter(session__attempt=self._lease.id, number=ANSWER).values_list("content", flat=True).first()
            self._pieces.insert(0, kept or "")
        text = "".join(self._pieces)
        said = [("user", self._work.assignment.rendered, self._lease.claimed_at or now), ("assistant", text, now)]
        self._session = transcripts.write(transcripts.session_of(self._lease, self._work), said, update=("model",)).pk
