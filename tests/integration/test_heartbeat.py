"""The heartbeat: a lease that is held is renewed, whenever it was taken."""

import threading
import time
from collections.abc import Iterator
from datetime import datetime

import pytest

from runs import heartbeat, outbox
from runs.journal import Lease
from runs.models import Attempt
from tests import builders as b

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def quick(settings: object) -> Iterator[None]:
    settings.HERMES_LEASE_SECONDS = 0.6
    yield
    if heartbeat._thread:
        heartbeat._thread.join(5)


def claimed() -> Lease:
    (lease,) = outbox.claim("me", run_id=b.started(b.agent("draft")))
    return lease


def until() -> datetime:
    found = Attempt.objects.get().lease_until
    assert found
    return found


def renewed(after: datetime, seconds: float = 3.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end and until() <= after:
        time.sleep(0.02)
    return until() > after


def test_a_lease_is_renewed_while_it_is_held_and_its_loss_is_told() -> None:
    lease = claimed()
    with heartbeat.holding(lease) as gone:
        assert renewed(until())
        Attempt.objects.update(fence=9)
        end = time.monotonic() + 3
        while not gone() and time.monotonic() < end:
            time.sleep(0.02)
        assert gone()


class Watched:
    """A lock that lets a test in each time the heartbeat has let go of it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.released = 0
        self.left = lambda count: None

    def __enter__(self) -> None:
        self.lock.acquire()

    def __exit__(self, *_: object) -> None:
        self.lock.release()
        if threading.current_thread().name == "heartbeat":
            self.released += 1
            self.left(self.released)


@pytest.mark.parametrize("release", range(1, 6))
def test_a_lease_taken_while_the_thread_is_about_to_leave_is_renewed_too(monkeypatch: pytest.MonkeyPatch, release: int) -> None:
    lease, guard, taken, moment = claimed(), Watched(), threading.Event(), threading.Event()

    def let_in(count: int) -> None:
        if count == release:
            moment.set()
            taken.wait(3)

    monkeypatch.setattr(heartbeat, "_guard", guard)
    with heartbeat.holding(lease):
        pass
    guard.left = let_in
    moment.wait(3)
    with heartbeat.holding(lease):
        before = until()
        taken.set()
        assert renewed(before)
