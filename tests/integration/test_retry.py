"""Retries of steps and of runs: budgets, durable waits, what is kept, which version is followed."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from hermes_workflow.core import events as e
from hermes_workflow.core.errors import Conflict, Forbidden, Malformed
from runs import services
from runs.models import Attempt, Delivery, Notice, Run
from tests import builders as b
from tests.fakes import ScriptedPerformer, failed, structured, text

pytestmark = pytest.mark.django_db

T0 = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def clock() -> Iterator[time_machine.Traveller]:
    with time_machine.travel(T0, tick=False) as moment:
        yield moment


def retry(run_id: str, **more: str) -> None:
    services.retry_run(principal=b.admin(), run_id=run_id, **more)


def tries_of(shown: dict) -> tuple[str, dict[str, int]]:
    return shown["status"], shown["attempts"]


# --- tries of a step


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_a_step_gets_its_retries_plus_one_tries_at_most(performer: ScriptedPerformer, retries: int):
    performer.does("draft", *[failed()] * 9)
    assert tries_of(b.ran(b.agent("draft", retries=retries))) == ("failed", {"draft": retries + 1})


def test_a_try_that_succeeds_ends_the_retries(performer: ScriptedPerformer):
    performer.does("draft", failed(), structured(1))
    shown = b.ran(b.agent("draft", retries=3))
    assert tries_of(shown) == ("done", {"draft": 2})
    assert shown["outputs"] == {"draft": 1}


def test_a_rate_limited_step_waits_in_the_database_and_nobody_sleeps(performer: ScriptedPerformer, clock: time_machine.Traveller):
    performer.does("draft", failed("rate_limited"))
    run_id = b.started(b.agent("draft"))
    assert b.work(run_id) == 1
    assert Attempt.objects.get(run_id=run_id, number=2).ready_at == T0 + timedelta(seconds=15)
    assert b.document(run_id)["status"] == "running"
    clock.shift(14.9)
    assert b.work(run_id) == 0
    clock.shift(0.1)
    assert b.work(run_id) == 1
    assert tries_of(b.document(run_id)) == ("done", {"draft": 2})


def test_a_second_rate_limit_without_retries_fails_after_two_tries(performer: ScriptedPerformer, clock: time_machine.Traveller):
    performer.does("draft", failed("rate_limited"), failed("rate_limited"))
    run_id = b.started(b.agent("draft"))
    b.work(run_id)
    clock.shift(15)
    b.work(run_id)
    shown = b.document(run_id)
    assert tries_of(shown) == ("failed", {"draft": 2})
    assert shown["error"]["kind"] == "rate_limited"


def test_the_extra_try_comes_once_per_step_on_top_of_the_retries(performer: ScriptedPerformer, clock: time_machine.Traveller):
    performer.does("draft", *[failed("rate_limited")] * 9)
    run_id = b.started(b.agent("draft", retries=1))
    for _ in range(9):
        b.work(run_id)
        clock.shift(15)
    assert tries_of(b.document(run_id)) == ("failed", {"draft": 3})


def test_every_rate_limited_try_waits_and_a_longer_retry_after_wins(performer: ScriptedPerformer, clock: time_machine.Traveller):
    performer.does("draft", failed("rate_limited", retry_after=2), failed("rate_limited", retry_after=40))
    run_id = b.started(b.agent("draft", retries=3))
    waits = []
    for number in (2, 3):
        b.work(run_id)
        attempt = Attempt.objects.get(run_id=run_id, number=number)
        waits.append((attempt.ready_at - datetime.now(UTC)).total_seconds())
        clock.shift(waits[-1])
    assert waits == [15, 40]


def test_a_provider_cannot_park_a_run_for_longer_than_an_hour(performer: ScriptedPerformer, clock: time_machine.Traveller):
    performer.does("draft", failed("rate_limited", retry_after=10**9))
    run_id = b.started(b.agent("draft"))
    b.work(run_id)
    assert Attempt.objects.get(run_id=run_id, number=2).ready_at == T0 + timedelta(hours=1)


def test_another_failure_without_retries_is_final_and_quotes_the_performer(performer: ScriptedPerformer):
    performer.does("draft", failed(msg="the bot said: no such file"))
    shown = b.ran(b.agent("draft"))
    assert tries_of(shown) == ("failed", {"draft": 1})
    assert "the bot said: no such file" in shown["error"]["msg"]


def test_a_performer_that_raises_fails_the_try_not_the_worker(performer: ScriptedPerformer):
    performer.does("draft", ZeroDivisionError("oops"), structured(1))
    assert tries_of(b.ran(b.agent("draft", retries=1))) == ("done", {"draft": 2})


# --- retry of a run


def test_a_retry_enters_at_the_failed_step_and_keeps_what_succeeded(performer: ScriptedPerformer):
    performer.does("two", failed())
    shown = b.ran(b.agent("one"), b.agent("two"), b.agent("three"))
    retry(shown["run_id"])
    b.work(shown["run_id"])
    assert [assignment.node_id for assignment in performer.seen] == ["one", "two", "two", "three"]
    again = b.document(shown["run_id"])
    assert tries_of(again) == ("done", {"one": 1, "two": 2, "three": 1})
    assert (again["error"], again["ended_at"] is not None) == (None, True)


def test_a_retry_renews_the_budget_and_counts_attempts_on(performer: ScriptedPerformer):
    performer.does("draft", *[failed()] * 4)
    run_id = b.ran(b.agent("draft", retries=1))["run_id"]
    retry(run_id)
    b.work(run_id)
    assert tries_of(b.document(run_id)) == ("failed", {"draft": 4})
    keys = [assignment.idempotency_key for assignment in performer.seen]
    assert len(set(keys)) == 4


def test_a_retry_renews_the_extra_try_after_a_rate_limit(performer: ScriptedPerformer, clock: time_machine.Traveller):
    performer.does("draft", *[failed("rate_limited")] * 4)
    run_id = b.started(b.agent("draft"))
    for _ in range(2):
        for _ in range(2):
            b.work(run_id)
            clock.shift(15)
        if b.document(run_id)["attempts"]["draft"] == 2:
            retry(run_id)
    assert tries_of(b.document(run_id)) == ("failed", {"draft": 4})


def test_a_delivery_that_was_sent_is_not_sent_again(performer: ScriptedPerformer):
    performer.does("bad", failed())
    run_id = b.ran(b.output("tell", deliver="notification", target="user:root"), b.agent("bad"))["run_id"]
    retry(run_id)
    b.work(run_id)
    assert b.document(run_id)["status"] == "done"
    assert (Delivery.objects.count(), Notice.objects.filter(title="flow: tell").count()) == (1, 1)


def test_a_retry_asks_a_gate_that_stopped_the_run_again(performer: ScriptedPerformer):
    run_id = b.started(b.agent("draft"), b.approval("review", stop_on=["reject"]), b.output("out"))
    b.work(run_id)
    b.vote(run_id, "review", "reject")
    retry(run_id)
    shown = b.document(run_id)
    assert (shown["status"], shown["pending"]["round"], shown["answers"]) == ("awaiting_approval", 2, {})
    b.vote(run_id, "review", "approve")
    assert b.document(run_id)["answers"] == {"review": "approve"}
    assert len(performer.seen) == 1


def test_a_running_run_without_a_retry_stamp_is_not_retried(performer: ScriptedPerformer):
    run_id = b.started(b.agent("draft"))
    with pytest.raises(Conflict, match="running"):
        retry(run_id)


@pytest.mark.parametrize(("seconds", "taken"), [(599, False), (600, True)])
def test_a_running_run_is_taken_over_when_its_retry_is_600_seconds_old(
    performer: ScriptedPerformer, clock: time_machine.Traveller, seconds: int, taken: bool
):
    performer.does("draft", failed())
    run_id = b.ran(b.agent("draft"))["run_id"]
    retry(run_id)
    clock.shift(seconds)
    if not taken:
        with pytest.raises(Conflict, match="10 minutes"):
            retry(run_id)
        return
    retry(run_id)
    assert list(Attempt.objects.filter(run_id=run_id).order_by("number").values_list("number", "status")) == [
        (1, "failed"),
        (2, "cancelled"),
        (3, "ready"),
    ]


def test_a_waiting_run_is_answered_not_retried():
    run_id = b.started(b.approval("review"))
    with pytest.raises(Conflict, match="answer it"):
        retry(run_id)


def test_a_finished_run_is_not_retried(performer: ScriptedPerformer):
    run_id = b.ran(b.agent("draft"))["run_id"]
    before = b.events_of(run_id)
    with pytest.raises(Conflict, match="done"):
        retry(run_id)
    assert b.events_of(run_id) == before


def test_only_operators_retry_and_only_known_versions_are_chosen(performer: ScriptedPerformer):
    performer.does("draft", failed())
    run_id = b.ran(b.agent("draft"))["run_id"]
    with pytest.raises(Forbidden):
        services.retry_run(principal=b.person("vic", "viewer"), run_id=run_id)
    with pytest.raises(Malformed):
        retry(run_id, version="newest")


def test_two_retries_of_one_failure_are_one(performer: ScriptedPerformer):
    performer.does("draft", failed())
    run_id = b.ran(b.agent("draft"))["run_id"]
    retry(run_id)
    with pytest.raises(Conflict):
        retry(run_id)
    assert b.types_of(run_id).count(e.RUN_REOPENED) == 1


# --- another version


def test_a_retry_follows_the_pinned_version_unless_told_otherwise(performer: ScriptedPerformer):
    performer.does("two", failed())
    run_id = b.ran(b.agent("one"), b.agent("two"))["run_id"]
    b.saved(b.agent("one"), b.agent("two", prompt="better"))
    retry(run_id)
    b.work(run_id)
    assert b.document(run_id)["version"] == 1
    assert performer.tries("two")[1].prompt == "do two"


def test_a_retry_with_the_current_version_keeps_the_outputs_of_the_same_nodes(performer: ScriptedPerformer):
    performer.does("one", structured({"kept": True}))
    performer.does("two", failed())
    run_id = b.ran(b.agent("one"), b.agent("two"))["run_id"]
    b.saved(b.agent("one"), b.agent("new"), b.agent("two", prompt="better"))
    retry(run_id, version="current")
    b.work(run_id)
    shown = b.document(run_id)
    assert (shown["status"], shown["version"]) == ("done", 2)
    assert [assignment.node_id for assignment in performer.seen] == ["one", "two", "new", "two"]
    assert shown["outputs"]["one"] == {"kept": True}
    assert performer.tries("two")[1].prompt == "better"
    assert Run.objects.get(pk=run_id).plan_id == Run.objects.get(pk=run_id).version.plan_id


def test_the_versions_of_a_design_that_moved_away_are_not_followed(performer: ScriptedPerformer):
    performer.does("draft", failed())
    b.profile("elsewhere", is_open=False)
    run_id = b.started(b.agent("draft"))
    b.work(run_id)
    b.saved(b.agent("draft"), b.approval("secret question"), profile="elsewhere")
    with pytest.raises(Conflict, match="another profile"):
        retry(run_id, version="current")
    retry(run_id)
    b.work(run_id)
    assert b.document(run_id)["status"] == "done"


def test_conditions_of_the_current_version_are_asked_anew_over_the_kept_outputs(performer: ScriptedPerformer):
    performer.does("one", structured({"n": 3}))
    performer.does("bad", failed())
    run_id = b.ran(b.agent("one"), b.condition("big", "out.one.n > 5"), b.agent("below"), b.agent("bad", "one"))["run_id"]
    b.saved(b.agent("one"), b.condition("big", "out.one.n > 2"), b.agent("below"), b.agent("bad", "one"))
    retry(run_id, version="current")
    b.work(run_id)
    shown = b.document(run_id)
    assert (shown["status"], shown["skipped"]) == ("done", [])
    assert shown["outputs"]["below"] == {"did": "below"}


def test_the_failed_node_may_be_deleted_in_the_current_version(performer: ScriptedPerformer):
    performer.does("bad", failed())
    run_id = b.ran(b.agent("one"), b.agent("bad"))["run_id"]
    b.saved(b.agent("one"), b.output("out"))
    retry(run_id, version="current")
    shown = b.document(run_id)
    assert (shown["status"], shown["outputs"]["out"]) == ("done", {"one": {"did": "one"}})


def test_work_on_a_node_that_the_current_version_lacks_is_called_off(performer: ScriptedPerformer, clock: time_machine.Traveller):
    performer.does("bad", failed())
    run_id = b.ran(b.agent("one"), b.agent("bad"))["run_id"]
    retry(run_id)
    b.saved(b.agent("one"), b.agent("other"))
    clock.shift(600)
    retry(run_id, version="current")
    b.work(run_id)
    assert b.document(run_id)["status"] == "done"
    assert [assignment.node_id for assignment in performer.seen] == ["one", "bad", "other"]
    assert Attempt.objects.get(run_id=run_id, key="bad", number=2).status == "cancelled"


def test_a_renamed_trigger_does_not_lose_what_an_output_collected(performer: ScriptedPerformer):
    performer.does("bad", failed())
    run_id = b.ran(b.output("out"), b.agent("bad"), input={"text": "x"})["run_id"]
    b.saved(b.trigger("begin"), b.output("out"), b.agent("bad"))
    retry(run_id, version="current")
    b.work(run_id)
    shown = b.document(run_id)
    assert (shown["status"], shown["outputs"]["out"]) == ("done", {"start": {"text": "x"}})


def test_a_new_run_starts_from_nothing_and_the_same_key_gives_it_again(performer: ScriptedPerformer):
    design = b.saved(b.agent("draft"))
    first, new = services.start_run(principal=b.admin(), design=design, origin="api", key="k1", input={"a": 1})
    again, second_new = services.start_run(principal=b.admin(), design=design, origin="api", key="k1", input={"a": 1})
    assert (first.pk, new, second_new) == (again.pk, True, False)
    assert Run.objects.count() == 1
    performer.does("draft", text("x"))
    b.work(first.pk)
    assert b.document(first.pk)["attempts"] == {"draft": 1}
