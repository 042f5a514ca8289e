"""How times, spans, deadlines and sizes are put into words on pages; pure, so that every rule can be tested alone."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hermes_workflow.core.prompts import as_text
from hermes_workflow.core.text import visible

MINUTE, HOUR, DAY = 60, 3600, 86400
SOON_SHARE = 0.25
SOON_SECONDS = HOUR
URGENT_SECONDS = 10 * MINUTE


def span(seconds: float) -> str:
    """A wait in its two largest units: "under 1 min", "31 min", "2 h 14 min", "1 d 3 h"."""
    whole = max(0, int(seconds))
    if whole < MINUTE:
        return "under 1 min"
    if whole < HOUR:
        return f"{whole // MINUTE} min"
    if whole < DAY:
        return _pair(whole, HOUR, "h", MINUTE, "min")
    return _pair(whole, DAY, "d", HOUR, "h")


def _pair(whole: int, large: int, large_unit: str, small: int, small_unit: str) -> str:
    head, rest = f"{whole // large} {large_unit}", whole % large // small
    return f"{head} {rest} {small_unit}" if rest else head


def took(seconds: float) -> str:
    """How long something took: "1 ms", "1.8 s", "4 min 02 s", then as `span`."""
    if seconds < 1:
        return f"{max(0, round(seconds * 1000))} ms"
    if seconds < MINUTE:
        return f"{min(seconds, 59.9):.1f} s"
    if seconds < HOUR:
        return f"{int(seconds) // MINUTE} min {int(seconds) % MINUTE:02d} s"
    return span(seconds)


def ago(seconds: float) -> str:
    """ "just now", "48 min ago", "1 d 3 h ago"."""
    return "just now" if seconds < MINUTE else f"{span(seconds)} ago"


@dataclass(frozen=True, slots=True)
class Left:
    """What is left of a deadline: the words, how urgent (normal, soon, urgent, passed) and the share of time used (0 to 1)."""

    text: str
    urgency: str
    used: float


def left(deadline: datetime, *, now: datetime, since: datetime | None = None, on_timeout: str = "reject") -> Left:
    """Saffron with a quarter or an hour left, red under ten minutes or passed."""
    seconds = (deadline - now).total_seconds()
    total = (deadline - since).total_seconds() if since else 0.0
    used = min(1.0, max(0.0, 1 - seconds / total)) if total > 0 else float(seconds <= 0)
    if seconds <= 0:
        return Left(_passed(deadline, -seconds, on_timeout), "passed", 1.0)
    words = f"{span(seconds)} left"
    if seconds < URGENT_SECONDS:
        return Left(words, "urgent", used)
    soon = seconds < SOON_SECONDS or (total > 0 and seconds < SOON_SHARE * total)
    return Left(words, "soon" if soon else "normal", used)


def _passed(deadline: datetime, seconds: float, on_timeout: str) -> str:
    return f"escalated {ago(seconds)}" if on_timeout == "escalate" else f"closed at {deadline:%H:%M}, timed out"


def when(at: datetime, *, now: datetime) -> str:
    """A moment as people say it: "13:02 today", "Yesterday", "12 Oct", "12 Oct 2025". Both times carry the reader's zone."""
    days = (now.date() - at.date()).days
    if days == 0:
        return f"{at:%H:%M} today"
    if days == 1:
        return "Yesterday"
    if days == -1:
        return f"{at:%H:%M} tomorrow"
    return f"{at.day} {at:%b}" if at.year == now.year else f"{at.day} {at:%b} {at.year}"


def exact(at: datetime) -> str:
    """The exact time with its zone, for a title: "2026-11-30 13:02:06 CET"."""
    return f"{at:%Y-%m-%d %H:%M:%S %Z}".strip()


def size(count: float) -> str:
    """Bytes in decimal units: "512 B", "3.2 kB", "1.5 MB"."""
    if count < 1000:
        return f"{int(count)} B"
    for unit in ("kB", "MB"):
        count /= 1000
        if count < 999.95:
            return f"{count:.1f} {unit}"
    return f"{count / 1000:.1f} GB"


def initials(name: str) -> str:
    """One or two capitals for an avatar: "Priya Nair" and "priya.nair" give PN."""
    parts = [part for part in name.replace(".", " ").replace("_", " ").replace("-", " ").split() if part]
    letters = "".join(parts)[:2] if len(parts) < 2 else "".join(part[0] for part in (parts[:1] + parts[-1:]))
    return letters.upper()


def shown(value: Any) -> str:
    """A value as plain text in which nothing is invisible: text as it is, the rest as indented JSON, marks as [U+200B]."""
    return "".join(f"[{part.text}]" if part.mark else part.text for part in visible(as_text(value)))


def sentence(text: str) -> str:
    """A message as a sentence of a page."""
    return f"{text[0].upper()}{text[1:].rstrip('.')}." if text else ""
