"""Sockets say that something changed, at once, to people who may see it, and to nobody else."""

import asyncio
import os
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import connection

from approvals.consumers import InboxSocket
from approvals.services import answer_gate
from hermes_workflow.asgi import application
from runs import sockets
from runs.models import Notice, Run
from runs.watching import newest_runs, state_of
from tests import builders as b
from tests.integration.approvals_builders import closed_profile, parked, reviewer
from tests.sockets import closed, opened, quiet, session_of, told

pytestmark = pytest.mark.django_db(transaction=True)

ELSEWHERE = """
import django; django.setup()
from django.contrib.auth.models import User
from hermes_workflow.rights import Principal
from runs.services import cancel_run
cancel_run(principal=Principal(User.objects.get(username="root")), run_id="{run_id}")
"""


def in_another_process(code: str) -> None:
    """Run code on the test's database in a process of its own."""
    database = connection.settings_dict
    url = f"sqlite:///{database['NAME']}"
    if connection.vendor == "postgresql":
        url = "postgres://{USER}:{PASSWORD}@{HOST}:{PORT}/{NAME}".format(**database)
    environment = {**os.environ, "DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "hermes_workflow.settings", "HERMES_PROCESS": "worker"}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, timeout=60)


def run(story: Callable[[], Any]) -> Any:
    return asyncio.run(asyncio.wait_for(story(), 60))


def test_a_change_by_another_process_reaches_an_open_page_within_two_seconds(live_server_url):
    run_id = parked().run_id
    cookie = session_of(reviewer("ann"))

    async def story() -> Any:
        async with opened(live_server_url, f"/ws/runs/{run_id}/", cookie) as socket:
            assert await quiet(socket)
            await asyncio.to_thread(in_another_process, ELSEWHERE.format(run_id=run_id))
            return await told(socket)

    assert run(story) == {"type": "changed", "id": run_id, "seq": Run.objects.get(pk=run_id).seq}


def test_a_page_that_is_behind_when_its_socket_opens_is_told_at_once(live_server_url):
    gate = parked()
    seq, cookie = gate.run.seq, session_of(reviewer("ann"))

    async def story() -> None:
        async with opened(live_server_url, f"/ws/runs/{gate.run_id}/?seq=1", cookie) as socket:
            assert (await told(socket))["seq"] == seq
        async with opened(live_server_url, f"/ws/runs/{gate.run_id}/?seq={seq}", cookie) as socket:
            assert await quiet(socket)
        async with opened(live_server_url, "/ws/inbox/?count=0&unread=0", cookie) as socket:
            assert await told(socket) == {"type": "changed", "id": "inbox", "seq": 1}
        async with opened(live_server_url, "/ws/inbox/?count=1&unread=0", cookie) as socket:
            assert await quiet(socket)

    run(story)


def test_the_inbox_hears_of_new_gates_votes_answers_and_notices(live_server_url):
    b.profile()
    ann, ben = reviewer("ann"), reviewer("ben")
    cookie = session_of(ann)

    def notice(run_id: str) -> None:
        Notice.objects.create(user=ann.user, run_id=run_id, source="x", title="Done", created_at=Run.objects.get(pk=run_id).created_at)

    async def story() -> None:
        async with opened(live_server_url, "/ws/inbox/", cookie) as socket:
            gate = await sync_to_async(parked)(quorum=2)
            assert (await told(socket))["type"] == "changed"
            await sync_to_async(answer_gate)(principal=ben, gate_id=gate.pk, answer="approve")
            assert (await told(socket))["type"] == "changed"
            await sync_to_async(answer_gate)(principal=ann, gate_id=gate.pk, answer="approve")
            assert (await told(socket))["type"] == "changed"
            await sync_to_async(notice)(gate.run_id)
            assert (await told(socket))["type"] == "changed"
            assert await quiet(socket)

    run(story)


def test_the_list_of_runs_hears_of_new_runs_and_of_changes(live_server_url):
    b.profile()
    ann = reviewer("ann")
    cookie = session_of(ann)

    async def story() -> None:
        async with opened(live_server_url, "/ws/runs/", cookie) as socket:
            gate = await sync_to_async(parked)()
            assert await told(socket) == {"type": "changed", "id": "runs", "seq": 1}
            await sync_to_async(answer_gate)(principal=ann, gate_id=gate.pk, answer="approve")
            assert (await told(socket))["seq"] == 2

    run(story)


def test_what_happens_in_a_foreign_profile_is_not_heard(live_server_url):
    b.profile()
    outsider, secret = session_of(reviewer("eve")), closed_profile(reviewer("ann"))

    def happens() -> str:
        design = b.saved(b.approval("review"), b.output("out"), name="hidden", profile=secret.name)
        return b.begun(design)

    async def story() -> None:
        async with opened(live_server_url, "/ws/inbox/", outsider) as inbox, opened(live_server_url, "/ws/runs/", outsider) as runs:
            run_id = await sync_to_async(happens)()
            assert await quiet(inbox)
            assert await quiet(runs, 0.1)
            async with opened(live_server_url, f"/ws/runs/{run_id}/", outsider) as socket:
                assert (await told(socket))["error"]["code"] == "not_found"
                assert await closed(socket) == sockets.NOT_FOUND

    run(story)


def test_without_a_session_a_socket_is_closed(live_server_url):
    async def story() -> int:
        async with opened(live_server_url, "/ws/inbox/") as socket:
            return await closed(socket)

    assert run(story) == sockets.SIGNED_OUT


@pytest.mark.parametrize(
    "frame", ['{"type":"group.send"}', '{"type":"__init__"}', '{"type":"run.changed"}', "[" * 5000, "NaN", "[]", "null", "{", b"\x00\xff"]
)
def test_a_frame_from_a_client_gets_an_error_and_the_socket_stays_up(live_server_url, frame):
    gate = parked()
    ann = reviewer("ann")
    cookie = session_of(ann)

    async def story() -> None:
        async with opened(live_server_url, f"/ws/runs/{gate.run_id}/", cookie) as socket:
            await socket.send(frame)
            answer = await told(socket)
            assert (answer["type"], answer["ok"], answer["error"]["code"]) == ("error", False, "malformed")
            await sync_to_async(answer_gate)(principal=ann, gate_id=gate.pk, answer="approve")
            assert (await told(socket))["type"] == "changed"

    run(story)


def test_a_flood_of_frames_is_cut_off(live_server_url):
    cookie = session_of(reviewer("ann"))

    async def story() -> int:
        async with opened(live_server_url, "/ws/inbox/", cookie) as socket:
            try:
                for _ in range(10_000):
                    await socket.send("{}")
            except Exception as end:
                assert "4429" in str(end)  # noqa: PT017
            return await closed(socket)

    assert run(story) == sockets.TOO_MANY


def test_a_socket_is_closed_once_and_says_nothing_more():
    sent: list[str] = []

    async def story() -> None:
        async def keep(message: Any) -> None:
            sent.append(message["type"])

        socket = InboxSocket()
        socket.base_send = keep
        socket.frames = deque([time.monotonic()] * sockets.FRAMES, sockets.FRAMES)
        for _ in range(3):
            await socket.receive("{}")
        await socket._say({"type": "changed"})

    run(story)
    assert sent == ["websocket.close"]


def test_a_large_frame_closes_the_socket(live_server_url):
    cookie = session_of(reviewer("ann"))

    async def story() -> int:
        async with opened(live_server_url, "/ws/inbox/", cookie) as socket:
            await socket.send("x" * (sockets.LARGEST_FRAME + 1))
            return await closed(socket)

    assert run(story) == sockets.TOO_BIG


def test_one_person_holds_so_many_sockets_and_the_oldest_goes(live_server_url, monkeypatch):
    monkeypatch.setattr(sockets, "SOCKETS_PER_USER", 3)
    cookie = session_of(reviewer("ann"))

    async def story() -> None:
        async with (
            opened(live_server_url, "/ws/inbox/", cookie) as first,
            opened(live_server_url, "/ws/inbox/", cookie) as second,
            opened(live_server_url, "/ws/inbox/", cookie),
            opened(live_server_url, "/ws/inbox/", cookie),
        ):
            assert await closed(first) == sockets.TOO_MANY
            assert await quiet(second, 0.3)

    run(story)


def lose_the_role(user: User) -> None:
    user.groups.clear()


def be_disabled(user: User) -> None:
    User.objects.filter(pk=user.pk).update(is_active=False)


def sign_out(user: User) -> None:
    Session.objects.all().delete()


@pytest.mark.parametrize(
    ("happens", "code"), [(lose_the_role, sockets.NOT_ALLOWED), (be_disabled, sockets.SIGNED_OUT), (sign_out, sockets.SIGNED_OUT)]
)
def test_rights_are_read_again_while_connected(live_server_url, monkeypatch, happens, code):
    monkeypatch.setattr(sockets.ChangeSocket, "check_every", 0.2)
    gate, ann = parked(), reviewer("ann")
    cookie = session_of(ann)

    async def story() -> int:
        async with opened(live_server_url, f"/ws/runs/{gate.run_id}/", cookie) as socket:
            assert await quiet(socket, 0.5)
            await sync_to_async(happens)(ann.user)
            return await closed(socket, 3)

    assert run(story) == code


def test_the_recheck_is_frequent_enough():
    assert sockets.ChangeSocket.check_every <= 60


async def test_a_client_that_reads_nothing_is_let_go(monkeypatch):
    monkeypatch.setattr(sockets.ChangeSocket, "send_within", 0.2)
    gate = await sync_to_async(parked)()
    cookie = await sync_to_async(lambda: session_of(reviewer("ann")))()
    sent: list[dict[str, Any]] = []
    accepted, stuck = asyncio.Event(), asyncio.Event()

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)
        accepted.set()
        if message["type"] == "websocket.send":
            await asyncio.sleep(60)
        if message["type"] == "websocket.close":
            stuck.set()

    async def receive() -> dict[str, Any]:
        if not sent:
            return {"type": "websocket.connect"}
        await asyncio.sleep(60)
        raise AssertionError

    scope = {
        "type": "websocket",
        "path": f"/ws/runs/{gate.run_id}/",
        "query_string": b"seq=1",
        "headers": [(b"host", b"testserver"), (b"origin", b"http://testserver"), (b"cookie", cookie.encode())],
        "subprotocols": [],
    }
    task = asyncio.create_task(application(scope, receive, send))
    await asyncio.wait_for(stuck.wait(), 5)
    task.cancel()
    assert sent[-1]["code"] == sockets.TOO_SLOW


def test_the_list_of_runs_is_told_when_it_is_behind(live_server_url):
    parked()
    ann = reviewer("ann")
    cookie, now = session_of(ann), state_of(newest_runs(ann))

    async def story() -> None:
        async with opened(live_server_url, "/ws/runs/?state=older", cookie) as socket:
            assert (await told(socket))["type"] == "changed"
        async with opened(live_server_url, f"/ws/runs/?state={now}", cookie) as socket:
            assert await quiet(socket)

    run(story)
