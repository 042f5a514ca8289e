"""Existing folders of designs and runs: taken in, kept apart from what is corrupt, and written in the same shapes."""

import json
import os
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from hermes_workflow import files
from hermes_workflow.models import Design
from runs import projections, services
from runs.models import Attempt, Run
from tests import builders as b
from tests.builders import agent, approval, condition, design, output

pytestmark = pytest.mark.django_db
NODES = [
    agent("draft"),
    condition("big", "out.draft.n > 5"),
    agent("polish", "big"),
    approval("review", "draft"),
    output("tell", "review", deliver="channel", target="telegram:-1001"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A home with one design, and room for runs."""
    b.profile()
    b.admin().user.__class__.objects.filter(username="root").update(is_superuser=True)
    (tmp_path / files.DESIGNS).mkdir()
    (tmp_path / files.RUNS).mkdir()
    put(tmp_path, "letters", design(*NODES))
    return tmp_path


def put(place: Path, name: str, value: Any) -> Path:
    """A design's file."""
    path = place / files.DESIGNS / f"{name}.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def put_run(place: Path, **state: Any) -> Path:
    """A run's file, in the shape that Hermes Workflow writes."""
    whole = {
        "run_id": "d7b493cae249", "name": "letters", "cursor": 0, "status": "running", "outputs": {}, "skipped": [], "pending": None,
        "error": None, "answers": {}, "deliveries": [], "attempts": {}, **state,
    }  # fmt: skip
    path = place / files.RUNS / f"{whole['run_id']}.json"
    path.write_text(json.dumps(whole))
    return path


def hermes(*words: Any, code: int = 0) -> dict[str, Any]:
    """What the command prints; its exit code is checked."""
    out = StringIO()
    try:
        call_command("hermes", *map(str, words), stdout=out)
        found = 0
    except SystemExit as ended:
        found = int(ended.code or 0)
    assert found == code, out.getvalue()
    said: dict[str, Any] = json.loads(out.getvalue())
    return said


def only(run_id: str) -> dict[str, Any]:
    """The run document; its rows are what its events say."""
    assert projections.differences(Run.objects.get(pk=run_id)) == []
    return b.document(run_id)


def test_a_folder_is_imported_and_a_corrupt_file_is_named(folder: Path):
    put(folder, "broken", '{"nodes": [')
    put(folder, "wrong", {"nodes": [{"id": "a", "type": "agent"}]})
    put(folder, "wrapped", {"name": "wrapped", "title": "A title", "graph": design(approval("ok"))})
    said = hermes("design", "import", folder, code=1)
    assert [one["name"] for one in said["imported"]] == ["letters", "wrapped"]
    assert [one["file"] for one in said["refused"]] == ["broken.json", "wrong.json"]
    assert "line 1" in said["refused"][0]["error"]["msg"]
    assert said["refused"][1]["defects"]
    assert set(Design.objects.values_list("slug", "title")) == {("letters", ""), ("wrapped", "A title")}


def test_the_same_folder_again_makes_no_new_version(folder: Path):
    hermes("design", "import", folder)
    said = hermes("design", "import", folder)
    assert (said["imported"], said["unchanged"]) == ([], [{"name": "letters", "version": 1}])
    put(folder, "letters", design(approval("other")))
    assert hermes("design", "import", folder)["imported"] == [{"name": "letters", "version": 2}]


@pytest.mark.parametrize("name", ["Upper", "a b", "-x", "x" * 65, "validate"])
def test_a_file_whose_name_can_be_no_design_is_refused(folder: Path, name: str):
    put(folder, name, design(approval("ok")))
    said = hermes("design", "import", folder, code=1)
    assert [one["name"] for one in said["imported"]] == ["letters"]
    assert len(said["refused"]) == 1


def test_a_link_is_not_followed_and_a_pipe_is_not_waited_for(folder: Path):
    (folder / files.DESIGNS / "linked.json").symlink_to("/etc/passwd")
    os.mkfifo(folder / files.DESIGNS / "pipe.json")
    said = hermes("design", "import", folder, code=1)
    assert {one["file"]: one["error"]["msg"] for one in said["refused"]} == {
        "linked.json": "is a link, which is not followed",
        "pipe.json": "is no plain file",
    }


@pytest.mark.parametrize("text", ["", "null", "[]", "7", "\ufeff{}", "{" * 100, '{"nodes": [], "nodes": []}', '{"x": NaN}', "\x00"])
def test_what_is_no_design_is_refused_and_the_rest_taken(folder: Path, text: str):
    put(folder, "bad", text)
    said = hermes("design", "import", folder, code=1)
    assert [one["file"] for one in said["refused"]] == ["bad.json"]
    assert [one["name"] for one in said["imported"]] == ["letters"]


def test_what_is_exported_is_what_was_imported(folder: Path, tmp_path: Path):
    put(folder, "letters", {"name": "letters", "title": "Letters", "mark": {"kept": 1}, **design(*NODES)})
    hermes("design", "import", folder)
    out = tmp_path / "out"
    said = hermes("design", "export", "letters", out)
    assert said["exported"] == [str(out / "letters.json")]
    written = json.loads((out / "letters.json").read_text())
    assert written == json.loads((folder / files.DESIGNS / "letters.json").read_text())
    assert [path.name for path in out.iterdir()] == ["letters.json"]
    Design.objects.update(deleted_at=timezone.now())
    assert hermes("design", "import", out)["imported"] == [{"name": "letters", "version": 1}]
    assert len(hermes("design", "export", "--all", out)["exported"]) == 1


def test_a_link_in_the_way_of_an_export_is_replaced_and_not_followed(folder: Path, tmp_path: Path):
    hermes("design", "import", folder)
    precious, out = tmp_path / "precious", tmp_path / "out"
    precious.write_text("keep me")
    out.mkdir()
    (out / "letters.json").symlink_to(precious)
    hermes("design", "export", "letters", out)
    assert precious.read_text() == "keep me"
    assert not (out / "letters.json").is_symlink()


def test_an_export_that_fails_leaves_the_old_file(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "x.json"
    files.write_file(path, {"old": True})

    def full(*given: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(OSError, match="No space"):
        files.write_file(path, {"new": True})
    assert json.loads(path.read_text()) == {"old": True}
    assert [one.name for one in tmp_path.glob("*x.json*")] == ["x.json"]


def test_a_design_that_is_not_here_is_not_exported(folder: Path):
    assert hermes("design", "export", "nowhere", folder, code=1)["error"]["code"] == "not_found"
    assert hermes("design", "export", folder, code=2)["ok"] is False


def test_a_finished_run_is_a_history_to_read(folder: Path):
    hermes("design", "import", folder)
    put_run(
        folder,
        status="done",
        cursor=5,
        outputs={
            "draft": {"n": 1},
            "big": {"result": False},
            "review": {"answer": "approve"},
            "tell": {"review": {"answer": "approve"}},
        },
        skipped=["big", "polish"],
        answers={"review": "approve"},
        deliveries=[{"node_id": "tell", "target": "telegram:-1001", "ok": False, "detail": "no bot"}],
        attempts={"draft": 2},
    )
    assert hermes("run", "import", folder)["imported"] == [{"run_id": "d7b493cae249", "name": "letters", "status": "done"}]
    run = only("d7b493cae249")
    assert (run["status"], run["origin"]) == ("done", "import")
    assert run["outputs"]["draft"] == {"n": 1}
    assert run["outputs"]["review"]["answer"] == "approve"
    assert set(run["skipped"]) == {"big", "polish"}
    assert run["attempts"] == {"draft": 2}
    assert run["deliveries"] == [{"node_id": "tell", "target": "telegram:-1001", "ok": False, "detail": "no bot"}]
    assert not Attempt.objects.exists()
    assert hermes("run", "import", folder)["known"][0]["run_id"] == "d7b493cae249"


def test_a_parked_run_waits_at_the_same_gate_and_goes_on(folder: Path):
    hermes("design", "import", folder)
    pending = {"node_id": "review", "question": "review?", "options": ["approve", "reject"], "context": {}, "waiting_since": "2026-01-01"}
    put_run(folder, status="awaiting_approval", cursor=3, outputs={"draft": {"n": 1}}, skipped=["big", "polish"], pending=pending)
    hermes("run", "import", folder)
    run = only("d7b493cae249")
    assert (run["status"], run["pending"]["node_id"], run["pending"]["context"]) == ("awaiting_approval", "review", {"draft": {"n": 1}})
    assert not Attempt.objects.exists()
    b.vote("d7b493cae249", "review", "approve")
    b.work("d7b493cae249")
    assert only("d7b493cae249")["status"] == "done"


def test_a_run_that_waits_for_the_chat_agent_still_does(folder: Path):
    hermes("design", "import", folder)
    put_run(folder, status="awaiting_agent", pending={"node_id": "draft", "prompt": "do draft", "context": {}}, input={"text": "hello"})
    hermes("run", "import", folder)
    run = only("d7b493cae249")
    assert (run["status"], run["pending"]["node_id"], run["input"]) == ("awaiting_agent", "draft", {"text": "hello"})
    b.performed("d7b493cae249", "draft", {"n": 9})
    assert only("d7b493cae249")["pending"]["node_id"] == "polish"


def test_a_failed_run_is_failed_and_can_be_retried(folder: Path):
    hermes("design", "import", folder)
    put_run(
        folder,
        status="failed",
        outputs={"draft": {"n": 9}, "big": {"result": True}},
        error={"node_id": "polish", "msg": "429", "kind": "rate_limited", "hint": "wait"},
        attempts={"draft": 1, "polish": 2},
    )
    hermes("run", "import", folder)
    run = only("d7b493cae249")
    assert (run["status"], run["error"]["node_id"], run["error"]["kind"]) == ("failed", "polish", "rate_limited")
    services.retry_run(principal=b.admin(), run_id="d7b493cae249")
    assert only("d7b493cae249")["status"] == "running"
    assert Attempt.objects.get().key == "polish"


def test_a_run_that_was_at_work_is_nobodys_and_waits_for_a_retry(folder: Path):
    hermes("design", "import", folder)
    put_run(folder, status="running", cursor=2, outputs={"draft": {"n": 9}, "big": {"result": True}})
    hermes("run", "import", folder)
    run = only("d7b493cae249")
    assert (run["status"], run["error"]["kind"]) == ("failed", "worker_lost")
    assert not Attempt.objects.exists()


def test_a_run_whose_design_is_unknown_or_waits_elsewhere_is_refused_and_the_rest_taken(folder: Path):
    hermes("design", "import", folder)
    put_run(folder, run_id="aaaaaa", name="nowhere", status="done")
    put_run(folder, run_id="bbbbbb", status="awaiting_approval", pending={"node_id": "gone"}, outputs={"draft": {"n": 1}})
    put_run(folder, run_id="cccccc", status="done", outputs={"draft": "text"})
    said = hermes("run", "import", folder, code=1)
    assert [one["file"] for one in said["refused"]] == ["aaaaaa.json", "bbbbbb.json"]
    assert [one["run_id"] for one in said["imported"]] == ["cccccc"]
    assert set(Run.objects.values_list("pk", flat=True)) == {"cccccc"}


@pytest.mark.parametrize(
    "state",
    [
        {"run_id": "../../etc"},
        {"run_id": "ABCDEF"},
        {"status": "odd"},
        {"status": ["done"]},
        {"name": "../x"},
        {"name": None},
        {"outputs": []},
        {"outputs": None, "skipped": {}},
        {"deliveries": "no"},
        {"pending": "review", "status": "awaiting_approval"},
        {"status": "done", "outputs": {"review": {"answer": 5}}},
        {"status": "awaiting_approval"},
    ],
)
def test_a_state_that_cannot_be_is_refused(folder: Path, state: dict[str, Any]):
    hermes("design", "import", folder)
    path = put_run(folder)
    path.write_text(json.dumps({**json.loads(path.read_text()), **state}))
    assert len(hermes("run", "import", folder, code=1)["refused"]) == 1
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    "state",
    [
        {"attempts": {"draft": -1}, "outputs": {"draft": 1}},
        {"attempts": {"draft": True}, "cursor": "x"},
        {"error": {"node_id": 5, "msg": None, "kind": "odd"}, "status": "failed"},
        {"error": {"node_id": "nowhere", "msg": "x" * 10_000}, "status": "failed"},
        {"deliveries": [5, {"node_id": "tell", "target": "x" * 999, "ok": "yes"}], "outputs": {"tell": {}}},
        {"skipped": [5, None, "nowhere"]},
        {"cursor": 10**30},
        {"answers": {"review": "odd"}, "outputs": {"review": {}}},
    ],
)
def test_a_state_that_is_odd_is_taken_as_far_as_it_means_something(folder: Path, state: dict[str, Any]):
    hermes("design", "import", folder)
    put_run(folder, **{"status": "done", **state})
    hermes("run", "import", folder)
    assert only("d7b493cae249")["status"] in ("done", "failed")


def test_a_file_is_validated_without_a_database(folder: Path):
    assert hermes("design", "validate", folder / files.DESIGNS / "letters.json") == {"ok": True, "defects": []}
    bad = put(folder, "bad", {"nodes": [{"id": "a", "type": "agent"}]})
    assert hermes("design", "validate", bad, code=1)["defects"]
    put(folder, "bad", "{")
    assert hermes("design", "validate", bad, code=1)["error"]["code"] == "malformed"


@pytest.mark.parametrize("words", [["design", "import", "/no/such/place"], ["run", "import", "/no/such"], ["design", "validate", "/tmp"]])
def test_what_is_not_there_is_wrong_usage(folder: Path, words: list[str]):
    assert hermes(*words, code=2)["error"]["code"] == "unusable"


@pytest.mark.parametrize("words", [[], ["design"], ["smoke"], ["design", "import"]])
def test_wrong_words_are_wrong_usage(words: list[str]):
    with pytest.raises(CommandError):
        call_command("hermes", *words)


def test_the_module_is_the_same_command(tmp_path: Path):
    path = tmp_path / "letters.json"
    path.write_text(json.dumps(design(approval("ok"))))
    environment = {**os.environ, "HERMES_HOME": str(tmp_path / "home")}

    def module(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "hermes_workflow", *words], env=environment, capture_output=True, text=True, timeout=60
        )

    done = module("design", "validate", str(path))
    assert (done.returncode, json.loads(done.stdout)) == (0, {"ok": True, "defects": []})
    assert module("design").returncode == 2
    unmade = module("design", "import", str(path))
    assert (unmade.returncode, json.loads(unmade.stdout)["error"]["code"]) == (2, "database")
