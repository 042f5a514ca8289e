"""Claude Code and Codex perform steps: called as they want to be, understood as they speak, never credited with what they did not say.

The programs here are stand-ins that take the same words and print the same lines.
"""

import json
import os
import stat
import sys
from pathlib import Path

import pytest

from hermes_workflow.core.errors import Malformed
from hermes_workflow.core.failures import HINTS
from hermes_workflow.models import Profile
from runs.models import Session
from runs.seams import Assignment, Failed, Outcome, Performed
from runs.seams.program import Program
from runs.seams.subprocess import SubprocessPerformer
from tests import builders as b

SCHEMA = {"type": "object", "properties": {"risks": {"type": "integer"}}, "required": ["risks"]}
PROMPT = "Sum up the contract of Ann and Bob"
RESULT = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "duration_ms": 3210,
    "num_turns": 2,
    "result": "Two risks.",
    "session_id": "9a1f7c1e-0000-4000-8000-1234567890ab",
    "total_cost_usd": 0.0123,
    "usage": {"input_tokens": 12, "cache_read_input_tokens": 900, "output_tokens": 5, "service_tier": "standard"},
    "modelUsage": {"claude-big-4": {"inputTokens": 12}},
    "permission_denials": [],
    "uuid": "b",
}
THREAD = {"type": "thread.started", "thread_id": "0199a213-81c0-7800-8aa1-bbab2a035a53"}
REASONING = {"type": "item.completed", "item": {"id": "item_0", "type": "reasoning", "text": "hm"}}
MESSAGE = {"type": "item.completed", "item": {"id": "item_3", "type": "agent_message", "text": "Two risks."}}
TURN = {"type": "turn.completed", "usage": {"input_tokens": 24763, "cached_input_tokens": 24448, "output_tokens": 122}}
CODEX = [THREAD, {"type": "turn.started"}, REASONING, MESSAGE, TURN]
STAND_IN = """#!{python} -IS
import json, os, sys
seen = {{"argv": sys.argv[1:], "stdin": sys.stdin.read(), "cwd": os.getcwd(), "env": dict(os.environ)}}
open({seen!r}, "w").write(json.dumps(seen))
sys.stderr.write({stderr!r})
sys.stdout.buffer.write({stdout!r})
sys.exit({code})
"""


class Agent:
    """A stand-in for one agent's program."""

    def __init__(self, name: str, place: Path) -> None:
        self.name, self.place = name, place
        self.program = place / ("claude" if name == "claude-code" else "codex")
        self.settings: dict = {"template": name, "argv": [str(self.program)]}

    def prints(self, *said: object, raw: bytes = b"", code: int = 0, stderr: str = "") -> None:
        """What it prints, one JSON value a line."""
        stdout = raw or b"".join(json.dumps(one).encode() + b"\n" for one in said)
        text = STAND_IN.format(python=sys.executable, seen=str(self.place / "seen"), stdout=stdout, stderr=stderr, code=code)
        self.program.write_text(text)
        self.program.chmod(self.program.stat().st_mode | stat.S_IXUSR)

    def answers(self, text: str = "Two risks.") -> None:
        """A whole answer in this agent's own format."""
        if self.name == "claude-code":
            self.prints(RESULT | {"result": text})
        else:
            self.prints(*CODEX[:3], {**MESSAGE, "item": {**MESSAGE["item"], "text": text}}, TURN)

    @property
    def seen(self) -> dict:
        """How it was called."""
        return json.loads((self.place / "seen").read_text())

    def perform(self, **more) -> Outcome:
        """One attempt."""
        settings = {**self.settings, **more.pop("settings", {})}
        given = {"prompt": PROMPT, "timeout_seconds": 20, **more}
        return SubprocessPerformer().perform(Assignment("ab12cd", "draft", 1, settings=settings, **given), cancelled=lambda: False)

    def fails(self, **more) -> Failed:
        """One attempt that fails, with what must hold of every failure."""
        failed = self.perform(**more)
        assert isinstance(failed, Failed)
        assert failed.hint == HINTS[failed.kind]
        assert PROMPT not in failed.msg + json.dumps(dict(failed.diagnostics))
        return failed


@pytest.fixture
def claude(tmp_path):
    return Agent("claude-code", tmp_path)


@pytest.fixture
def codex(tmp_path):
    return Agent("codex", tmp_path)


@pytest.fixture(params=["claude-code", "codex"])
def agent(request, tmp_path):
    return Agent(request.param, tmp_path)


def test_claude_code_is_called_as_it_wants_to_be(claude):
    claude.answers()
    outcome = claude.perform(context={"input": {"text": "a contract"}})
    assert claude.seen["argv"] == ["-p", "--output-format", "json"]
    assert claude.seen["stdin"] == f'{PROMPT}\n\n## input\n{{\n  "text": "a contract"\n}}'
    assert outcome == Performed(
        "Two risks.",
        False,
        provenance={"runner": "claude-code", "model": "claude-big-4", "id": RESULT["session_id"]},
        usage={"input_tokens": 12, "cache_read_input_tokens": 900, "output_tokens": 5, "total_cost_usd": 0.0123, "num_turns": 2},
        session=RESULT["session_id"],
    )


def test_codex_is_called_as_it_wants_to_be(codex):
    codex.answers()
    outcome = codex.perform()
    assert codex.seen["argv"] == ["exec", "--json", "--skip-git-repo-check", "-"]
    assert codex.seen["stdin"] == PROMPT
    assert outcome == Performed(
        "Two risks.", False, provenance={"runner": "codex", "id": THREAD["thread_id"]}, usage=TURN["usage"], session=THREAD["thread_id"]
    )


def test_a_model_is_named_only_where_one_is_asked_for(agent):
    agent.answers()
    agent.perform()
    assert "--model" not in agent.seen["argv"]
    agent.perform(model="big-4")
    assert "--model big-4" in " ".join(agent.seen["argv"])


def test_more_words_stand_before_what_must_be_last(agent):
    agent.answers()
    agent.perform(model="big-4", settings={"args": ["--sandbox", "read-only"]})
    words = agent.seen["argv"]
    assert words[words.index("big-4") + 1 :][:2] == ["--sandbox", "read-only"]
    assert words[-1] == ("-" if agent.name == "codex" else "read-only")


def test_it_sees_the_keys_it_needs_and_nothing_else_of_ours(agent, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "one")
    monkeypatch.setenv("CODEX_API_KEY", "two")
    monkeypatch.setenv("HERMES_SECRET_KEY", "never")
    monkeypatch.setenv("MY_TOKEN", "chosen")
    agent.answers()
    agent.perform(settings={"env": ["MY_TOKEN"]})
    env = agent.seen["env"]
    assert ("ANTHROPIC_API_KEY" in env, "CODEX_API_KEY" in env) == ((True, False) if agent.name == "claude-code" else (False, True))
    assert env["MY_TOKEN"] == "chosen"
    assert "HERMES_SECRET_KEY" not in env


def test_it_works_in_the_directory_of_the_profile_and_leaves_no_home(agent, tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    agent.answers()
    agent.perform()
    assert agent.seen["cwd"] == agent.seen["env"]["HOME"]
    agent.perform(settings={"workdir": str(project)})
    assert agent.seen["cwd"] == str(project)
    assert not os.path.exists(agent.seen["env"]["HOME"])
    assert project.is_dir()


def test_a_directory_that_is_not_there_fails_the_step(agent, tmp_path):
    agent.answers()
    failed = agent.fails(settings={"workdir": str(tmp_path / "gone")})
    assert (failed.kind, failed.diagnostics["code"]) == ("performer_failed", "start_failed")


@pytest.mark.parametrize("said", ['{"risks": 2}', '```json\n{"risks": 2}\n```', ' {"risks": 2}\n'])
def test_with_a_schema_the_text_is_a_value(agent, said):
    agent.answers(said)
    outcome = agent.perform(schema=SCHEMA)
    assert (outcome.value, outcome.structured) == ({"risks": 2}, True)
    assert '"required": ["risks"]' in agent.seen["stdin"]


def test_what_claude_code_gives_as_structured_is_taken(claude):
    claude.prints(RESULT | {"result": "Here you are.", "structured_output": {"risks": 2}})
    assert claude.perform(schema=SCHEMA).value == {"risks": 2}
    claude.prints(RESULT | {"structured_output": {"risks": "two"}})
    assert claude.fails(schema=SCHEMA).kind == "invalid_output"


@pytest.mark.parametrize(("said", "code"), [("Two risks.", "invalid_json"), ('{"risks": "two"}', "schema"), ("{}", "schema")])
def test_a_text_that_does_not_fit_fails_the_step_and_keeps_their_session(agent, said, code):
    agent.answers(said)
    failed = agent.fails(schema=SCHEMA)
    assert (failed.kind, failed.diagnostics["code"]) == ("invalid_output", code)
    assert failed.session in (RESULT["session_id"], THREAD["thread_id"])
    assert failed.usage["output_tokens"]


def test_an_empty_answer_is_none(agent):
    agent.answers("  ")
    assert agent.fails().kind == "empty_result"
    agent.prints(raw=b"\n")
    assert agent.fails().kind == "empty_result"


def test_claude_code_in_a_list_of_events_is_understood(claude):
    claude.prints([{"type": "system", "subtype": "init"}, {"type": "assistant"}, RESULT])
    assert claude.perform().value == "Two risks."


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        ({"subtype": "error_max_turns", "result": ""}, "performer_failed"),
        ({"subtype": "error_during_execution", "errors": ["boom"]}, "performer_failed"),
        ({"is_error": True, "result": "Invalid API key · Please run /login"}, "auth"),
        ({"is_error": True, "result": "API Error: 429 rate_limit_error"}, "rate_limited"),
        ({"is_error": True, "result": "slow down", "api_error_status": 429}, "rate_limited"),
        ({"is_error": True, "result": "Prompt is too long"}, "context_overflow"),
        (
            {
                "is_error": True,
                "result": "There's an issue with the selected model (x). It may not exist or you may not have access to it.",
                "api_error_status": 404,
            },
            "model_unknown",
        ),
        ({"is_error": None}, "performer_failed"),
    ],
)
@pytest.mark.parametrize("code", [0, 1])
def test_a_failure_that_claude_code_admits_has_its_kind(claude, more, kind, code):
    claude.prints({**RESULT, **more}, code=code)
    failed = claude.fails()
    assert (failed.kind, failed.diagnostics["code"], failed.session) == (kind, "admitted", RESULT["session_id"])


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("stream disconnected before completion", "performer_failed"),
        ("unexpected status 401 Unauthorized: Missing bearer", "auth"),
        ("exceeded retry limit, last status: 429 Too Many Requests", "rate_limited"),
        ("Codex ran out of room in the model's context window.", "context_overflow"),
        ("The 'x' model is not supported when using Codex with a ChatGPT account.", "model_unknown"),
    ],
)
@pytest.mark.parametrize("code", [0, 1])
def test_a_turn_of_codex_that_fails_has_its_kind(codex, message, kind, code):
    codex.prints(THREAD, {"type": "error", "message": message}, {"type": "turn.failed", "error": {"message": message}}, code=code)
    failed = codex.fails()
    assert (failed.kind, failed.diagnostics["code"], failed.session) == (kind, "admitted", THREAD["thread_id"])
    codex.prints(THREAD, {"type": "error", "message": message}, code=code)
    assert codex.fails().kind == kind


def test_an_error_that_codex_got_over_is_none(codex):
    codex.prints(THREAD, {"type": "error", "message": "Reconnecting... 1/5"}, MESSAGE, TURN)
    assert codex.perform().value == "Two risks."


def test_the_last_message_of_codex_counts_and_its_turns_are_added(codex):
    codex.prints(
        THREAD, {**MESSAGE, "item": {"type": "agent_message", "text": "First I look."}}, TURN, MESSAGE, TURN, {"type": "new.thing"}
    )
    outcome = codex.perform()
    assert (outcome.value, outcome.usage["output_tokens"]) == ("Two risks.", 244)


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"\xff\xfe", "invalid_utf8"),
        (b"hello", "invalid_json"),
        (b'{"type": "result"', "invalid_json"),
        (b'{"result": NaN}', "invalid_json"),
        (b'{"result": "a\\u0000"}', "invalid_json"),
        (b'{"result": "\\ud800"}', "invalid_json"),
        (b'{"a": 1, "a": 2}', "invalid_json"),
        (b"[" * 100_000, "invalid_json"),
        (b"7", "invalid_response"),
        (b'"text"', "invalid_response"),
        (b"[1, 2]", "invalid_response"),
        (b"{}", "invalid_response"),
        (b'{"type": "other", "result": "x"}', "invalid_response"),
        (b'{"type": "result"}', None),
        (b'{"type": "item.completed", "item": {"type": "agent_message", "text": "unfinished"}}', "invalid_response"),
        (b'{"output": "our own format"}', "invalid_response"),
    ],
)
def test_an_output_that_is_not_theirs_fails_closed(agent, raw, code):
    agent.prints(raw=raw)
    failed = agent.fails()
    assert failed.kind in ("invalid_output", "performer_failed")
    assert code is None or failed.diagnostics["code"] == code


def test_an_answer_with_a_failing_exit_is_none(agent):
    agent.answers()
    agent.program.write_text(agent.program.read_text().replace("sys.exit(0)", "sys.exit(3)"))
    failed = agent.fails()
    assert (failed.kind, failed.diagnostics["code"], failed.diagnostics["exit_code"]) == ("performer_failed", "nonzero_exit", 3)


def test_a_program_that_is_not_there_is_missing(agent):
    assert agent.fails(settings={"argv": ["/no/such/agent"]}).kind == "performer_missing"


def test_too_much_output_is_stopped(agent):
    agent.answers("x" * 5000)
    assert agent.fails(settings={"stdout_bytes": 1000}).kind == "output_too_large"


def test_one_that_never_ends_is_ended(agent):
    agent.answers()
    agent.program.write_text(agent.program.read_text().replace("sys.exit(0)", "sys.stdout.flush(); import time; time.sleep(60)"))
    assert agent.fails(timeout_seconds=1).kind == "timeout"


def test_without_argv_the_agent_is_looked_for_on_the_path(agent, monkeypatch):
    agent.answers()
    monkeypatch.setenv("PATH", f"{agent.place}:{os.environ['PATH']}")
    del agent.settings["argv"]
    assert agent.perform().value == "Two risks."


@pytest.mark.parametrize(
    "given",
    [
        {"template": "gemini"},
        {"template": 7},
        {"template": ["codex"]},
        {"template": "codex", "args": "--all"},
        {"template": "codex", "workdir": "here"},
        {"template": "codex", "workdir": 7},
        {"argv": ["x"], "args": ["y"]},
        {"template": ""},
    ],
)
def test_settings_of_a_template_are_read_strictly(given):
    with pytest.raises(Malformed):
        Program.read(given)


@pytest.mark.django_db(transaction=True)
def test_a_design_runs_on_one_and_its_transcript_names_their_session(agent):
    b.profile(performer=Profile.Performer.SUBPROCESS, settings=agent.settings)
    agent.answers('{"risks": 2}')
    run = b.ran(b.agent("draft", schema=SCHEMA), b.condition("many", "out.draft.risks > 1"), b.output("out"))
    assert (run["status"], run["outputs"]["draft"]) == ("done", {"risks": 2})
    session = Session.objects.get()
    assert session.external_id in (RESULT["session_id"], THREAD["thread_id"])
    assert session.usage["output_tokens"] in (5, 122)
