"""What each process does by itself while Redis or the database is away, without waiting and without giving up."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError

from hermes_workflow.rights import Principal
from runs import announcements, pulse
from runs.models import Run
from runs.sockets import SIGNED_OUT, ChangeSocket
from runs.standin import StandIn
from tests import builders as b
from tests.processes import eventually

AWAY = OperationalError("the database system is shutting down")


class Tried:
    """A queue that cannot be reached, and how often that was tried."""

    times = 0

    def __call__(self, *_: object) -> None:
        self.times += 1
        raise ConnectionError("nobody listens there")


class Socket(ChangeSocket):
    """A socket of somebody who signed out meanwhile; the database fails at the first question of each kind."""

    retry_after = check_every = 0.01

    def __init__(self) -> None:
        super().__init__()
        self.bell = asyncio.Event()
        self.sent: list[str] = []
        self.failing = 1

    async def frame(self) -> dict[str, Any]:
        self._answer()
        return {"id": "run", "seq": 7}

    async def send(self, text_data: str | None = None, bytes_data: bytes | None = None, close: bool = False) -> None:
        self.sent.append(text_data or "")

    async def close(self, code: Any = None, reason: Any = None) -> None:
        self.sent.append(str(code))

    async def _principal(self) -> Principal | None:
        self._answer()
        return None

    def _answer(self) -> None:
        self.failing -= 1
        if self.failing >= 0:
            raise AWAY


def sent_by(task_of: Callable[[Socket], Any]) -> list[str]:
    """What the socket sends first."""

    async def story() -> list[str]:
        socket = Socket()
        socket.bell.set()
        task = asyncio.create_task(task_of(socket))
        async with asyncio.timeout(5):
            while not socket.sent:
                await asyncio.sleep(0.005)
        task.cancel()
        return socket.sent

    return asyncio.run(story())


def test_a_push_that_could_not_be_read_is_made_when_the_database_is_back():
    assert sent_by(lambda socket: socket._push()) == ['{"type":"changed","id":"run","seq":7}']


def test_rights_that_could_not_be_read_are_read_again():
    assert sent_by(lambda socket: socket._keep_checking()) == [str(SIGNED_OUT)]


@pytest.mark.django_db(transaction=True)
def test_work_that_nobody_can_be_rung_for_is_done_by_a_stand_in(performer, monkeypatch):
    monkeypatch.setattr(announcements, "async_task", Tried())
    run_id = b.started(b.agent("draft"), b.output("told"))
    assert pulse.beat().unheard
    StandIn().work()
    eventually(lambda: Run.objects.get(pk=run_id).status == "done", within=10, what="the end of the run")
    assert not pulse.beat().unheard


@pytest.mark.django_db(transaction=True)
def test_a_redis_that_failed_is_not_waited_for_again_at_once(performer, monkeypatch, settings):
    tried = Tried()
    monkeypatch.setattr(announcements, "async_task", tried)
    monkeypatch.setattr(announcements, "_let_alone_until", 0.0)
    settings.REDIS_URL = "redis://localhost:1/0"
    for _ in range(3):
        b.started(b.agent("draft"))
    assert tried.times == 1


@pytest.mark.django_db
def test_one_failed_ring_of_the_database_says_nothing_about_the_next(performer, monkeypatch):
    tried = Tried()
    monkeypatch.setattr(announcements, "async_task", tried)
    for number in range(3):
        assert not announcements.ring_for(f"{number:032x}")
    assert tried.times == 3
