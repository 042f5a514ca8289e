"""Reminders: once a period, to those who may answer, a few gates at a time."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.contrib.auth.models import Group
from django.utils import timezone

from runs import pulse, reminders
from runs.models import Gate, Notice
from tests import builders as b

pytestmark = pytest.mark.django_db

T0 = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(hours=24)


@pytest.fixture(autouse=True)
def clock(settings: object) -> Iterator[time_machine.Traveller]:
    settings.HERMES_REMIND_HOURS = 24.0
    with time_machine.travel(T0, tick=False) as moment:
        b.person("ann", "reviewer")
        b.person("vic", "viewer")
        look()
        yield moment


def look() -> int:
    return reminders.remind(timezone.now())


def bells() -> list[str]:
    return sorted(Notice.objects.values_list("user__username", flat=True))


def test_a_gate_that_waits_reminds_its_reviewers_once_a_day(clock: time_machine.Traveller):
    b.started(b.approval("review", question="May it go out?"))
    clock.shift(DAY - timedelta(minutes=1))
    assert look() == 0
    clock.shift(timedelta(minutes=1))
    assert look() == 1
    assert bells() == ["ann", "root"]
    notice = Notice.objects.first()
    assert notice.title == "flow: review has waited 1 d for an answer"
    assert notice.text == "May it go out?"
    for _ in range(5):
        clock.shift(timedelta(hours=4))
        assert look() == 0
    clock.shift(timedelta(hours=4))
    assert look() == 1
    assert len(bells()) == 4


def test_the_same_reminder_is_sent_once_however_often_and_by_whomever_it_is_looked_for(clock: time_machine.Traveller):
    b.started(b.approval("review"))
    clock.shift(DAY)
    for _ in range(3):
        reminders.health.sign(reminders.LOOKED, timezone.now() - timedelta(minutes=5))
        look()
    assert bells() == ["ann", "root"]


def test_one_look_a_minute_is_enough(clock: time_machine.Traveller, django_assert_num_queries):
    clock.shift(timedelta(seconds=30))
    with django_assert_num_queries(1):
        look()


def test_a_reminder_that_came_due_while_nobody_looked_is_sent_once(clock: time_machine.Traveller):
    b.started(b.approval("review"))
    clock.shift(10 * DAY + timedelta(hours=3))
    assert look() == 1
    assert look() == 0
    assert bells() == ["ann", "root"]


def test_many_gates_are_reminded_of_a_few_at_a_time_and_none_is_left_out(clock: time_machine.Traveller):
    design = b.saved(b.approval("review"))
    for _ in range(7):
        b.begun(design)
        clock.shift(1)
    clock.shift(DAY)
    reminded = []
    for _ in range(4):
        reminded.append(reminders.remind(timezone.now(), limit=3))
        clock.shift(timedelta(minutes=1))
    assert reminded == [3, 3, 1, 0]
    assert Notice.objects.filter(user__username="ann").values("run").distinct().count() == 7


def test_zero_hours_send_none(clock: time_machine.Traveller, settings: object):
    settings.HERMES_REMIND_HOURS = 0
    b.started(b.approval("review"))
    clock.shift(DAY)
    assert look() == 0


def test_a_gate_is_not_reminded_of_for_ever(clock: time_machine.Traveller):
    b.started(b.approval("review"))
    clock.shift(DAY * (reminders.MOST + 1))
    assert look() == 0


def test_an_answered_gate_and_a_step_for_the_chat_agent_remind_nobody(clock: time_machine.Traveller):
    b.vote(b.started(b.approval("review"), name="one"), "review", "approve")
    b.profile("parked", "none")
    b.started(b.agent("draft", profile="parked"), name="two")
    clock.shift(DAY)
    assert look() == 0


def test_only_those_are_reminded_whom_the_gate_asks(clock: time_machine.Traveller):
    b.person("ben", "reviewer")
    legal = Group.objects.create(name="legal")
    b.person("lea", "reviewer").user.groups.add(legal)
    b.started(b.approval("review", assignees=["group:legal"]))
    clock.shift(DAY)
    look()
    assert bells() == ["lea"]


def test_who_has_voted_is_left_in_peace(clock: time_machine.Traveller):
    b.person("ben", "reviewer")
    b.started(b.approval("review", assignees=["user:ann", "user:ben"], quorum=2))
    Gate.objects.update(votes=[{"by": b.person("ann").id, "name": "ann", "answer": "approve"}])
    clock.shift(DAY)
    look()
    assert bells() == ["ben"]


def test_who_may_not_answer_because_of_separated_duties_is_left_in_peace(clock: time_machine.Traveller, settings: object):
    settings.HERMES_SEPARATE_DUTIES = True
    b.started(b.approval("review"))
    clock.shift(DAY)
    look()
    assert bells() == ["ann"]


def test_nobody_is_reminded_of_a_gate_that_they_cannot_see(clock: time_machine.Traveller):
    secret = b.profile("secret")
    outsider, gone = b.person("out", "reviewer"), b.person("gone", "reviewer").user
    b.begun(b.saved(b.approval("review", assignees=["user:out", "user:gone"]), profile="secret"))
    type(secret).objects.filter(pk=secret.pk).update(is_open=False)
    gone.is_active = False
    gone.save()
    clock.shift(DAY)
    assert look() == 1
    assert not Notice.objects.filter(user=outsider.user).exists()
    assert bells() == []


@pytest.mark.django_db(transaction=True)
def test_the_pulse_reminds(clock: time_machine.Traveller):
    b.started(b.approval("review"))
    clock.shift(DAY)
    pulse.beat()
    assert bells() == ["ann", "root"]


@pytest.mark.django_db(transaction=True)
def test_a_look_that_fails_keeps_no_deadline_waiting(
    clock: time_machine.Traveller, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    def broken(*_: object, **__: object) -> int:
        raise ValueError("broken")

    monkeypatch.setattr(pulse.reminders, "remind", broken)
    monkeypatch.setattr(pulse.slots, "start_due", broken)
    run_id = b.started(b.approval("review", timeout_minutes=1))
    clock.shift(60)
    assert pulse.beat().turned == 1
    assert b.document(run_id)["status"] == "failed"
    assert "look at schedules failed" in caplog.text
