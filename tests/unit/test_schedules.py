"""When schedules fire: held to a clock that is read minute by minute, across every kind of change of the clocks."""

from bisect import bisect_left
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import accumulate
from zoneinfo import ZoneInfo

import pytest

from hermes_workflow import schedules
from hermes_workflow.core.errors import Malformed
from tests.bad_inputs import BadInput, bad_inputs, plays

MINUTE = timedelta(minutes=1)
CHANGES = [
    ("Europe/Berlin", datetime(2026, 3, 29, tzinfo=UTC)),
    ("Europe/Berlin", datetime(2026, 10, 25, tzinfo=UTC)),
    ("America/New_York", datetime(2026, 3, 8, tzinfo=UTC)),
    ("America/New_York", datetime(2026, 11, 1, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2026, 4, 4, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2026, 10, 3, tzinfo=UTC)),
    ("Africa/Cairo", datetime(2026, 4, 23, tzinfo=UTC)),
    ("Africa/Cairo", datetime(2026, 10, 29, tzinfo=UTC)),
    ("America/Havana", datetime(2026, 3, 8, tzinfo=UTC)),
    ("Pacific/Apia", datetime(2011, 12, 30, tzinfo=UTC)),
    ("Africa/Casablanca", datetime(2026, 3, 22, tzinfo=UTC)),
    ("Asia/Kathmandu", datetime(2026, 1, 1, tzinfo=UTC)),
]
FLOWING = [
    "* * * * *", "*/30 * * * *", "*/7 * * * *", "0 * * * *", "30 * * * *", "*/15 1-2 * * *", "*/10 5 * * *", "15 */2 * * *", "* 0 * * *",
]  # fmt: skip
FIXED = [
    "0 0 * * *", "30 0 * * *", "30 1 * * *", "45 1 * * *", "0 2 * * *", "15 2 * * *", "30 2 * * *", "0,30 1-3 * * *", "59 2 * * *",
    "0 6 * * MON-FRI", "30 2 29,30 * *", "0 0 30 12 *",
]  # fmt: skip


@cache
def clock(zone: str, around: datetime) -> tuple[list[datetime], list[datetime]]:
    """Every minute of six days, as UTC and as a clock on the wall shows it."""
    moments = [around - timedelta(days=3) + number * MINUTE for number in range(6 * 1440)]
    return moments, [moment.astimezone(ZoneInfo(zone)).replace(tzinfo=None) for moment in moments]


def matches(cron: str, wall: datetime) -> bool:
    """A plain reading of the few forms that are tried here."""
    weekday = wall.isoweekday() % 7
    values = (wall.minute, wall.hour, wall.day, wall.month, weekday)
    names = {"MON": "1", "FRI": "5"}
    for part, value, low in zip(cron.split(), values, (0, 0, 1, 1, 0), strict=True):
        for name, number in names.items():
            part = part.replace(name, number)
        if not any(_holds(term, value, low) for term in part.split(",")):
            return False
    return True


def _holds(term: str, value: int, low: int) -> bool:
    if term.startswith("*"):
        return (value - low) % int(term[2:] or 1) == 0
    first, _, last = term.partition("-")
    return int(first) <= value <= int(last or first)


def brute_force(cron: str, zone: str, around: datetime) -> list[datetime]:
    """Flowing: every minute whose wall clock matches. Fixed: for each matching time the first minute that shows it or a later one."""
    moments, walls = clock(zone, around)
    minute, hour = cron.split()[:2]
    if minute.startswith("*") or hour.startswith("*"):
        return [moment for moment, wall in zip(moments, walls, strict=True) if matches(cron, wall)]
    highest = list(accumulate(walls, max))
    days = [walls[0] + number * MINUTE for number in range(int((walls[-1] - walls[0]) / MINUTE) + 1)]
    return sorted({moments[bisect_left(highest, day)] for day in days if matches(cron, day)})


@plays("Z016", "Z017", "Z020")
@pytest.mark.parametrize("cron", FLOWING + FIXED)
@pytest.mark.parametrize(("zone", "around"), CHANGES, ids=lambda value: str(value)[:19])
def test_across_a_change_of_the_clocks_every_moment_is_the_one_a_reader_of_the_clock_finds(zone: str, around: datetime, cron: str):
    moments, _ = clock(zone, around)
    start, end = moments[0] + timedelta(hours=26), moments[-1] - timedelta(hours=26)
    expected = [moment for moment in brute_force(cron, zone, around) if start < moment <= end]
    found = []
    for moment in schedules.times(cron, zone, start):
        if moment > end:
            break
        found.append(moment)
    assert found == expected


@pytest.mark.parametrize("cron", ["*/10 * * * *", "30 1 * * *", "30 2 * * *", "0 * * * *"])
@pytest.mark.parametrize(("zone", "around"), CHANGES, ids=lambda value: str(value)[:19])
def test_it_does_not_matter_from_where_one_looks(zone: str, around: datetime, cron: str):
    start, end = around - timedelta(days=1), around + timedelta(days=2)
    every = [moment for moment in schedules.next_times(cron, zone, start, 1000) if moment <= end]
    looks = [start + number * timedelta(minutes=13) for number in range(220)]
    for look in looks:
        assert schedules.next_time(cron, zone, look) == next((moment for moment in every if moment > look), None) or look > every[-1]


def test_a_time_that_the_clocks_leave_out_fires_once_at_the_end_of_the_gap():
    found = schedules.next_times("30 2 * * *", "Europe/Berlin", datetime(2026, 3, 28, 12, tzinfo=UTC), 2)
    assert found == [datetime(2026, 3, 29, 1, tzinfo=UTC), datetime(2026, 3, 30, 0, 30, tzinfo=UTC)]


def test_a_time_that_comes_twice_fires_the_first_time():
    found = schedules.next_times("30 1 * * *", "America/New_York", datetime(2026, 10, 31, 12, tzinfo=UTC), 2)
    assert found == [datetime(2026, 11, 1, 5, 30, tzinfo=UTC), datetime(2026, 11, 2, 6, 30, tzinfo=UTC)]


def test_moments_are_aware_utc_and_after_the_moment_asked_about():
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    found = schedules.next_times("0 12 * * *", "UTC", noon, 2)
    assert [moment - noon for moment in found] == [timedelta(days=1), timedelta(days=2)]
    assert {moment.tzinfo for moment in found} == {UTC}


@pytest.mark.parametrize(("name", "cron"), list(schedules.NAMED.items()))
def test_a_name_stands_for_its_five_fields(name: str, cron: str):
    after = datetime(2026, 3, 1, 12, tzinfo=UTC)
    schedules.check(name, "Europe/Berlin")
    assert schedules.next_times(name, "Europe/Berlin", after, 3) == schedules.next_times(cron, "Europe/Berlin", after, 3)


@pytest.mark.parametrize("entry", list(bad_inputs("cron", kind="field")), ids=lambda entry: entry.id)
def test_a_bad_cron_is_refused_by_name(entry: BadInput):
    with pytest.raises(Malformed, match=r"^cron: "):
        schedules.check(entry.value, "UTC")


@pytest.mark.parametrize("entry", list(bad_inputs("timezone", kind="field")), ids=lambda entry: entry.id)
def test_a_bad_timezone_is_refused_by_name(entry: BadInput):
    with pytest.raises(Malformed, match=r"^timezone: "):
        schedules.check("0 6 * * *", entry.value)


@pytest.mark.parametrize(
    "cron",
    ["59-0 * * * *", " 0 6 * * *", "0 6 * * * ", "0 6\t* * *", "@Daily", "@daily x", "0 0 30 2 *", "*/60 * * * *", "5/61 * * * *",
     "5L * * * *", "* * * * 5L/2", "* * 1#2 * *", "*-5 * * * *", "1,,2 * * * *", "0 0 * FOO *",
     "L * * * *", None, True, 5, ["*"], "0 0 * * 5#0"],
)  # fmt: skip
def test_what_only_looks_like_cron_is_refused(cron: object):
    with pytest.raises(Malformed, match=r"^cron: "):
        schedules.check(cron, "UTC")


@pytest.mark.parametrize(
    "cron", ["0 0 29 2 *", "0 0 L * *", "0 0 LW * *", "0 0 * * 5#5", "0 9-17/2 * * mon-fri", "0  6 * * *", "0 0 31 2 MON"]
)
def test_what_debian_reads_is_accepted(cron: str):
    schedules.check(cron, "Europe/Berlin")
    assert schedules.next_time(cron, "Europe/Berlin", datetime(2026, 3, 1, tzinfo=UTC))


@pytest.mark.parametrize("zone", ["localtime", "posixrules", "Factory", "right/UTC", "posix/UTC", "/etc/localtime", "UTC\x00", "utc"])
def test_a_file_that_is_no_timezone_is_refused(zone: str):
    with pytest.raises(Malformed):
        schedules.check("0 6 * * *", zone)


@pytest.mark.parametrize("cron", ["* * * * *", "0 6 * * *", "* 3 * * *", "* * 1 * *", "0 0 29 2 *"])
@pytest.mark.parametrize("minutes", [0, 1, 59, 1440, 100_000])
def test_the_latest_moment_of_a_long_time_is_found(cron: str, minutes: int):
    first = schedules.next_time(cron, "Europe/Berlin", datetime(2024, 1, 5, tzinfo=UTC))
    assert first is not None
    until = first + minutes * MINUTE + timedelta(seconds=30)
    found = schedules.latest(cron, "Europe/Berlin", first, until)
    following = schedules.next_time(cron, "Europe/Berlin", found)
    assert first <= found <= until
    assert following is None or following > until
