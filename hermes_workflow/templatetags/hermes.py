"""Template words of Hermes Workflow: icons, chips, people, and times that keep ticking in the browser."""

import json
from datetime import datetime
from typing import Any
from zlib import crc32

from django import template
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from hermes_workflow import words
from hermes_workflow.icons import ICONS, KIND_ICONS, MARK, OPTION_ICONS, STATE_ICONS, STATUS_ICONS, STATUS_WORDS

register = template.Library()

AVATAR_COLOURS = 6


@register.simple_tag
def icon(name: str, label: str = "") -> SafeString:
    """An inline icon; hidden from screen readers unless `label` names it."""
    body = mark_safe(ICONS[name])  # noqa: S308 - our own constant
    if label:
        return format_html('<svg class="icon" viewBox="0 0 16 16" role="img" aria-label="{}">{}</svg>', label, body)
    return format_html('<svg class="icon" viewBox="0 0 16 16" aria-hidden="true">{}</svg>', body)


@register.simple_tag
def icon_paths(name: str) -> SafeString:
    """The inside of an icon, for a picture that brings its own svg element."""
    return mark_safe(ICONS[name])  # noqa: S308 - our own constant


@register.simple_tag
def mark() -> SafeString:
    """The product's mark: an H whose crossbar is an edge through a gate."""
    return format_html('<svg class="mark" viewBox="0 0 24 24" aria-hidden="true">{}</svg>', mark_safe(MARK))  # noqa: S308 - our own constant


@register.inclusion_tag("components/status_chip.html")
def status_chip(status: str) -> dict[str, str]:
    """A run's status as shape, word and colour."""
    return {"status": status, "word": status_word(status), "icon_name": STATUS_ICONS.get(status, "dots")}


@register.filter
def status_word(status: str) -> str:
    """ "awaiting_approval" as people read it: "Needs approval"."""
    return STATUS_WORDS.get(status, str(status).replace("_", " ").capitalize())


@register.filter
def status_icon(status: str) -> str:
    """The icon of a run status."""
    return STATUS_ICONS.get(status, "dots")


@register.filter
def kind_icon(kind: str) -> str:
    """The icon of a node or gate kind."""
    return KIND_ICONS.get(kind, "diamond")


@register.filter
def state_icon(state: str) -> str:
    """The icon of a step's state in a run."""
    return STATE_ICONS.get(state, "dots")


@register.filter
def option_look(option: str) -> dict[str, str]:
    """Icon and tone of an option whose word is known; an unknown word gets neither."""
    name, tone = OPTION_ICONS.get(str(option).strip().lower(), ("", "plain"))
    return {"icon": name, "tone": tone}


@register.simple_tag
def avatar(name: str, size: str = "s", *, group: bool = False) -> SafeString:
    """Initials in a disc, the full name in its title; the colour follows the name."""
    colour = "group" if group else str(crc32(str(name).encode()) % AVATAR_COLOURS)
    return format_html(
        '<span class="avatar avatar-{} avatar-{}" role="img" aria-label="{}" title="{}">{}</span>',
        size,
        colour,
        name,
        name,
        words.initials(str(name)),
    )


def moment(value: Any) -> datetime | None:
    """A datetime, or the ISO text of a run document, as an aware time in the reader's zone; anything else is None."""
    at = parse_datetime(value) if isinstance(value, str) else value
    if not isinstance(at, datetime):
        return None
    return timezone.localtime(at if timezone.is_aware(at) else timezone.make_aware(at))


def _now(now: Any = None) -> datetime:
    return moment(now) or timezone.localtime()


def _time(at: datetime, text: str, **data: str) -> SafeString:
    extra = mark_safe("".join(format_html(' data-{}="{}"', key.replace("_", "-"), value) for key, value in data.items()))  # noqa: S308
    return format_html('<time datetime="{}" title="{}"{}>{}</time>', at.isoformat(), words.exact(at), extra, text)


@register.filter
def when(value: Any, now: Any = None) -> SafeString | str:
    """ "13:02 today", "Yesterday" or "12 Oct", the exact time in the title."""
    at = moment(value)
    return _time(at, words.when(at, now=_now(now))) if at else ""


@register.filter
def clock(value: Any) -> SafeString | str:
    """ "13:02:06", the exact time in the title."""
    at = moment(value)
    return _time(at, f"{at:%H:%M:%S}") if at else ""


@register.filter
def ago(value: Any, now: Any = None) -> SafeString | str:
    """ "48 min ago", ticking."""
    at = moment(value)
    return _time(at, words.ago((_now(now) - at).total_seconds()), tick="ago") if at else ""


@register.filter
def waiting_since(value: Any, now: Any = None) -> SafeString | str:
    """ "2 h 14 min", ticking: how long something has waited."""
    at = moment(value)
    return _time(at, words.span((_now(now) - at).total_seconds()), tick="span") if at else ""


@register.simple_tag
def time_left(deadline: Any, since: Any = None, on_timeout: str = "reject", now: Any = None) -> SafeString:
    """ "46 min left" with its urgency, ticking; "no deadline" where there is none."""
    at = moment(deadline)
    if at is None:
        return mark_safe('<span class="muted">no deadline</span>')
    opened = moment(since)
    left = words.left(at, now=_now(now), since=opened, on_timeout=on_timeout or "reject")
    data = {"tick": "left", "since": opened.isoformat() if opened else "", "timeout": on_timeout or "reject"}
    return format_html('<span class="left-{}" data-left>{}</span>', left.urgency, _time(at, left.text, **data))


@register.simple_tag
def deadline_meter(deadline: Any, since: Any, now: Any = None) -> SafeString | str:
    """A bar of the time already used; decoration, since the words beside it say the same."""
    at, opened = moment(deadline), moment(since)
    if at is None or opened is None:
        return ""
    left = words.left(at, now=_now(now), since=opened)
    return format_html(
        '<svg class="meter left-{}" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"'
        ' data-meter data-since="{}" data-until="{}"><rect width="{}" height="4" rx="1"/></svg>',
        left.urgency, opened.isoformat(), at.isoformat(), f"{left.used * 100:.1f}",
    )  # fmt: skip


@register.filter
def took(seconds: Any) -> str:
    """A duration in seconds: "1.8 s", "4 min 02 s"."""
    return words.took(float(seconds)) if isinstance(seconds, int | float) else ""


@register.filter
def size(count: Any) -> str:
    """A count of bytes: "3.2 kB"."""
    return words.size(count) if isinstance(count, int | float) else ""


@register.filter
def pretty(value: Any) -> str:
    """A value as people can read it: text as it is, everything else as indented JSON."""
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False, default=str)


@register.filter
def short_id(value: Any) -> str:
    """The first eight characters of a run id or digest, without its algorithm."""
    return str(value).rpartition(":")[2][:8]


@register.filter
def visible_text(value: Any) -> str:
    """A value as plain text in which nothing is invisible."""
    return words.shown(value)
