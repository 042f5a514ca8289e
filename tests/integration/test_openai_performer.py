"""A chat model behind an OpenAI-compatible endpoint: what it is asked, what comes of it, and every way it can fail."""

import json
import threading
import time

import pytest

from hermes_workflow.core.errors import Malformed
from hermes_workflow.core.failures import HINTS
from runs.seams import Assignment, Failed, Outcome, Performed
from runs.seams.openai_chat import OpenAIPerformer
from runs.seams.openai_endpoint import Endpoint
from tests.model_server import DONE, USAGE, Answer, ModelServer, chunk, cuts, drips, floods, hangs, model_server, refuses, says, sends

KEY = "key-of-the-endpoint-4711"
PROMPT = "Sum up the contract of Ann and Bob"
SCHEMA = {"type": "object", "properties": {"risks": {"type": "integer"}}, "required": ["risks"], "additionalProperties": False}


@pytest.fixture
def model():
    with model_server() as model:
        yield model


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("ENDPOINT_KEY", KEY)


def perform(endpoint: ModelServer, *answers: Answer, cancelled=lambda: False, said: list[str] | None = None, **more) -> Outcome:
    """One attempt against the endpoint, which gives these answers in turn."""
    endpoint.does(*answers)
    settings = {"base_url": endpoint.url, "api_key_env": "ENDPOINT_KEY", **more.pop("settings", {})}
    given = {"model": "big-1", "prompt": PROMPT, "idempotency_key": "workflow:ab12cd:draft:1", "timeout_seconds": 20, **more}
    assignment = Assignment("ab12cd", "draft", 1, settings=settings, **given)
    return OpenAIPerformer().perform(assignment, cancelled=cancelled, say=(said if said is not None else []).append)


def failure(outcome: Outcome) -> Failed:
    """The failure, with what must hold of every one."""
    assert isinstance(outcome, Failed)
    assert outcome.hint == HINTS[outcome.kind]
    shown = json.dumps(dict(outcome.diagnostics)) + outcome.msg
    assert KEY not in shown
    assert PROMPT not in shown
    return outcome


def test_the_text_of_the_model_is_the_output(model):
    said: list[str] = []
    outcome = perform(model, says("Two ", "risks", "."), said=said, context={"input": {"text": "a contract"}})
    assert outcome == Performed(
        "Two risks.",
        False,
        provenance={"model": "big-2", "request_id": "req-81", "id": "chatcmpl-7"},
        usage=USAGE,
        session="chatcmpl-7",
    )
    assert said == ["Two ", "risks", "."]
    (asked,) = model.seen
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.headers["idempotency-key"] == "workflow:ab12cd:draft:1"
    assert asked.body == {
        "model": "big-1",
        "messages": [{"role": "user", "content": f'{PROMPT}\n\n## input\n{{\n  "text": "a contract"\n}}'}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_a_profile_may_set_how_the_model_is_asked(model, monkeypatch):
    monkeypatch.setenv("TEAM", "legal")
    settings = {"system": "Be brief.", "temperature": 0, "max_tokens": 50, "headers": {"X-Team": "TEAM"}}
    perform(model, says("ok"), settings=settings)
    (asked,) = model.seen
    assert asked.body["messages"][0] == {"role": "system", "content": "Be brief."}
    assert (asked.body["temperature"], asked.body["max_tokens"], asked.headers["x-team"]) == (0, 50, "legal")


def test_an_endpoint_without_a_key_gets_none(model, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-somebody-else-123456")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-somebody-else")
    outcome = perform(model, says("ok"), settings={"api_key_env": ""})
    assert outcome.value == "ok"
    assert "somebody-else" not in json.dumps(model.seen[0].headers)
    assert "authorization" not in model.seen[0].headers


def test_a_node_name_that_no_header_can_hold_still_has_one_key(model):
    perform(model, says("ok"), idempotency_key="workflow:ab12cd:prüfen:1")
    assert model.seen[0].headers["idempotency-key"].startswith("sha256:")


@pytest.mark.parametrize("usage", [None, {"prompt_tokens": "many"}, {"total_tokens": True}, {"total_tokens": -1}])
def test_an_endpoint_that_counts_nothing_costs_nothing_known(model, usage):
    assert perform(model, says("ok", usage=usage)).usage == {}


def test_a_schema_is_asked_for_and_the_answer_is_a_value(model):
    outcome = perform(model, says('{"ris', 'ks": 2}'), schema=SCHEMA)
    assert (outcome.value, outcome.structured) == ({"risks": 2}, True)
    described = {"name": "answer", "schema": SCHEMA}
    assert model.seen[0].body["response_format"] == {"type": "json_schema", "json_schema": described}


@pytest.mark.parametrize(("mode", "asked"), [("json_object", {"type": "json_object"}), ("none", None)])
def test_an_endpoint_that_knows_no_schemas_is_told_in_words(model, mode, asked):
    outcome = perform(model, says('```json\n{"risks": 2}\n```'), schema=SCHEMA, settings={"structured": mode})
    assert outcome.value == {"risks": 2}
    assert model.seen[0].body.get("response_format") == asked
    assert '"required": ["risks"]' in model.seen[0].body["messages"][0]["content"]


@pytest.mark.parametrize("bad", ["There are two risks.", '{"risks": "two"}', "{}", '{"risks": 1, "more": 2}', '{"risks": NaN}', '{"risks"'])
def test_an_answer_that_does_not_fit_is_mended_once_in_the_same_conversation(model, bad):
    said: list[str] = []
    outcome = perform(model, says(bad), says('{"risks": 2}'), schema=SCHEMA, said=said)
    assert (outcome.value, outcome.structured) == ({"risks": 2}, True)
    assert outcome.usage == {name: 2 * count for name, count in USAGE.items()}
    first, second = model.seen
    assert second.body["messages"][:2] == [*first.body["messages"], {"role": "assistant", "content": bad}]
    mending = second.body["messages"][2]["content"]
    assert "no valid answer" in mending
    assert second.headers["idempotency-key"] == f"{first.headers['idempotency-key']}:repair"
    assert outcome.said == (("assistant", bad), ("user", mending))
    assert said == [bad, "\n\n", '{"risks": 2}']


def test_a_second_answer_that_does_not_fit_is_a_failure(model):
    failed = failure(perform(model, says("no"), says("still no"), says('{"risks": 2}'), schema=SCHEMA))
    assert (failed.kind, failed.diagnostics["code"], len(model.seen)) == ("invalid_output", "invalid_json", 2)
    assert [text for role, text in failed.said if role == "assistant"] == ["no", "still no"]
    assert failed.usage["total_tokens"] == 30


def test_a_schema_that_is_none_is_not_mended(model):
    failed = failure(perform(model, says("{}"), schema={"type": "nonsense"}))
    assert (failed.kind, failed.diagnostics["code"], len(model.seen)) == ("invalid_output", "schema", 1)


def test_a_repair_that_is_rate_limited_fails_as_that(model):
    failed = failure(perform(model, says("no"), refuses(429, Retry_After="7"), schema=SCHEMA))
    assert (failed.kind, failed.retry_after) == ("rate_limited", 7.0)


def test_an_answer_that_asks_to_wait_says_for_how_long(model):
    assert failure(perform(model, refuses(429, "slow down"))).retry_after is None
    assert failure(perform(model, refuses(429, "slow down", Retry_After="31"))).retry_after == 31.0
    assert len(model.seen) == 2


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (401, "Incorrect API key", "auth"),
        (403, "no", "auth"),
        (404, "The model `big-1` does not exist", "model_unknown"),
        (404, "nothing here", "unreachable"),
        (400, "This model's maximum context length is 8192 tokens", "context_overflow"),
        (400, "Unsupported parameter: max_tokens", "performer_failed"),
        (500, "oops", "performer_failed"),
        (503, "loading model", "unreachable"),
    ],
)
def test_a_refusal_has_its_kind_and_is_asked_once(model, status, message, kind):
    failed = failure(perform(model, refuses(status, message)))
    assert (failed.kind, len(model.seen)) == (kind, 1)
    assert message in failed.msg
    assert failed.diagnostics["code"] == f"http_{status}"
    assert failed.diagnostics["endpoint"] == model.url.removeprefix("http://").removesuffix("/v1")


def test_words_of_an_endpoint_that_repeat_key_and_prompt_are_hidden(model):
    failed = failure(perform(model, refuses(401, f"bad key {KEY} for {PROMPT}")))
    assert failed.msg.endswith("bad key [redacted] for [redacted]")


@pytest.mark.parametrize(
    ("answer", "kind", "code"),
    [
        pytest.param(sends(DONE), "empty_result", "empty", id="nothing but the end"),
        pytest.param(sends(b""), "empty_result", "empty", id="nothing"),
        pytest.param(sends(b'{"choices": [{"message": {"content": "hi"}}]}'), "empty_result", "empty", id="not streamed"),
        pytest.param(sends(chunk(None), DONE), "empty_result", "empty", id="no choices"),
        pytest.param(says("", finish="stop"), "empty_result", "empty", id="no words"),
        pytest.param(says(" \n"), "empty_result", "empty", id="blanks"),
        pytest.param(sends(chunk({"content": "half"})), "unreachable", "cut", id="ended in the middle"),
        pytest.param(cuts(chunk({"content": "half"})), "unreachable", "cut", id="cut in the middle"),
        pytest.param(says("half", finish="length"), "output_too_large", "length", id="out of tokens"),
        pytest.param(says("half", finish="content_filter"), "performer_failed", "content_filter", id="filtered"),
        pytest.param(says("", finish="tool_calls"), "invalid_output", "tool_calls", id="asks for a tool"),
        pytest.param(sends(chunk({"refusal": "I can't"}, finish="stop"), DONE), "performer_failed", "refusal", id="refused"),
        pytest.param(sends(b"data: {nonsense\n\n"), "invalid_output", "invalid_event", id="no JSON"),
        pytest.param(sends(b"data: \xff\xfe\n\n"), "invalid_output", "invalid_event", id="no UTF-8"),
        pytest.param(sends(b"data: " + b"[" * 200_000 + b"\n\n"), "invalid_output", "invalid_event", id="deep JSON"),
        pytest.param(sends(b"data: [1]\n\n"), "invalid_output", "invalid_event", id="no object"),
        pytest.param(sends(b'data: {"choices": [7]}\n\n'), "invalid_output", "invalid_event", id="no choice"),
        pytest.param(sends(b'data: {"choices": [{"delta": 7}]}\n\n'), "invalid_output", "invalid_event", id="no delta"),
        pytest.param(sends(chunk({"content": ["hi"]})), "invalid_output", "invalid_event", id="no text"),
        pytest.param(says("a\0b"), "invalid_output", "invalid_text", id="NUL"),
        pytest.param(says("a\ud800b"), "invalid_output", "invalid_text", id="half a character"),
        pytest.param(sends(b'data: {"error": {"message": "Rate limit reached"}}\n\n'), "rate_limited", "streamed_error", id="late limit"),
        pytest.param(sends(b'data: {"error": "boom"}\n\n'), "performer_failed", "streamed_error", id="late error"),
        pytest.param(sends(b'data: {"error": {"message": ["x"]}}\n\n'), "performer_failed", "streamed_error", id="late nonsense"),
        pytest.param(sends(b"", status=302, Location="http://127.0.0.1:9/"), "unreachable", "http_302", id="redirected"),
    ],
)
def test_a_stream_that_is_no_answer_fails_closed(model, answer, kind, code):
    failed = failure(perform(model, answer))
    assert (failed.kind, failed.diagnostics["code"]) == (kind, code)


def test_an_endpoint_that_says_it_is_done_and_then_keeps_the_line_is_not_waited_for(model):
    def answer(handler):
        says("ok")(handler)
        hangs()(handler)

    began = time.monotonic()
    assert perform(model, answer).value == "ok"
    assert time.monotonic() - began < 5
    assert model.hung_up.wait(5)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(hangs(), id="nothing"),
        pytest.param(hangs(chunk({"content": "half"})), id="half of it"),
        pytest.param(drips(b"HTTP/1.1 200 OK\r\n\r\n" + chunk({"content": "slow"}) * 100, every=0.01), id="byte by byte"),
    ],
)
def test_the_time_of_the_step_bounds_everything(model, answer):
    began = time.monotonic()
    assert failure(perform(model, answer, timeout_seconds=1)).kind == "timeout"
    assert time.monotonic() - began < 5


def test_a_cancelled_step_hangs_up_at_once(model):
    unwanted = threading.Event()
    said: list[str] = []
    threading.Timer(0.5, unwanted.set).start()
    began = time.monotonic()
    outcome = perform(model, hangs(chunk({"content": "half"})), cancelled=unwanted.is_set, said=said)
    assert failure(outcome).kind == "cancelled_by_owner"
    assert time.monotonic() - began < 5
    assert said == ["half"]
    assert model.hung_up.wait(5)


@pytest.mark.parametrize(
    "piece",
    [
        pytest.param(chunk({"content": "word " * 100}), id="many events"),
        pytest.param(b"data: " + b"x" * 10_000, id="one endless event"),
        pytest.param(b": nothing\n\n" * 1000, id="comments for ever"),
    ],
)
def test_a_flood_is_left_at_its_limit(model, piece):
    assert failure(perform(model, floods(piece), settings={"output_bytes": 5000})).kind == "output_too_large"
    assert model.hung_up.wait(5)


def test_a_huge_refusal_is_not_read_to_its_end(model):
    def answer(handler):
        handler.head(500)
        for _ in range(100_000):
            handler.write(b"x" * 10_000)

    assert failure(perform(model, answer, settings={"output_bytes": 5000})).kind == "output_too_large"


def test_nobody_at_the_address_is_unreachable(model):
    assert failure(perform(model, says("ok"), settings={"base_url": "http://127.0.0.1:9/v1"})).kind == "unreachable"


def test_a_variable_that_is_not_set_is_named(model, monkeypatch):
    monkeypatch.delenv("ENDPOINT_KEY")
    failed = failure(perform(model, says("ok")))
    assert (failed.kind, model.seen) == ("auth", [])
    assert "ENDPOINT_KEY" in failed.msg


def test_without_any_model_nothing_is_asked(model):
    assert (failure(perform(model, says("ok"), model="")).kind, model.seen) == ("model_unknown", [])


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"base_url": ""},
        {"base_url": 7},
        {"base_url": "ftp://host/"},
        {"base_url": "http://me:pw@host/v1"},
        {"base_url": "http://host/v1?key=1"},
        {"base_url": "http://host/v1#x"},
        {"base_url": "host/v1"},
        {"base_url": "http://ho st/"},
        {"base_url": "http://host/", "api_key": "sk-1234567890"},
        {"base_url": "http://host/", "api_key_env": "sk-1234567890"},
        {"base_url": "http://host/", "api_key_env": ["A"]},
        {"base_url": "http://host/", "headers": ["A"]},
        {"base_url": "http://host/", "headers": {"Authorization": "NAME"}},
        {"base_url": "http://host/", "headers": {"X\r\nY": "NAME"}},
        {"base_url": "http://host/", "headers": {"X-Key": "a secret"}},
        {"base_url": "http://host/", "structured": "yes"},
        {"base_url": "http://host/", "temperature": 3},
        {"base_url": "http://host/", "temperature": True},
        {"base_url": "http://host/", "max_tokens": 0},
        {"base_url": "http://host/", "max_tokens": 1.5},
        {"base_url": "http://host/", "output_bytes": 0},
        {"base_url": "http://host/", "output_bytes": 10**9},
        {"base_url": "http://host/", "system": 7},
        {"base_url": "http://host/", "wat": 1},
    ],
)
def test_settings_are_read_strictly(given):
    with pytest.raises(Malformed) as refused:
        Endpoint.read(given)
    assert "performer" in refused.value.msg
    assert "1234567890" not in refused.value.msg
    failed = OpenAIPerformer().perform(Assignment("ab12cd", "draft", 1, "x", settings=given), cancelled=lambda: False)
    assert failed.kind == "performer_missing"
