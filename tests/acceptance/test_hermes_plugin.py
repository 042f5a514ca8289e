"""The plugin for Hermes Agents, loaded by something that knows nothing but tools and commands, against the running server."""

import importlib.util
import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from approvals.codes import new_code
from approvals.models import ChatIdentity, Decision
from hermes_workflow.models import Token
from hermes_workflow.rights import OPERATOR, REVIEWER, Principal
from runs import assignments
from tests import builders as b
from tests.fakes import ScriptedPerformer, failed
from tests.integration import approvals_builders as a

pytestmark = pytest.mark.django_db(transaction=True)

FOLDER = Path(__file__).parents[2] / "docs" / "examples" / "hermes-plugin"


@dataclass
class Agent:
    """All that a plugin sees of its host."""

    tools: dict[str, dict[str, Any]] = field(default_factory=dict)
    commands: dict[str, dict[str, Any]] = field(default_factory=dict)

    def register_tool(self, name: str, toolset: str, schema: dict[str, Any], handler: Callable[..., str]) -> None:
        self.tools[name] = {"toolset": toolset, "schema": schema, "handler": handler}

    def register_command(self, name: str, handler: Callable[[str], str], description: str, args_hint: str) -> None:
        self.commands[name] = {"handler": handler, "description": description, "args_hint": args_hint}

    def tool(self, name: str, /, **params: Any) -> Any:
        found = self.tools[f"workflow_design_{name}"]
        Draft202012Validator(found["schema"]["parameters"]).validate(params)
        return json.loads(found["handler"](params, task_id="t-1"))

    def typed(self, text: str) -> str:
        return self.commands["workflow"]["handler"](text)


def loaded() -> Agent:
    spec = importlib.util.spec_from_file_location("hermes_workflow_plugin", FOLDER / "__init__.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    agent = Agent()
    module.register(agent)
    return agent


@pytest.fixture
def performer(monkeypatch: pytest.MonkeyPatch) -> ScriptedPerformer:
    scripted = ScriptedPerformer()
    monkeypatch.setitem(assignments.PERFORMERS, b.SCRIPTED, scripted)
    return scripted


@pytest.fixture
def set_up(live_server_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bot's token in the environment, as the host would prompt for it."""
    b.profile()
    _, secret = Token.objects.create(a.bot().user, name="agent", bot=True, scopes=["read", "start", "perform", "relay", "design"])
    monkeypatch.setenv("HERMES_WORKFLOW_URL", live_server_url)
    monkeypatch.setenv("HERMES_WORKFLOW_TOKEN", secret)


@pytest.fixture
def ann(monkeypatch: pytest.MonkeyPatch) -> Principal:
    """The person who types, in her chat."""
    for name, value in {"PLATFORM": "telegram", "USER_ID": "8812", "CHAT_ID": "-100", "MESSAGE_ID": "1"}.items():
        monkeypatch.setenv(f"HERMES_SESSION_{name}", value)
    return b.person("ann", REVIEWER, OPERATOR)


def test_the_manifest_names_what_the_plugin_reads() -> None:
    manifest = yaml.safe_load((FOLDER / "plugin.yaml").read_text())
    named = {one["name"] for one in (*manifest["requires_env"], *manifest["optional_env"])}
    assert named == set(re.findall(r"HERMES_WORKFLOW_[A-Z]+", (FOLDER / "__init__.py").read_text()))


def test_a_design_is_saved_run_answered_from_chat_and_retried(
    set_up: None, ann: Principal, performer: ScriptedPerformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = loaded()
    assert len(agent.tools) == 9
    assert {one["toolset"] for one in agent.tools.values()} == {"workflow"}
    document = b.design(b.agent("draft"), b.approval("review"), b.agent("polish", retries=0), b.output("out"))
    assert agent.tool("validate", document=document)["ok"] is True
    assert agent.tool("save", name="letter", document=document)["version"] == 1
    run = agent.tool("run", name="letter", input={"text": "Dear"})
    performer.does("polish", failed())
    b.work(run["run_id"])
    parked = agent.tool("runs", run_id=run["run_id"])
    assert parked["status"] == "awaiting_approval"

    decided = agent.tool("respond", run_id=run["run_id"], node_id="review", answer="approve", digest=parked["pending"]["digest"])
    assert "never decides" in decided["error"]["msg"]
    short = run["run_id"][:8]
    assert "belongs to nobody here yet" in agent.typed(f"answer {short} approve")
    code, _ = new_code(principal=ann)
    assert "speaks for ann" in agent.typed(f"link {code}")
    shown = agent.typed(f"status {short}")
    line = next(line for line in shown.splitlines() if line.startswith(f"/workflow answer {short} approve #"))
    monkeypatch.setenv("HERMES_SESSION_MESSAGE_ID", "2")
    assert agent.typed(line.removeprefix("/workflow ")).startswith("Recorded: approve for review.")
    decision = Decision.objects.get()
    assert (decision.person, decision.by.username, decision.message_id) == (ann.user, "robot", "-100:2")

    b.work(run["run_id"])
    assert "Failed at polish" in agent.typed(f"status {short}")
    assert agent.tool("run", retry=run["run_id"])["error"]["code"] == "forbidden"
    assert agent.typed(f"run retry {short}").startswith("Retried.")
    b.work(run["run_id"])
    assert agent.tool("runs", run_id=run["run_id"])["status"] == "done"


def test_an_agent_performs_what_waits_for_it(set_up: None) -> None:
    agent = loaded()
    b.saved(b.agent("draft"), b.output("out"), name="asks")
    run = agent.tool("run", name="asks", perform="caller")
    assert run["pending"]["prompt"] == "do draft"
    assert agent.tool("respond", run_id=run["run_id"], node_id="draft", structured={"words": 0})["status"] == "done"


def test_a_model_says_nothing_in_the_name_of_a_person(set_up: None, ann: Principal) -> None:
    agent = loaded()
    assert "source" not in agent.tools["workflow_design_respond"]["schema"]["parameters"]["properties"]
    gate = a.parked()
    a.linked(ann, "8812")
    forged = {"channel": "telegram", "external_id": "8812", "message_id": "9"}
    params = {"run_id": gate.run_id, "node_id": "review", "answer": "approve", "digest": gate.digest, "source": forged}
    said = json.loads(agent.tools["workflow_design_respond"]["handler"](params))
    assert "never decides" in said["error"]["msg"]
    assert not Decision.objects.exists()


def test_an_agent_of_one_person_names_the_account_itself(set_up: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERMES_WORKFLOW_ACCOUNT", "cli:ann")
    agent, ann = loaded(), b.person("ann", REVIEWER)
    code, _ = new_code(principal=ann)
    agent.typed(f"link {code}")
    assert str(ChatIdentity.objects.get()) == "cli:ann"
    monkeypatch.delenv("HERMES_WORKFLOW_ACCOUNT")
    assert agent.typed("list") == "There is no workflow that you may see."


@pytest.mark.parametrize("raw", ["", None, "nothing", 'run "', "answer", "status ../../x", "run x \ud800", "x" * 300_000])
def test_whatever_is_typed_gets_an_answer_in_text(set_up: None, ann: Principal, raw: Any) -> None:
    said = loaded().typed(raw)
    assert said
    assert "Traceback" not in said


@pytest.mark.parametrize("params", [None, {}, {"name": "x\ud800"}, {"document": []}, {"unknown": 1}])
def test_whatever_a_model_sends_gets_an_answer_in_json(set_up: None, params: Any) -> None:
    for found in loaded().tools.values():
        assert "ok" in json.loads(found["handler"](params))


class Misbehaving(BaseHTTPRequestHandler):
    """A server that does not answer as ours does."""

    def do_GET(self) -> None:
        body, status = self.server.says  # type: ignore[attr-defined]
        self.send_response(status)
        if status == 302:
            self.send_header("Location", f"http://127.0.0.1:{self.server.server_port}/stolen")
        self.server.seen.append(self.path)  # type: ignore[attr-defined]
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def misbehaving(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    server = HTTPServer(("127.0.0.1", 0), Misbehaving)
    server.seen = []  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("HERMES_WORKFLOW_URL", f"http://127.0.0.1:{server.server_port}/")
    monkeypatch.setenv("HERMES_WORKFLOW_TOKEN", "secret-token")
    yield server
    server.shutdown()
    server.server_close()
    thread.join(5)


@pytest.mark.parametrize("says", [(b"", 200), (b"<html>", 502), (b"[]", 200), (b"{}", 500), (b"\xff", 200), (b"null", 403), (b"", 302)])
def test_a_server_that_answers_nonsense_is_away(misbehaving: Any, says: tuple[bytes, int]) -> None:
    misbehaving.says = says
    agent = loaded()
    assert agent.tools == {}
    assert agent.typed("list")
    assert "secret-token" not in agent.typed("list")
    assert "/stolen" not in misbehaving.seen


@pytest.mark.parametrize("url", ["", "file:///etc/passwd", "nonsense", "http://"])
def test_without_a_server_the_command_says_so_and_nothing_else_is_registered(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("HERMES_WORKFLOW_URL", url)
    agent = loaded()
    assert agent.tools == {}
    assert "cannot be reached" in agent.typed("list")


def test_a_port_where_nobody_listens_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    monkeypatch.setenv("HERMES_WORKFLOW_URL", f"http://127.0.0.1:{port}")
    assert "cannot be reached" in loaded().typed("runs")
