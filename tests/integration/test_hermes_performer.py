"""The Hermes Agent as a performer: every status and every misbehaviour of its run API, over a real socket."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from hermes_workflow.core.errors import Malformed
from runs.seams import hermes_calls
from runs.seams.base import Again, Assignment, Failed, Outcome, Performed, Stoppable
from runs.seams.hermes import HermesPerformer
from runs.seams.hermes_agent import HermesAgent
from runs.seams.hermes_ref import Ref
from tests.hermes_server import KEY, HermesServer, cut, drip, event, hang, hermes_server, huge, raw, started_unsaid, status

DONE = {"status": "completed", "output": "All is well.", "usage": {"input_tokens": 50, "output_tokens": 7, "total_tokens": 57}}
SCHEMA = {"type": "object", "properties": {"risks": {"type": "integer"}}, "required": ["risks"]}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERMES_TEST_AGENT_KEY", KEY)


@pytest.fixture
def agent() -> Iterator[HermesServer]:
    with hermes_server() as server:
        yield server


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call may take half a second."""
    monkeypatch.setattr(hermes_calls, "CALL_SECONDS", 0.5)


def assignment(
    agent: HermesServer, *, ref: str = "", schema: Any = None, seconds: float = 60.0, key: str = "", **settings: Any
) -> Assignment:
    return Assignment(
        run_id="ab12",
        node_id="draft",
        number=1,
        prompt="List the risks of this contract",
        context={"input": {"text": "The contract."}},
        model=settings.pop("model", ""),
        schema=schema,
        correlation_id="workflow:ab12:draft",
        idempotency_key=key or "workflow:ab12:draft:1",
        timeout_seconds=seconds,
        ref=ref,
        settings=agent.settings(**settings),
    )


def visit(agent: HermesServer, ref: str = "", **more: Any) -> Outcome:
    return HermesPerformer().perform(assignment(agent, ref=ref, **more), cancelled=lambda: False)


def performed(agent: HermesServer, *, visits: int = 40, ref: str = "", **more: Any) -> Performed | Failed:
    """Visit until there is an outcome."""
    for _ in range(visits):
        outcome = visit(agent, ref, **more)
        if not isinstance(outcome, Again):
            return outcome
        ref = outcome.ref
        time.sleep(outcome.after)
    pytest.fail("the performer never came to an end")


def begun(agent: HermesServer, **more: Any) -> str:
    """The ref of a run that was started."""
    outcome = visit(agent, **more)
    assert isinstance(outcome, Again)
    return outcome.ref


def failure(outcome: Outcome) -> Failed:
    assert isinstance(outcome, Failed), outcome
    assert outcome.hint
    assert KEY not in f"{outcome.msg}{outcome.diagnostics}"
    assert "List the risks" not in f"{outcome.msg}{outcome.diagnostics}"
    return outcome


def test_the_first_visit_starts_the_run_and_comes_back_with_its_name(agent: HermesServer):
    outcome = visit(agent, model="large-2", instructions="Be brief.")
    assert isinstance(outcome, Again)
    assert Ref.read(outcome.ref).run_id == "run_00000001"
    (asked,) = agent.calls("start")
    assert asked.headers["idempotency-key"] == "workflow:ab12:draft:1"
    assert asked.headers["x-hermes-session-key"] == "workflow:ab12:draft"
    assert asked.body.keys() == {"input", "instructions", "model"}
    assert "List the risks" in asked.body["input"]
    assert "The contract." in asked.body["input"]
    assert agent.calls("read") == []


def test_a_run_is_looked_after_until_it_is_completed(agent: HermesServer):
    agent.plays({"status": "queued"}, {"status": "running"}, {"status": "stopping"}, DONE)
    outcome = performed(agent)
    assert isinstance(outcome, Performed)
    assert (outcome.value, outcome.structured) == ("All is well.", False)
    assert outcome.usage == DONE["usage"]
    assert outcome.session == "space-1"
    assert outcome.provenance == {"request_id": "run_00000001", "runner": "hermes"}
    assert len(agent.calls("start")) == 1


def test_only_the_steps_own_model_is_sent_and_no_provider(agent: HermesServer):
    visit(agent)
    assert agent.calls("start")[0].body.keys() == {"input"}


def test_the_agents_own_profile_is_a_prefix(agent: HermesServer):
    agent.plays(DONE)
    assert isinstance(performed(agent, profile="legal"), Performed)
    assert {asked.profile for asked in agent.asked} == {"legal"}


def test_a_start_that_is_repeated_finds_the_same_run(agent: HermesServer):
    first, second = begun(agent), begun(agent)
    assert Ref.read(first).run_id == Ref.read(second).run_id
    assert len(agent.runs) == 1


def test_a_key_that_the_agent_cannot_take_is_hashed_the_same_each_time(agent: HermesServer):
    for _ in range(2):
        begun(agent, key="workflow:ab12:größe und maß:1")
    assert len(agent.runs) == 1
    sent = agent.calls("start")[0].headers["idempotency-key"]
    assert sent.isascii()
    assert " " not in sent
    begun(agent, key="workflow:ab12:größe und maß:2")
    assert len(agent.runs) == 2


def test_a_key_under_which_the_agent_did_other_work_fails_the_try(agent: HermesServer):
    begun(agent)
    outcome = failure(visit(agent, instructions="now otherwise"))
    assert outcome.kind == "performer_failed"
    assert "other work under the key" in outcome.msg


@pytest.mark.parametrize(("wait", "expected"), [({}, None), ({"Retry_After": "7"}, 7.0)])
def test_an_agent_that_is_full_is_a_rate_limit(agent: HermesServer, wait: dict[str, str], expected: float | None):
    agent.fails("start", status(429, {"error": {"message": "rate_limit_exceeded"}}, **wait))
    outcome = failure(visit(agent))
    assert (outcome.kind, outcome.retry_after) == ("rate_limited", expected)


@pytest.mark.parametrize(("wait", "least"), [({}, 0.05), ({"Retry_After": "3"}, 3.0)])
def test_a_look_that_comes_too_often_is_made_later(agent: HermesServer, wait: dict[str, str], least: float):
    ref = begun(agent)
    agent.fails("read", status(429, **wait))
    outcome = visit(agent, ref)
    assert isinstance(outcome, Again)
    assert outcome.after >= least
    assert outcome.ref == ref


def test_a_wrong_key_is_said(agent: HermesServer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HERMES_TEST_AGENT_KEY", "wrong-key-0123456789")
    assert failure(visit(agent)).kind == "auth"


def test_a_key_that_is_not_set_is_said_by_the_name_of_its_variable(agent: HermesServer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("HERMES_TEST_AGENT_KEY")
    outcome = failure(visit(agent))
    assert outcome.kind == "auth"
    assert "HERMES_TEST_AGENT_KEY" in outcome.msg
    assert agent.asked == []


def test_nobody_at_the_address_is_unreachable_at_once(agent: HermesServer):
    assert failure(visit(agent, base_url="http://127.0.0.1:9")).kind == "unreachable"


@pytest.mark.parametrize(
    "trouble", [status(500), status(503), hang, cut, drip, raw(b"<html>"), raw(b"[]"), raw(b'{"run_id": 7}'), raw(b"")]
)
def test_a_start_in_doubt_is_repeated_under_its_key_and_starts_one_run(agent: HermesServer, impatient: None, trouble: Any):
    agent.fails("start", started_unsaid(trouble))
    agent.plays(DONE)
    assert isinstance(performed(agent), Performed)
    assert len(agent.calls("start")) == 2
    assert len(agent.runs) == 1


@pytest.mark.parametrize(
    ("trouble", "kind"),
    [
        (status(500), "performer_failed"),
        (status(502), "unreachable"),
        (hang, "timeout"),
        (cut, "unreachable"),
        (raw(b"no"), "invalid_output"),
    ],
)
def test_a_start_that_never_works_ends_with_its_reason(agent: HermesServer, impatient: None, trouble: Any, kind: str):
    agent.fails("start", *[trouble] * 40)
    assert failure(performed(agent, patience_seconds=0.2)).kind == kind
    assert agent.runs == {}


@pytest.mark.parametrize("code", [400, 404, 405, 413, 302])
def test_a_start_that_is_refused_is_not_repeated(agent: HermesServer, code: int):
    agent.fails("start", status(code))
    failure(visit(agent))
    assert len(agent.calls("start")) == 1


@pytest.mark.parametrize(
    "trouble", [status(500), status(503), hang, cut, drip, raw(b"<html>"), raw(b"[]"), raw(b'{"status": "new"}'), raw(b"{}")]
)
def test_a_look_that_fails_is_made_again(agent: HermesServer, impatient: None, trouble: Any):
    agent.plays(DONE)
    ref = begun(agent)
    agent.fails("read", trouble)
    outcome = visit(agent, ref)
    assert isinstance(outcome, Again)
    assert Ref.read(outcome.ref).troubled
    assert isinstance(performed(agent, ref=outcome.ref), Performed)


def test_an_agent_that_stays_in_trouble_is_told_to_stop_and_the_try_fails(agent: HermesServer):
    ref = begun(agent)
    agent.fails("read", *[status(500)] * 40)
    assert failure(performed(agent, ref=ref, patience_seconds=0.2)).kind == "performer_failed"
    assert agent.stopped == ["run_00000001"]


def test_trouble_that_passed_does_not_count_later(agent: HermesServer):
    ref = str(Ref("run_00000001", time.time() + 60, troubled=time.time() - 30))
    begun(agent)
    outcome = visit(agent, ref)
    assert isinstance(outcome, Again)
    assert not Ref.read(outcome.ref).troubled


def test_an_answer_without_an_end_is_stopped(agent: HermesServer):
    ref = begun(agent)
    agent.fails("read", huge)
    assert failure(visit(agent, ref, output_bytes=1000)).kind == "output_too_large"


def test_a_run_of_another_profile_or_one_that_was_forgotten_is_not_started_again(agent: HermesServer):
    ref = begun(agent, profile="legal")
    outcome = failure(visit(agent, ref))
    assert (outcome.kind, "does not know the run" in outcome.msg) == ("performer_failed", True)
    assert len(agent.calls("start")) == 1


@pytest.mark.parametrize(
    ("document", "kind", "words"),
    [
        ({"status": "interrupted"}, "performer_failed", "restarted"),
        ({"status": "cancelled"}, "performer_failed", "cancelled at"),
        ({"status": "failed", "error": "boom"}, "performer_failed", "boom"),
        ({"status": "failed", "error": {"message": "429 too many requests"}}, "rate_limited", "429"),
        ({"status": "failed", "error": "maximum context length"}, "context_overflow", "maximum"),
        ({"status": "failed", "error": "unknown model x"}, "model_unknown", "unknown model"),
        ({"status": "failed", "error": [1]}, "performer_failed", "failed"),
        ({"status": "completed", "output": "  "}, "empty_result", "without an answer"),
        ({"status": "completed"}, "empty_result", "without an answer"),
    ],
)
def test_every_other_end_has_its_kind_and_words(agent: HermesServer, document: dict[str, Any], kind: str, words: str):
    agent.plays(document)
    outcome = failure(performed(agent))
    assert outcome.kind == kind
    assert words in outcome.msg
    assert outcome.session == "space-1"


@pytest.mark.parametrize(
    ("policy", "offered", "choice"),
    [
        ("once", ["once", "session", "always", "deny"], "once"),
        ("once", None, "once"),
        ("once", ["session", "always"], "deny"),
        ("deny", ["once", "session", "always", "deny"], "deny"),
    ],
)
def test_a_question_about_a_tool_is_answered_for_once_and_only_if_the_profile_says_so(
    agent: HermesServer, policy: str, offered: list[str] | None, choice: str
):
    agent.plays({"status": "waiting_for_approval", "approval": {"command": "rm x", "choices": offered, "request_id": "q1"}}, DONE)
    assert isinstance(performed(agent, tool_approvals=policy), Performed)
    assert [asked.body for asked in agent.calls("approval")] == [{"choice": choice, "request_id": "q1"}]


def test_nothing_is_allowed_unless_the_profile_says_so(agent: HermesServer):
    agent.plays({"status": "waiting_for_approval", "approval": None}, DONE)
    performed(agent)
    assert [asked.body for asked in agent.calls("approval")] == [{"choice": "deny"}]


def test_a_question_that_somebody_else_answered_is_no_failure(agent: HermesServer):
    agent.plays({"status": "waiting_for_approval", "approval": {}}, DONE)
    agent.fails("approval", status(409, {"error": {"code": "approval_not_pending"}}))
    assert isinstance(performed(agent), Performed)


def test_with_a_schema_the_agent_is_asked_for_json_and_its_answer_is_checked(agent: HermesServer):
    agent.plays({"status": "completed", "output": '```json\n{"risks": 2}\n```'})
    outcome = performed(agent, schema=SCHEMA)
    assert isinstance(outcome, Performed)
    assert (outcome.value, outcome.structured) == ({"risks": 2}, True)
    assert '"required": ["risks"]' in agent.calls("start")[0].body["input"]


@pytest.mark.parametrize("output", ["two risks", '{"risks": "two"}', '{"risks": 1} and more', {"risk": 1}])
def test_an_answer_that_does_not_fit_the_schema_is_refused(agent: HermesServer, output: Any):
    agent.plays({"status": "completed", "output": output, "usage": {"total_tokens": 9}})
    outcome = failure(performed(agent, schema=SCHEMA))
    assert outcome.kind == "invalid_output"
    assert outcome.usage == {"total_tokens": 9}


def test_an_answer_beyond_its_limit_is_refused(agent: HermesServer):
    agent.plays({"status": "completed", "output": "x" * 2000})
    assert failure(performed(agent, output_bytes=1000)).kind == "output_too_large"


def test_the_time_of_a_step_counts_over_all_visits(agent: HermesServer):
    outcome = failure(performed(agent, seconds=0.3))
    assert outcome.kind == "timeout"
    assert agent.stopped == ["run_00000001"]


def test_a_run_that_was_completed_just_before_its_deadline_counts(agent: HermesServer):
    agent.plays(DONE)
    begun(agent)
    assert isinstance(visit(agent, str(Ref("run_00000001", time.time() - 1))), Performed)


def test_an_overdue_run_that_cannot_be_stopped_is_told_again_for_a_while(agent: HermesServer):
    begun(agent)
    agent.fails("stop", status(503))
    ref = str(Ref("run_00000001", time.time() - 1))
    outcome = visit(agent, ref, patience_seconds=30)
    assert isinstance(outcome, Again)
    assert failure(visit(agent, outcome.ref)).kind == "timeout"
    assert agent.stopped == ["run_00000001"]


def test_the_longer_a_run_is_at_work_the_rarer_the_visits(agent: HermesServer):
    begun(agent)
    old = visit(agent, str(Ref("run_00000001", time.time() + 3600)), seconds=7200)
    young = visit(agent, str(Ref("run_00000001", time.time() + 3600)), seconds=3610)
    assert isinstance(old, Again)
    assert isinstance(young, Again)
    assert (old.after, young.after < 1) == (15.0, True)


def test_work_that_is_no_longer_wanted_is_not_begun(agent: HermesServer):
    outcome = HermesPerformer().perform(assignment(agent), cancelled=lambda: True)
    assert failure(outcome).kind == "cancelled_by_owner"
    assert agent.asked == []


@pytest.mark.parametrize("trouble", [status(404), status(409)])
def test_a_run_that_is_over_or_gone_needs_no_stop(agent: HermesServer, trouble: Any):
    ref = begun(agent)
    agent.fails("stop", trouble)
    assert HermesPerformer().stop(agent.settings(), ref)


def test_a_stop_that_was_not_heard_is_known(agent: HermesServer, impatient: None):
    performer, ref = HermesPerformer(), begun(agent)
    agent.fails("stop", status(500), hang)
    assert isinstance(performer, Stoppable)
    assert not performer.stop(agent.settings(), ref)
    assert not performer.stop(agent.settings(), ref)
    assert performer.stop(agent.settings(), ref)
    assert agent.stopped == ["run_00000001"]


def test_what_the_agent_writes_is_heard_while_it_writes(agent: HermesServer):
    agent.plays({"status": "running"}, DONE)
    agent.events[:] = [event("message.delta", delta="All "), b": ping\n\n", b"data: no json\n\n", event("tool.started", tool="terminal")]
    agent.events += [b'event: message.delta\ndata: {"delta": "is well."}\n\n', event("run.completed")]
    ref, heard = begun(agent, mode="events"), []
    outcome = HermesPerformer().perform(assignment(agent, ref=ref, mode="events"), cancelled=lambda: False, say=heard.append)
    assert heard == ["All ", "is well."]
    assert isinstance(outcome, Performed)


def test_a_question_in_the_stream_is_answered(agent: HermesServer):
    agent.plays({"status": "running"}, DONE)
    agent.events[:] = [event("approval.request", choices=["once", "deny"], request_id="q7")]
    performed(agent, mode="events", tool_approvals="once")
    assert [asked.body for asked in agent.calls("approval")] == [{"choice": "once", "request_id": "q7"}]


@pytest.mark.parametrize("trouble", [status(404), status(500), cut, raw(b"\xff\xfe\n\n"), huge])
def test_a_stream_that_breaks_loses_nothing(agent: HermesServer, trouble: Any):
    agent.plays({"status": "running"}, DONE)
    agent.fails("events", trouble)
    assert isinstance(performed(agent, mode="events"), Performed)


@pytest.mark.parametrize("ref", ["", "remote-1", "run_1@", "run_1@12@13", "@-5", "x" * 300, "run_1@12~x", "run/../x@12"])
def test_a_ref_that_is_not_ours_is_none(ref: str):
    assert Ref.read(ref) is None


def test_a_ref_is_short_and_read_as_it_was_written():
    ref = Ref("run_" + "a" * 190, 1_900_000_000, 1_800_000_000)
    assert len(str(ref)) <= 255
    assert Ref.read(str(ref)) == ref


@pytest.mark.parametrize(
    "wrong",
    [
        {"base_url": ""},
        {"base_url": "ftp://x"},
        {"base_url": "http://user:pass@x"},
        {"base_url": "http://x?y=1"},
        {"api_key_env": ""},
        {"api_key_env": "sk-not a name"},
        {"profile": "../x"},
        {"tool_approvals": "always"},
        {"tool_approvals": "session"},
        {"mode": "push"},
        {"poll_seconds": 0},
        {"poll_seconds": True},
        {"output_bytes": 10**12},
        {"key": "secret"},
    ],
)
def test_wrong_settings_are_refused_by_name(wrong: dict[str, Any]):
    with pytest.raises(Malformed):
        HermesAgent.read({"base_url": "http://127.0.0.1:8642", "api_key_env": "KEY", **wrong})
    outcome = HermesPerformer().perform(
        Assignment("r", "n", 1, "p", settings={"base_url": "http://x", "api_key_env": "KEY", **wrong}), cancelled=lambda: False
    )
    assert failure_of_settings(outcome)


def failure_of_settings(outcome: Outcome) -> bool:
    return isinstance(outcome, Failed) and outcome.kind == "performer_missing"
