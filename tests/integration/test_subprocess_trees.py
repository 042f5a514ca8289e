"""Nothing of a performer is left: not after a timeout, a limit, a cancel or a normal end, and not when the worker is killed."""

import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from runs.seams import Assignment, Failed, Performed
from runs.seams.subprocess import SubprocessPerformer
from tests.processes import eventually, marked

ROOT = Path(__file__).resolve().parents[2]
STUBBORN = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
def hide():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(120)
        os._exit(0)
hide(); hide()
subprocess.Popen(["sleep", "120"], start_new_session=True)
open(sys.argv[1], "w").close()
"""


@pytest.fixture
def mark(monkeypatch):
    name = f"mark-{uuid.uuid4().hex}"
    monkeypatch.setenv("TREE_MARK", name)
    return name


def assignment(tmp_path, then, *, seconds=60.0):
    argv = [sys.executable, "-I", "-S", "-c", STUBBORN + then, str(tmp_path / "ready")]
    return Assignment(
        "ab12cd", "draft", 1, "", timeout_seconds=seconds, settings={"argv": argv, "env": ["TREE_MARK"], "grace_seconds": 0.5}
    )


@pytest.mark.parametrize(
    ("then", "code"),
    [
        ("time.sleep(120)", "timeout"),
        ("while True: os.write(1, b'x' * 65536)", "stdout_exceeded"),
        ("while True: os.write(2, b'x' * 65536)", "stderr_exceeded"),
        ("sys.exit(3)", "nonzero_exit"),
        ("os.kill(os.getpid(), 9)", "signalled"),
        ("os.kill(os.getppid(), 9); time.sleep(120)", "lost"),
    ],
)
def test_a_tree_that_hides_and_ignores_signals_is_gone_when_the_attempt_ends(tmp_path, mark, then, code):
    outcome = SubprocessPerformer().perform(assignment(tmp_path, then, seconds=1.5), cancelled=lambda: False)
    assert isinstance(outcome, Failed)
    assert outcome.diagnostics["code"] == code
    assert marked(mark) == {}


def test_cancelling_ends_the_whole_tree(tmp_path, mark):
    outcome = SubprocessPerformer().perform(assignment(tmp_path, "time.sleep(120)"), cancelled=(tmp_path / "ready").exists)
    assert outcome.kind == "cancelled_by_owner"
    assert marked(mark) == {}


def test_what_a_finished_program_leaves_behind_is_ended_and_its_answer_kept(tmp_path, mark):
    outcome = SubprocessPerformer().perform(assignment(tmp_path, 'print(\'{"output": "done"}\')'), cancelled=lambda: False)
    assert outcome == Performed("done", False)
    assert marked(mark) == {}


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_killing_the_worker_ends_the_tree_within_five_seconds(tmp_path, mark, number):
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(tmp_path / "ready"), STUBBORN], cwd=ROOT, env={**os.environ, "TMPDIR": str(tmp_path)}
    )
    try:
        eventually((tmp_path / "ready").exists, within=20, what="the start of the tree")
        assert len(marked(mark)) >= 5
        worker.send_signal(number)
        worker.wait(10)
        eventually(lambda: marked(mark) == {}, within=5, what="the end of the tree")
        eventually(lambda: list(tmp_path.glob("hermes-*")) == [], within=2, what="the end of its directory")
    finally:
        worker.kill()
        worker.wait()


WORKER = """
import sys, threading
from runs.seams import Assignment
from runs.seams.subprocess import SubprocessPerformer
argv = [sys.executable, "-I", "-S", "-c", sys.argv[2] + "time.sleep(120)", sys.argv[1]]
work = Assignment("ab12cd", "draft", 1, "", settings={"argv": argv, "env": ["TREE_MARK"], "grace_seconds": 0.5})
thread = threading.Thread(target=SubprocessPerformer().perform, args=(work,), kwargs={"cancelled": lambda: False})
thread.start()
thread.join()
"""
