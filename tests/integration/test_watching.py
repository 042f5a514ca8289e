"""The watcher: one look serves all sockets of a process, Redis wakes it, and it rests when nobody watches."""

import asyncio
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.utils import timezone

from runs import announcements
from runs.models import Notice, Run
from runs.watching import Watcher, look
from tests.conftest import require
from tests.integration.approvals_builders import parked

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def redis_url() -> Iterator[str]:
    """A Redis of this test's own."""
    program = shutil.which("redis-server")
    require("Redis", program)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = subprocess.Popen([str(program), "--port", str(port), "--save", "", "--appendonly", "no"], stdout=subprocess.DEVNULL)
    try:
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                time.sleep(0.05)
        yield f"redis://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(5)


def touch(run_id: str) -> None:
    Run.objects.filter(pk=run_id).update(seq=99)


async def rings(bell: asyncio.Event, within: float) -> bool:
    try:
        await asyncio.wait_for(bell.wait(), within)
    except TimeoutError:
        return False
    bell.clear()
    return True


async def test_each_bell_rings_for_what_it_watches_and_nothing_else():
    one, other = await sync_to_async(parked)(), await sync_to_async(parked)(name="other")
    watcher, mine, theirs = Watcher(), asyncio.Event(), asyncio.Event()
    await watcher.watch({("run", one.run_id)}, mine)
    await watcher.watch({("run", other.run_id)}, theirs)
    await sync_to_async(touch)(one.run_id)
    assert await rings(mine, 2)
    assert not theirs.is_set()
    watcher.leave(mine)
    watcher.leave(theirs)
    assert not watcher.is_looking


async def test_another_watch_list_replaces_the_first():
    one, other = await sync_to_async(parked)(), await sync_to_async(parked)(name="other")
    watcher, bell = Watcher(), asyncio.Event()
    await watcher.watch({("run", one.run_id)}, bell)
    await watcher.watch({("run", other.run_id)}, bell)
    await sync_to_async(touch)(one.run_id)
    assert not await rings(bell, 1.2)
    await sync_to_async(touch)(other.run_id)
    assert await rings(bell, 2)
    watcher.leave(bell)


async def test_a_look_that_fails_is_made_again(monkeypatch, caplog):
    gate = await sync_to_async(parked)()
    watcher, bell = Watcher(), asyncio.Event()
    await watcher.watch({("run", gate.run_id)}, bell)
    faults = iter([RuntimeError("the database is away")])

    def looked(watches):
        for fault in faults:
            raise fault
        return look(watches)

    monkeypatch.setattr("runs.watching.look", looked)
    await sync_to_async(touch)(gate.run_id)
    assert await rings(bell, 3)
    watcher.leave(bell)
    assert "the next look tries again" in caplog.text


async def test_redis_wakes_the_look_long_before_its_net(redis_url, settings):
    gate = await sync_to_async(parked)()
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer", "CONFIG": {"hosts": [redis_url]}}}
    settings.REDIS_URL = redis_url
    watcher, bell = Watcher(), asyncio.Event()
    await watcher.watch({("run", gate.run_id)}, bell)
    await asyncio.sleep(0.3)
    await sync_to_async(touch)(gate.run_id)
    await sync_to_async(announcements.tell_pages)(gate.run_id)
    assert await rings(bell, 1.5)
    watcher.leave(bell)


def test_a_look_asks_once_per_kind_and_key(django_assert_num_queries):
    gate = parked()
    user = User.objects.create(username="x")
    Notice.objects.create(user=user, run_id=gate.run_id, source="x", title="x", created_at=timezone.now())
    watches = {("run", gate.run_id), ("gates", gate.profile_id), ("asked", "user:1"), ("runs", gate.profile_id), ("notices", user.pk)}
    with django_assert_num_queries(5):
        found = look(watches)
    assert found["run", gate.run_id] == (gate.run.seq, None)
    assert found["notices", user.pk] == (1, Notice.objects.get().pk)
