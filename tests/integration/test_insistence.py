"""A database that is away just when an outcome has to be written: the step is not performed again for that."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import InterfaceError, OperationalError, connection

from runs import insistence, warm
from runs.models import Attempt
from tests import builders as b
from tests.fakes import ScriptedPerformer, again, structured

pytestmark = pytest.mark.django_db(transaction=True)


class Away:
    """A database that refuses the next statements that name a table."""

    def __init__(self, error: type[Exception], table: str, times: int) -> None:
        self.error, self.table, self.times = error, table, times

    def __call__(self, execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        if self.times and self.table in sql:
            self.times -= 1
            raise self.error("the database system is shutting down")
        return execute(sql, *rest)


def away(error: type[Exception], table: str, times: int, outcome: Any) -> Callable[[Any], Any]:
    """The database goes away while the performer is at work."""

    def move(given: Any) -> Any:
        warm.forget()
        connection.execute_wrappers.append(Away(error, table, times))
        return outcome

    return move


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(insistence, "PAUSE", 0.01)
    yield
    connection.execute_wrappers.clear()


@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
def test_an_outcome_is_written_when_the_database_is_back(performer: ScriptedPerformer, error: type[Exception]):
    performer.does("draft", away(error, "runs_run", 5, structured(1)))
    shown = b.ran(b.agent("draft"), b.agent("next"))
    assert (shown["status"], shown["attempts"]) == ("done", {"draft": 1, "next": 1})
    assert [given.node_id for given in performer.seen] == ["draft", "next"]
    assert b.types_of(shown["run_id"]).count("step.completed") == 2


def test_the_name_of_remote_work_is_kept_when_the_database_is_back(performer: ScriptedPerformer):
    performer.does("draft", away(OperationalError, "runs_attempt", 5, again(60)))
    b.work(b.started(b.agent("draft")))
    assert (Attempt.objects.get().ref, Attempt.objects.get().status) == ("remote-1", "ready")


def test_a_database_that_stays_away_leaves_the_step_to_its_lease(performer: ScriptedPerformer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(insistence, "INSIST_FOR", 0.05)
    performer.does("draft", away(OperationalError, "runs_run", 1000, structured(1)))
    run_id = b.started(b.agent("draft"))
    with pytest.raises(OperationalError):
        b.work(run_id)
    connection.execute_wrappers.clear()
    assert Attempt.objects.get().status == "leased"
