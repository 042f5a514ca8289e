"""When a schedule fires: cron expressions as Debian reads them, in the clock of a timezone, each moment as aware UTC.

A fixed time (neither the minute nor the hour begins with `*`) fires once a day whatever the clocks do: one that a change of clocks
leaves out fires at the end of the gap, one that comes twice fires the first time. Everything else follows real time."""

import re
import zoneinfo
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import islice
from typing import Any

from cronsim import CronSim, CronSimError
from cronsim.cronsim import Field

from hermes_workflow.core.errors import Malformed
from hermes_workflow.core.text import kind_of, shorten

LONGEST = 100
NAMED = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
FIELDS = (
    (Field.MINUTE, "minute", 0, 59),
    (Field.HOUR, "hour", 0, 23),
    (Field.DAY, "day", 1, 31),
    (Field.MONTH, "month", 1, 12),
    (Field.DOW, "weekday", 0, 7),
)
NO_ZONES = frozenset({"localtime", "posixrules", "Factory"})  # files beside the zones of a machine
_STRANGE = re.compile(r"[^A-Za-z0-9*/,# -]")
_STEP = re.compile(r"/([0-9]+)")
_SECOND, _DAY = timedelta(seconds=1), timedelta(days=1)


@cache
def zones() -> frozenset[str]:
    """The names of the timezones that this machine knows."""
    found = zoneinfo.available_timezones() - NO_ZONES
    return frozenset(name for name in found if not name.startswith(("posix/", "right/")))


def check(cron: Any, timezone: Any) -> None:
    """Raises Malformed for what no schedule can follow."""
    if fault := cron_fault(cron):
        raise Malformed(f"cron: {fault}")
    if fault := zone_fault(timezone):
        raise Malformed(f"timezone: {fault}")


def zone_fault(name: Any) -> str:
    """What is wrong with a timezone; empty when nothing is."""
    if isinstance(name, str) and name in zones():
        return ""
    return f"must be a timezone of the IANA list, such as Europe/Berlin, got {shorten(name)}"


def cron_fault(text: Any) -> str:
    """What is wrong with a cron expression; empty when nothing is."""
    if not isinstance(text, str):
        return f"must be text, got {kind_of(text)}"
    if len(text) > LONGEST:
        return f"at most {LONGEST} characters, got {len(text)}"
    if text.startswith("@"):
        return "" if text in NAMED else f"must be 5 fields or one of {', '.join(NAMED)}, got {shorten(text)}"
    if found := _STRANGE.search(text):
        return f"{shorten(found.group())} at column {found.start() + 1} is not cron"
    parts = text.split()
    if len(parts) != len(FIELDS):
        return f"5 fields needed (minute, hour, day, month, weekday), got {len(parts)}"
    if text != text.strip():
        return "no space before or after it"
    return next(filter(None, map(_field_fault, parts, FIELDS)), "") or _never(text)


def _field_fault(part: str, field: tuple[Field, str, int, int]) -> str:
    kind, name, low, high = field
    if any(int(step) > high for step in _STEP.findall(part)):
        return f"the {name} has a step above {high} in {shorten(part)}"
    try:
        kind.parse(part.upper())
    except (CronSimError, ValueError, AssertionError, TypeError):
        return f"the {name} must be {_accepted(name, low, high)}, got {shorten(part)}"
    return ""


def _accepted(name: str, low: int, high: int) -> str:
    more = {"day": ", L for the last or LW for the last weekday", "month": " or JAN-DEC", "weekday": ", SUN-SAT, 5#2 or 5L"}
    return f"{low}-{high}{more.get(name, '')}, with *, lists, ranges and steps"


def _never(text: str) -> str:
    try:
        next(CronSim(text, datetime(2000, 1, 1)))  # noqa: DTZ001 - a calendar without clocks
    except (CronSimError, StopIteration):
        return f"{shorten(text)} never fires: no such day exists"
    return ""


def words(cron: str) -> str:
    """A valid expression in words: "At 06:00 on Monday"."""
    return str(CronSim(NAMED.get(cron, cron), datetime(2000, 1, 1)).explain())  # noqa: DTZ001 - a calendar without clocks


def next_times(cron: str, timezone: str, after: datetime, count: int) -> list[datetime]:
    """The next `count` moments after `after` (exclusive), as aware UTC; fewer when the calendar ends."""
    return list(islice(times(cron, timezone, after), count))


def next_time(cron: str, timezone: str, after: datetime) -> datetime | None:
    """The first moment after `after`; None when there is none."""
    return next(times(cron, timezone, after), None)


def latest(cron: str, timezone: str, since: datetime, until: datetime) -> datetime:
    """The last moment from `since`, which is one, to `until`. Looks back in growing steps: years of minutes are not counted through."""
    back = timedelta(minutes=1)
    while until - back > since:
        if found := _last_of(cron, timezone, until - back, until):
            return found
        back *= 2
    return _last_of(cron, timezone, since, until) or since


def _last_of(cron: str, timezone: str, after: datetime, until: datetime) -> datetime | None:
    found = None
    for moment in times(cron, timezone, after):
        if moment > until:
            break
        found = moment
    return found


def times(cron: str, timezone: str, after: datetime) -> Iterator[datetime]:
    """Every moment after `after`, as aware UTC."""
    expression, zone = NAMED.get(cron, cron), zoneinfo.ZoneInfo(timezone)
    minute, hour = expression.split()[:2]
    fixed = not (minute.startswith("*") or hour.startswith("*"))
    return (_fixed if fixed else _flowing)(expression, zone, after.astimezone(UTC))


def _fixed(cron: str, zone: zoneinfo.ZoneInfo, after: datetime) -> Iterator[datetime]:
    for wall in CronSim(cron, after.astimezone(zone).replace(tzinfo=None)):
        moment = _moment(wall, zone)
        if moment > after:
            yield moment
            after = moment


def _moment(wall: datetime, zone: zoneinfo.ZoneInfo) -> datetime:
    """When a clock on the wall shows this for the first time; when it never does, the end of the gap."""
    late = wall.replace(tzinfo=zone, fold=0).astimezone(UTC)
    if late.astimezone(zone).replace(tzinfo=None, fold=0) == wall:
        return late
    return _change(wall.replace(tzinfo=zone, fold=1).astimezone(UTC), late, zone)


def _flowing(cron: str, zone: zoneinfo.ZoneInfo, after: datetime) -> Iterator[datetime]:
    """Stretch by stretch between the changes of the clocks: within one, the wall clock and real time run alike."""
    while True:
        offset = _offset(after, zone)
        wall = next(CronSim(cron, (after + offset).replace(tzinfo=None)), None)
        if wall is None:
            return
        moment = wall.replace(tzinfo=UTC) - offset
        change = _next_change(after, moment, zone)
        if change is None:
            yield moment
            after = moment
        elif _matches(cron, change.astimezone(zone)):
            yield change
            after = change
        else:
            after = change


def _matches(cron: str, local: datetime) -> bool:
    wall = local.replace(tzinfo=None, fold=0)
    return next(CronSim(cron, wall - _SECOND), None) == wall


def _next_change(after: datetime, until: datetime, zone: zoneinfo.ZoneInfo) -> datetime | None:
    """The first change of the clocks after `after`, up to `until`."""
    low = after
    while low < until:
        high = min(low + _DAY, until)
        if _offset(high, zone) != _offset(low, zone):
            return _change(low, high, zone)
        low = high
    return None


def _change(low: datetime, high: datetime, zone: zoneinfo.ZoneInfo) -> datetime:
    """The moment in between, to the second, at which the clocks change."""
    before = _offset(low, zone)
    while high - low > _SECOND:
        middle = low + (high - low) / 2
        middle = middle.replace(microsecond=0) if middle.replace(microsecond=0) > low else middle
        low, high = (middle, high) if _offset(middle, zone) == before else (low, middle)
    return high


def _offset(moment: datetime, zone: zoneinfo.ZoneInfo) -> timedelta:
    return moment.astimezone(zone).utcoffset() or timedelta()
