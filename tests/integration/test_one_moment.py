"""What is read and written belongs to one moment, however many people and workers are at a run."""

import threading
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection, transaction

from runs import engine, selectors
from runs.models import Run
from tests import builders as b
from tests.fakes import ScriptedPerformer

pytestmark = pytest.mark.django_db


def test_a_document_never_says_done_before_it_holds_the_outputs(performer: ScriptedPerformer, monkeypatch: pytest.MonkeyPatch):
    run_id, read = b.started(b.agent("draft"), b.output("out")), selectors.run_for

    def finished_meanwhile(*args: Any) -> Run:
        b.work(run_id)
        return read(*args)

    monkeypatch.setattr(selectors, "run_for", finished_meanwhile)
    shown = b.document(run_id)
    assert (shown["status"], list(shown["outputs"])) == ("done", ["draft", "out"])


def test_a_document_that_awaits_an_answer_shows_what_is_asked(monkeypatch: pytest.MonkeyPatch):
    run_id, read = b.started(b.approval("one"), b.approval("two")), selectors.open_gates

    def answered_meanwhile(*args: Any) -> list[Any]:
        if Run.objects.get(pk=run_id).seq == 2:
            b.vote(run_id, "one", "approve")
        return read(*args)

    monkeypatch.setattr(selectors, "open_gates", answered_meanwhile)
    shown = b.document(run_id)
    assert (shown["answers"], shown["pending"]["node_id"], shown["seq"]) == ({"one": "approve"}, "two", 5)


@pytest.mark.django_db(transaction=True)
def test_a_turn_that_waited_for_its_run_is_later_than_the_one_it_waited_for():
    run_id = b.started(b.approval("one"), b.approval("two"))
    waiting, told = threading.Event(), []

    def late() -> None:
        waiting.set()
        try:
            told.append(engine.turn(run_id, lambda turn: None).now)
        finally:
            connection.close()

    with transaction.atomic():
        Run.objects.filter(pk=run_id).update(cursor=0)
        thread = threading.Thread(target=late)
        thread.start()
        waiting.wait(5)
        thread.join(0.3)
        let_go = datetime.now(UTC)
    thread.join(10)
    assert told[0] >= let_go
