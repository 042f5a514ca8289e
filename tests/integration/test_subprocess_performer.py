"""Every way a program can fail fails closed, with its own kind and words; what it answers is kept as it is."""

import json
import os
import sys
import threading
import time
import tracemalloc
from pathlib import Path

import pytest

from hermes_workflow.core.failures import HINTS
from hermes_workflow.performers import demo_argv
from runs.seams import Assignment, Failed, Outcome, Performed
from runs.seams.subprocess import SubprocessPerformer


def perform(code: str = "", *, argv: list[str] | None = None, cancelled=lambda: False, seconds: float = 20, **more) -> Outcome:
    """Perform one attempt with a Python program given as text."""
    settings = {"argv": argv or [sys.executable, "-I", "-S", "-c", code], **more.pop("settings", {})}
    assignment = Assignment(
        "ab12cd", "draft", more.pop("number", 1), more.pop("prompt", "Sum it up"), settings=settings, timeout_seconds=seconds, **more
    )
    return SubprocessPerformer().perform(assignment, cancelled=cancelled)


def prints(text: str) -> str:
    """A program that prints `text` and nothing else."""
    return f"print({text!r}, end='')"


def failure(outcome: Outcome) -> Failed:
    """The failure, with what must hold of every one."""
    assert isinstance(outcome, Failed)
    assert outcome.hint == HINTS[outcome.kind]
    json.dumps(dict(outcome.diagnostics))
    return outcome


def test_the_demo_really_works_on_the_text():
    outcome = perform(argv=demo_argv(), input={"text": "We guarantee it for EUR 29 until 2026-12-15."})
    assert isinstance(outcome, Performed)
    assert outcome.structured
    assert outcome.value["counts"] == {"sentences": 1, "dates": 1, "amounts": 1, "risks": 1}
    assert outcome.provenance["runner"] == "demo"


def test_the_demo_fails_on_an_empty_text():
    assert failure(perform(argv=demo_argv())).kind == "empty_result"


@pytest.mark.parametrize("value", [0, False, "", {}, [], None, 0.5, {"a": [1, "ü"]}])
def test_presence_counts_and_not_truth(value):
    outcome = perform(prints(json.dumps({"structured": value})))
    assert (outcome.value, outcome.structured) == (value, True)


def test_a_text_answer_is_not_structured_and_may_be_empty():
    assert perform(prints('{"output": ""}')) == Performed("", False)


@pytest.mark.parametrize(
    ("stdout", "kind", "words"),
    [
        ("", "empty_result", "no output"),
        (" \n", "empty_result", "no output"),
        ("not json", "invalid_output", "JSON"),
        ('{"output": "a"} {"output": "b"}', "invalid_output", "trailing"),
        ('{"output": "a", "output": "b"}', "invalid_output", "output"),
        ('{"output": NaN}', "invalid_output", "NaN"),
        ('{"output": "\\u0000"}', "invalid_output", "NUL"),
        ('{"output": "\\ud800"}', "invalid_output", "surrogate"),
        ("[1]", "invalid_output", "not an object"),
        ('{"result": 1}', "invalid_output", "neither structured nor output"),
        ('{"output": "a", "provenance": "me"}', "invalid_output", "provenance"),
        ('{"structured": ' + "[" * 100 + "]" * 100 + "}", "invalid_output", "deep"),
        ('{"error": "oops"}', "invalid_output", "error"),
    ],
)
def test_output_that_is_no_answer_fails(stdout, kind, words):
    failed = failure(perform(prints(stdout)))
    assert failed.kind == kind
    assert words in failed.msg


def test_output_that_is_not_utf8_fails():
    assert "UTF-8" in failure(perform('import os; os.write(1, b\'{"output": "\\xff"}\')')).msg


def test_an_exit_code_beats_a_valid_answer():
    failed = failure(perform(prints('{"output": "a"}') + "; raise SystemExit(137)"))
    assert (failed.kind, failed.diagnostics["exit_code"]) == ("performer_failed", 137)
    assert "exit 137" in failed.msg


def test_a_signal_is_named():
    failed = failure(perform("import os; os.kill(os.getpid(), 11)"))
    assert (failed.kind, failed.diagnostics["code"]) == ("performer_failed", "signalled")
    assert "SIGSEGV" in failed.msg


@pytest.mark.parametrize("words", ["HTTP 429", "Rate limit reached", "too many requests", "rate_limit_exceeded"])
def test_a_rate_limit_is_recognised_by_its_wording(words):
    assert failure(perform(f"import sys; sys.exit({words!r})")).kind == "rate_limited"


def test_a_program_may_say_why_it_failed():
    failed = failure(
        perform(prints('{"error": {"kind": "rate_limited", "msg": "slow down", "retry_after": 30}}') + "; raise SystemExit(1)")
    )
    assert (failed.kind, failed.msg, failed.retry_after) == ("rate_limited", "slow down", 30)


@pytest.mark.parametrize("kind", ["worker_lost", "made_up", None, 5])
def test_a_program_cannot_claim_a_kind_that_is_ours(kind):
    assert failure(perform(prints(json.dumps({"error": {"kind": kind, "msg": "x"}})))).kind == "performer_failed"


@pytest.mark.parametrize("argv", [["/nowhere/at-all"], ["no-such-program-anywhere"], ["/etc/passwd"], ["/tmp"]])
def test_a_program_that_is_not_there_is_missing(argv):
    failed = failure(perform(argv=argv))
    assert (failed.kind, failed.diagnostics["code"]) == ("performer_missing", "start_failed")


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"argv": []},
        {"argv": "ls -l"},
        {"argv": ["a\0b"]},
        {"argv": ["a"], "env": "PATH"},
        {"argv": ["a"], "shell": True},
        {"argv": ["a"], "stdout_bytes": -1},
    ],
)
def test_settings_that_make_no_sense_are_a_missing_performer(given):
    outcome = SubprocessPerformer().perform(Assignment("ab12cd", "draft", 1, "", settings=given), cancelled=lambda: False)
    assert failure(outcome).kind == "performer_missing"


def test_no_shell_reads_the_command_line():
    outcome = perform(
        argv=[sys.executable, "-I", "-S", "-c", "import sys, json; print(json.dumps({'structured': sys.argv[1:]}))", "$(id); `id`", "*"]
    )
    assert outcome.value == ["$(id); `id`", "*"]


def test_the_model_is_passed_on_only_when_one_is_asked_for():
    argv = [sys.executable, "-I", "-S", "-c", "import sys, json; print(json.dumps({'structured': sys.argv[1:]}))"]
    settings = {"model_argv": ["--model", "{model}"]}
    assert perform(argv=argv, settings=settings, model="large").value == ["--model", "large"]
    assert perform(argv=argv, settings=settings).value == []


def test_the_request_is_one_document_of_a_named_version():
    seen = perform(
        "import sys, json; print(json.dumps({'structured': json.load(sys.stdin)}))",
        input={"text": "ü\u2028"},
        number=3,
        idempotency_key="k:3",
    ).value
    assert (seen["version"], seen["number"], seen["idempotency_key"], seen["input"]) == (
        "hermes.performer.v1",
        3,
        "k:3",
        {"text": "ü\u2028"},
    )
    assert (seen["run_id"], seen["node_id"], seen["prompt"], seen["schema"]) == ("ab12cd", "draft", "Sum it up", None)


@pytest.mark.parametrize(("value", "fits"), [({"n": 1}, True), ({"n": "1"}, False), ("text", False)])
def test_an_answer_must_fit_the_schema_of_the_step(value, fits):
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    outcome = perform(prints(json.dumps({"structured": value})), schema=schema)
    assert isinstance(outcome, Performed) if fits else failure(outcome).kind == "invalid_output"


@pytest.mark.parametrize("schema", [{"type": "nonsense"}, {"$ref": "http://127.0.0.1:9/schema.json"}, {"$ref": "#"}])
def test_a_schema_that_cannot_be_used_fails_and_fetches_nothing(schema):
    assert failure(perform(prints('{"structured": 1}'), schema=schema)).kind == "invalid_output"


def test_provenance_keeps_known_keys_and_short_values():
    given = {"model": "m" * 900, "notes": "ok", "id": 7, "secret": "x", "provider": {"deep": 1}}
    assert perform(prints(json.dumps({"output": "a", "provenance": given}))).provenance == {"model": "m" * 512, "id": 7, "notes": "ok"}


@pytest.mark.parametrize(("stream", "limit"), [("stdout", 1_048_576), ("stderr", 262_144)])
def test_a_chatty_program_is_stopped_one_byte_beyond_the_limit(stream, limit):
    tracemalloc.start()
    try:
        failed = failure(perform(f"import sys\nwhile True: sys.{stream}.write('x' * 65536)"))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (failed.kind, failed.diagnostics["code"]) == ("output_too_large", f"{stream}_exceeded")
    assert failed.diagnostics[f"{stream}_bytes"] == limit + 1
    assert peak < 20_000_000


def test_output_up_to_the_limit_is_taken():
    text = "x" * (1_048_576 - len('{"output": ""}'))
    assert perform(f"print('{{\"output\": \"' + 'x' * {len(text)} + '\"}}', end='')") == Performed(text, False)


def test_both_streams_full_at_once_do_not_block():
    code = (
        "import sys, threading\nt = threading.Thread(target=lambda: sys.stderr.write('e' * 200000))\nt.start()\n"
        "print('{\"output\": \"' + 'o' * 900000 + '\"}')\nt.join()"
    )
    assert isinstance(perform(code), Performed)


def test_a_program_that_never_reads_its_input_is_no_obstacle():
    assert perform(prints('{"output": "a"}'), input={"text": "x" * 2_000_000}) == Performed("a", False)


def test_the_timeout_covers_an_input_that_is_not_read():
    began = time.monotonic()
    failed = failure(perform("import time; time.sleep(60)", input={"text": "x" * 2_000_000}, seconds=0.5))
    assert failed.kind == "timeout"
    assert time.monotonic() - began < 5


def test_work_that_is_no_longer_wanted_is_ended():
    stop = threading.Event()
    threading.Timer(0.3, stop.set).start()
    began = time.monotonic()
    assert failure(perform("import time; time.sleep(60)", cancelled=stop.is_set)).kind == "cancelled_by_owner"
    assert time.monotonic() - began < 5


def test_each_attempt_works_in_an_empty_directory_that_is_gone_afterwards():
    code = "import os, json; left = os.listdir('.'); os.mkdir('shut'); open('shut/file', 'w').close(); os.chmod('shut', 0)\n"
    code += "print(json.dumps({'structured': [os.getcwd(), os.environ['HOME'], left]}))"
    cwd, home, left = perform(code).value
    assert (cwd, left) == (home, [])
    assert not Path(cwd).exists()


def test_no_room_for_a_directory_is_a_failure_to_start(monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", "/nowhere")
    failed = failure(perform(prints('{"output": "a"}')))
    assert (failed.kind, failed.diagnostics["code"]) == ("performer_failed", "start_failed")


def test_the_environment_is_an_allow_list(monkeypatch):
    monkeypatch.setenv("DATABASE_PASSWORD", "correct horse")
    monkeypatch.setenv("WANTED", "yes")
    seen = perform("import os, json; print(json.dumps({'structured': dict(os.environ)}))", settings={"env": ["WANTED"]}).value
    assert seen["WANTED"] == "yes"
    assert set(seen) <= {"PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "HOME", "TMPDIR", "WANTED"}


def test_diagnostics_hold_no_secret_prompt_or_environment(monkeypatch):
    monkeypatch.setenv("MY_API_KEY", "correct-horse-battery")
    code = (
        "import sys, os; sys.stderr.write(sys.stdin.read() + os.environ['MY_API_KEY'] + ' Bearer abcdefgh123 sk-abcdefghijkl '"
        " + 'password=hunter22 '"
        " + 'postgres://bob:pw12345@db/x {\"api_key\": \"zzzzzz\"} ' + chr(0) + chr(27) + '[2J the reason'); sys.exit(3)"
    )
    argv = [sys.executable, "-I", "-S", "-c", code, "--token", "tttttt", "--password=pppppp"]
    failed = failure(perform(argv=argv, prompt="The plan of the merger", settings={"env": ["MY_API_KEY"]}, context={"who": "of two"}))
    shown = json.dumps(dict(failed.diagnostics), ensure_ascii=False) + failed.msg
    for secret in (
        "correct-horse-battery",
        "abcdefgh123",
        "sk-abc",
        "hunter22",
        "pw12345",
        "zzzzzz",
        "tttttt",
        "pppppp",
        "merger",
        "\\u0000",
        "\x1b",
        "hermes-",
    ):
        assert secret not in shown.replace(json.dumps(code)[1:-1], "")
    assert "the reason" in failed.diagnostics["stderr_tail"]
    assert failed.diagnostics["argv"][0] == os.path.basename(sys.executable)


def test_harmless_words_are_not_taken_for_secrets():
    failed = failure(perform("import sys; sys.exit('author: Ann, line=12, monkey business')"))
    assert failed.diagnostics["stderr_tail"] == "author: Ann, line=12, monkey business\n"


def test_an_attempt_leaves_no_open_file():
    perform(prints('{"output": "a"}'))
    before = len(os.listdir("/proc/self/fd"))
    for code in (prints('{"output": "a"}'), "import time; time.sleep(9)"):
        perform(code, seconds=0.5)
    perform(argv=["no-such-program-anywhere"])
    assert len(os.listdir("/proc/self/fd")) == before


def test_tails_are_the_last_4096_bytes():
    failed = failure(perform("import sys; sys.stderr.write('ü' * 9000 + 'end'); sys.exit(1)"))
    assert failed.diagnostics["stderr_tail"].endswith("üend")
    assert len(failed.diagnostics["stderr_tail"].encode()) <= 4096


def test_many_threads_perform_at_once():
    outcomes: list[Outcome] = []
    threads = [threading.Thread(target=lambda n=n: outcomes.append(perform(prints(json.dumps({"structured": n}))))) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcome.value for outcome in outcomes) == list(range(12))


def test_a_short_prompt_does_not_hide_words_of_the_message():
    failed = failure(perform(argv=[sys.executable, "-I", "-S", "-c", "import sys; sys.exit(3)"], prompt="x"))
    assert failed.msg == "the performer failed with exit 3"
    assert "[redacted]" not in json.dumps(dict(failed.diagnostics))
