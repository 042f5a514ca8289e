"""Each weekday at six in Berlin: an endpoint, an agent and a coding agent's CLI work, a person answers from chat, a channel gets it."""

import json
import stat
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import requests
from django.test import Client

from hermes_workflow import hooks
from hermes_workflow.models import Channel, Profile, Schedule, Token
from hermes_workflow.services import save_design
from runs import slots, worker
from runs.models import Run
from tests import builders as b
from tests.hermes_server import KEY, hermes_server
from tests.model_server import model_server, says

pytestmark = pytest.mark.django_db(transaction=True)

BERLIN = ZoneInfo("Europe/Berlin")
WITHIN = 30.0
CLAUDE = """#!{python}
import json, sys
prompt = sys.stdin.read()
assert "three risks" in prompt, prompt
print(json.dumps({{"type": "result", "subtype": "success", "is_error": False, "session_id": "3f1c", "result": "All 12 checks pass.",
                   "usage": {{"input_tokens": 7, "output_tokens": 4}}}}))
"""


@contextmanager
def gateway() -> Iterator[tuple[str, list[tuple[str, dict[str, str], bytes]]]]:
    """Where a Hermes Agent takes messages for its chats."""
    taken: list[tuple[str, dict[str, str], bytes]] = []

    class Door(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            taken.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
            answer = json.dumps({"status": "delivered"}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Door) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", taken
        finally:
            server.shutdown()
            thread.join(5)


class Bot:
    """A chat bot: a token and plain HTTP."""

    def __init__(self, url: str, secret: str) -> None:
        self.url, self.headers = url, {"Authorization": f"Token {secret}"}
        self.messages = 0

    def hears(self, text: str, *, status: int = 200) -> Any:
        """Ann typed this in her chat."""
        self.messages += 1
        source = {"channel": "telegram", "external_id": "4711", "message_id": str(self.messages)}
        answer = requests.post(f"{self.url}/api/chat/command/", json={"text": text, "source": source}, headers=self.headers, timeout=10)
        assert answer.status_code == status, answer.text
        return answer.json()


def work_until(run: Run, *statuses: str) -> None:
    """What workers and pulse do, until the run stands there."""
    until = time.monotonic() + WITHIN
    while run.status not in statuses:
        assert run.status != "failed", run.error
        assert time.monotonic() < until, f"still {run.status}"
        worker.drain(run_id=run.pk)
        time.sleep(0.02)
        run.refresh_from_db()


@pytest.fixture
def claude(tmp_path: Path) -> Path:
    program = tmp_path / "claude"
    program.write_text(CLAUDE.format(python=sys.executable))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


def the_design() -> dict[str, Any]:
    return b.design(
        b.trigger("six", cron="0 6 * * 1-5", timezone="Europe/Berlin"),
        b.agent("gather", "six", prompt="Gather what happened", profile="writer"),
        b.agent("judge", "gather", prompt="Name the three risks", profile="agent"),
        b.agent("verify", "judge", prompt="Run the checks for the three risks", profile="coder"),
        b.approval("send", "verify", question="Send the report?", assignees=["user:ann"]),
        b.output("post", "send", deliver="channel", target="ops:standup"),
    )


def test_the_weekday_report(live_server_url: str, claude: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("WRITER_KEY", "sk-writer-0123456789")
    monkeypatch.setenv("HERMES_TEST_AGENT_KEY", KEY)
    monkeypatch.setenv("OPS_SECRET", "webhook-secret-0123456789")
    with model_server() as model, hermes_server() as agent, gateway() as (ops, taken):
        model.does(says("Two ", "incidents."))
        agent.plays({"status": "running"}, {"status": "completed", "output": "Risk: the disk fills up."})
        b.profile("default", Profile.Performer.NONE)
        endpoint = {"base_url": model.url, "api_key_env": "WRITER_KEY"}
        b.profile("writer", Profile.Performer.OPENAI, settings=endpoint, model="big-2", is_open=True)
        b.profile("agent", Profile.Performer.HERMES, settings=agent.settings(), is_open=True)
        b.profile("coder", Profile.Performer.SUBPROCESS, settings={"template": "claude-code", "argv": [str(claude)]}, is_open=True)
        Channel.objects.create(platform="ops", kind=Channel.Kind.HERMES, url=ops, secret_env="OPS_SECRET", chats=["standup"])
        ann = b.person("ann", "designer", "reviewer")
        _, secret = Token.objects.create(b.person("robot", "bot").user, name="chat", bot=True, scopes=["read", "relay"])
        bot = Bot(live_server_url, secret)

        save_design(principal=ann, name="report", document=the_design())
        schedule = Schedule.objects.get()
        slot = schedule.next_at.astimezone(BERLIN)
        assert (slot.hour, slot.minute) == (6, 0)
        assert slot.weekday() < 5

        assert slots.start_due(schedule.next_at, limit=10) == 0, "nobody allowed it to send yet"
        schedule.refresh_from_db()
        assert "ops:standup" in schedule.problem
        _, secret = Token.objects.create(ann.user, name="ann")
        allowed = requests.patch(
            f"{live_server_url}/api/schedules/{schedule.pk}/",
            json={"may_send": True},
            headers={"Authorization": f"Token {secret}"},
            timeout=10,
        )
        assert allowed.json()["problem"] == ""
        schedule.refresh_from_db()
        assert slots.start_due(schedule.next_at, limit=10) == 1
        assert slots.start_due(schedule.next_at, limit=10) == 0

        run = Run.objects.get()
        assert (run.origin, run.schedule, run.started_by) == ("schedule", schedule, ann.user)
        work_until(run, "awaiting_approval")
        assert b.document(run.pk)["attempts"] == {"gather": 1, "judge": 1, "verify": 1}
        assert model.seen[0].headers["authorization"] == "Bearer sk-writer-0123456789"
        assert len(agent.runs) == 1

        hint = bot.hears(f"/workflow answer {run.pk[:8]} approve", status=403)
        link_as(ann, hint["link"]["url"])

        shown = bot.hears(f"/workflow status {run.pk[:8]}")["text"]
        line = next(line for line in shown.splitlines() if "answer" in line and "approve" in line)
        answered = bot.hears(line[line.index("/workflow") :].strip())
        assert "approve" in answered["text"]
        work_until(run, "done")

    document = b.document(run.pk)
    assert [(one["target"], one["ok"]) for one in document["deliveries"]] == [("ops:standup", True)]
    (place, headers, body) = taken[0]
    assert place == "/webhooks/standup"
    assert headers["x-webhook-signature-v2"] == hooks.signature("webhook-secret-0123456789", headers["x-webhook-timestamp"], body)
    assert "All 12 checks pass." in body.decode()
    assert len(taken) == 1


def link_as(who: Any, path: str) -> None:
    """Ann opens the address while signed in, and confirms."""
    browser = Client()
    browser.force_login(who.user)
    page = browser.get(path)
    assert browser.post("/account/link/", {"code": page.context["code"]}).status_code == 302
