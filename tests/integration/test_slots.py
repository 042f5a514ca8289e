"""Slots: every one starts one run, whoever looks and however often, and a broken schedule stands alone."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection

from hermes_workflow.core.errors import Conflict
from hermes_workflow.models import Design, Profile, Schedule
from hermes_workflow.services import delete_design
from runs import pulse, slots, starts
from runs.models import Notice, Run
from tests import builders as b
from tests.bad_inputs import plays

pytestmark = pytest.mark.django_db(transaction=True)

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)


def scheduled(*nodes: b.Node, name: str = "nightly", **more: Any) -> Schedule:
    """A schedule due at noon, of a design whose runs wait at a gate unless nodes are given."""
    design = b.saved(*(nodes or [b.approval("review")]), name=name)
    given = {"owner": b.admin().user, "cron": "* * * * *", "timezone": "UTC", "next_at": NOON, **more}
    return Schedule.objects.create(design=design, **given)


def slots_of(schedule: Schedule) -> list[datetime]:
    """The slots that have a run, in order."""
    return list(Run.objects.filter(schedule=schedule).order_by("slot").values_list("slot", flat=True))


def at(now: datetime, limit: int = 200) -> int:
    """What starts when somebody looks at this moment."""
    return slots.start_due(now, limit=limit)


def test_a_due_schedule_starts_one_run_for_its_owner_and_moves_on():
    schedule = scheduled(input={"text": "the weekly report"})
    assert at(NOON + timedelta(seconds=1)) == 1
    run = Run.objects.get()
    assert (run.origin, run.slot, run.schedule, run.started_by) == ("schedule", NOON, schedule, schedule.owner)
    assert b.document(run.pk)["input"] == {"text": "the weekly report"}
    schedule.refresh_from_db()
    assert (schedule.next_at, schedule.last_slot) == (NOON + MINUTE, NOON)


def test_before_its_time_nothing_starts():
    scheduled()
    assert at(NOON - timedelta(milliseconds=1)) == 0


def test_looking_again_starts_nothing_more():
    schedule = scheduled()
    assert [at(NOON), at(NOON), at(NOON)] == [1, 0, 0]
    assert slots_of(schedule) == [NOON]


def test_a_machine_that_was_slower_starts_no_second_run_and_still_moves_on():
    schedule = scheduled()
    faster = starts.Start(design=schedule.design, origin="schedule", starter=schedule.owner, schedule=schedule, slot=NOON)
    starts.start(faster)
    assert at(NOON) == 0
    assert slots_of(schedule) == [NOON]
    schedule.refresh_from_db()
    assert schedule.next_at == NOON + MINUTE
    with pytest.raises(Conflict):
        starts.start(faster)


@pytest.mark.parametrize("change", [{"enabled": False}, {"problem": "broken"}, {"next_at": None}])
def test_a_schedule_that_is_off_starts_nothing(change: dict[str, Any]):
    scheduled(**change)
    assert at(NOON) == 0


def test_a_scheduled_run_waits_at_its_gate_like_any_other():
    scheduled(b.approval("review"), b.output("done"))
    at(NOON)
    pulse.beat(now=NOON + timedelta(seconds=2))
    assert Run.objects.get().status == "awaiting_approval"


def test_the_pulse_starts_what_is_due():
    schedule = scheduled()
    pulse.beat(now=NOON)
    assert slots_of(schedule) == [NOON]


@pytest.mark.parametrize(
    ("catch_up", "expected"),
    [
        ("none", [NOON + 10 * MINUTE]),
        ("one", [NOON + 10 * MINUTE]),
        ("all", [NOON + number * MINUTE for number in range(11)]),
    ],
)
def test_of_the_slots_that_passed_the_policy_says_which_start(catch_up: str, expected: list[datetime]):
    schedule = scheduled(catch_up=catch_up, overlap="allow")
    for second in range(2):
        at(NOON + 10 * MINUTE + timedelta(seconds=second))
    assert slots_of(schedule) == expected
    schedule.refresh_from_db()
    assert schedule.next_at == NOON + 11 * MINUTE


@pytest.mark.parametrize(("catch_up", "runs"), [("none", 0), ("one", 1), ("all", 1)])
def test_a_slot_of_this_morning_is_caught_up_in_the_evening_only_where_that_is_wanted(catch_up: str, runs: int):
    schedule = scheduled(cron="0 12 * * *", catch_up=catch_up)
    assert at(NOON + timedelta(hours=8)) == runs
    schedule.refresh_from_db()
    assert schedule.next_at == NOON + DAY


@plays("Z023", "Z024")
@pytest.mark.parametrize("away", [timedelta(days=3), timedelta(days=40)])
def test_after_a_long_silence_a_schedule_of_every_minute_starts_once(away: timedelta):
    schedule = scheduled()
    assert at(NOON + away) == 1
    assert slots_of(schedule) == [NOON + away]


def test_catching_up_on_all_is_bounded_and_keeps_no_other_schedule_waiting():
    behind = scheduled(catch_up="all", overlap="allow", name="behind")
    fresh = scheduled(next_at=NOON + DAY, name="fresh")
    at(NOON + DAY, limit=5)
    assert len(slots_of(behind)) == 4
    assert slots_of(fresh) == [NOON + DAY]


@pytest.mark.parametrize(("overlap", "second"), [("skip", 0), ("queue", 0), ("allow", 1)])
def test_while_the_earlier_run_has_not_ended_the_policy_decides(overlap: str, second: int):
    scheduled(overlap=overlap)
    assert at(NOON) == 1
    assert at(NOON + MINUTE) == second


def end_all() -> None:
    """Whatever runs ends."""
    for run_id in Run.objects.filter(ended_at=None).values_list("pk", flat=True):
        b.vote(run_id, "review", "approve")


def test_a_skipped_slot_is_gone():
    schedule = scheduled(overlap="skip", cron="0 * * * *")
    at(NOON)
    at(NOON + timedelta(hours=1))
    end_all()
    assert at(NOON + timedelta(hours=1, minutes=1)) == 0
    assert slots_of(schedule) == [NOON]


@pytest.mark.parametrize(("catch_up", "waiting"), [("none", [30]), ("one", [30]), ("all", [10])])
def test_a_queued_slot_starts_once_the_earlier_run_has_ended(catch_up: str, waiting: list[int]):
    schedule = scheduled(overlap="queue", catch_up=catch_up, cron="*/10 * * * *")
    at(NOON)
    for minutes in (10, 20, 30):
        assert at(NOON + minutes * MINUTE) == 0
    end_all()
    assert at(NOON + 39 * MINUTE) == 1
    assert slots_of(schedule)[1:] == [NOON + minutes * MINUTE for minutes in waiting]


def test_schedules_that_queue_keep_no_other_from_its_turn():
    for number in range(3):
        scheduled(overlap="queue", name=f"slow-{number}", cron="*/10 * * * *")
    assert at(NOON) == 3
    other = scheduled(name="other", next_at=NOON + 10 * MINUTE)
    assert at(NOON + 10 * MINUTE, limit=1) == 1
    assert slots_of(other) == [NOON + 10 * MINUTE]


def nobody(schedule: Schedule) -> None:
    schedule.owner = None
    schedule.save()


def inactive(schedule: Schedule) -> None:
    User.objects.filter(pk=schedule.owner_id).update(is_active=False)


def powerless(schedule: Schedule) -> None:
    schedule.owner.groups.clear()


def elsewhere(schedule: Schedule) -> None:
    schedule.owner.groups.set(b.person("someone", "operator").user.groups.all())
    Profile.objects.update(is_open=False)


def deleted(schedule: Schedule) -> None:
    Design.objects.filter(pk=schedule.design_id).update(deleted_at=NOON)


def poisoned(schedule: Schedule) -> None:
    Schedule.objects.filter(pk=schedule.pk).update(cron="0 0 31 2 *")


def zoneless(schedule: Schedule) -> None:
    Schedule.objects.filter(pk=schedule.pk).update(timezone="Mars/Phobos")


def inputless(schedule: Schedule) -> None:
    Schedule.objects.filter(pk=schedule.pk).update(input=[1])


BREAKS = {
    nobody: "whoever made it is gone",
    inactive: "may not start runs any more",
    powerless: "may not start runs any more",
    elsewhere: "belongs no longer to the profile default",
    deleted: "its design was deleted",
    poisoned: "never fires",
    zoneless: "must be a timezone",
    inputless: "input: must be an object",
}


@pytest.mark.parametrize("breaks", BREAKS, ids=lambda breaks: breaks.__name__)
def test_a_broken_schedule_says_why_and_delays_no_other(breaks: Any):
    broken = scheduled(name="broken", owner=b.person("ann", "designer").user)
    sound = scheduled(name="sound")
    breaks(broken)
    assert at(NOON) == 1
    assert slots_of(sound) == [NOON]
    broken.refresh_from_db()
    assert BREAKS[breaks] in broken.problem
    assert slots_of(broken) == []


def test_the_owner_of_a_broken_schedule_hears_of_it_once():
    schedule = scheduled(cron="0 0 31 2 *")
    for minutes in range(3):
        at(NOON + minutes * MINUTE)
    notice = Notice.objects.get()
    assert (notice.user, notice.schedule, notice.run) == (schedule.owner, schedule, None)
    assert "never fires" in notice.text


def test_a_run_that_would_send_starts_only_where_that_is_allowed():
    sends = b.output("post", deliver="channel", target="telegram:-100")
    careful = scheduled(sends, name="careful")
    allowed = scheduled(sends, name="allowed", may_send=True)
    assert at(NOON) == 1
    assert slots_of(allowed) == [NOON]
    careful.refresh_from_db()
    assert "telegram:-100" in careful.problem


def test_a_deleted_design_takes_its_schedules_along_and_its_runs_stay():
    schedule = scheduled()
    at(NOON)
    delete_design(principal=b.admin(), design=schedule.design)
    assert not Schedule.objects.exists()
    assert Run.objects.get().slot == NOON


def test_a_change_made_while_a_slot_starts_is_not_overwritten(monkeypatch: pytest.MonkeyPatch):
    schedule = scheduled()
    later = NOON + DAY
    real = starts.start

    def edited_meanwhile(wanted: starts.Start) -> Any:
        Schedule.objects.filter(pk=schedule.pk).update(next_at=later)
        return real(wanted)

    monkeypatch.setattr(slots.starts, "start", edited_meanwhile)
    at(NOON)
    schedule.refresh_from_db()
    assert schedule.next_at == later


def test_many_machines_that_look_at_once_start_each_slot_once():
    for number in range(5):
        scheduled(name=f"many-{number}", overlap="allow", catch_up="all")
    together = Barrier(4)

    def look() -> int:
        together.wait()
        try:
            return sum(at(NOON + 2 * MINUTE) for _ in range(3))
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as machines:
        began = [machine.result() for machine in [machines.submit(look) for _ in range(4)]]
    assert sum(began) == Run.objects.count() == 15
    assert Run.objects.values("schedule", "slot").distinct().count() == 15
    assert set(Schedule.objects.values_list("next_at", "problem")) == {(NOON + 3 * MINUTE, "")}
