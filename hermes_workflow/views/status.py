"""The status page, for admins: every part of the installation, and what is absent of who performs, sends and starts."""

import os
from dataclasses import dataclass

from django.http import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET

from hermes_workflow import channels, hooks
from hermes_workflow.admin.performer_settings import SETTINGS, variables_of
from hermes_workflow.core.errors import Forbidden
from hermes_workflow.models import Channel, Hook, Profile, Schedule
from hermes_workflow.pages import PageRequest, page
from runs.assignments import PERFORMERS
from runs.parts import ABSENT, BAD, OK, machine

MOST = 100


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that was set up: whether it can do its work, and where it is changed."""

    name: str
    state: str
    says: str
    href: str


@page
@require_GET
def status(request: PageRequest) -> HttpResponseBase:
    """What works and what does not."""
    if not request.principal.is_admin:
        raise Forbidden("the status is for admins")
    context = {
        "parts": machine(),
        "groups": [
            ("Profiles", "robot", _profiles(), "No profile: every agent step fails, naming the one it needs."),
            ("Channels", "send", _channels(), "No channel: a delivery to one is recorded as not sent."),
            ("Webhooks", "link", _hooks(), "No design names a webhook."),
            ("Schedules with a problem", "schedule", _schedules(), "None: every schedule starts its runs."),
        ],
    }
    return render(request, "status/status.html", context)


def _profiles() -> list[Row]:
    return [Row(profile.name, *_performer(profile), _admin("profile", profile.pk)) for profile in Profile.objects.all()[:MOST]]


def _performer(profile: Profile) -> tuple[str, str]:
    """State and words."""
    if profile.performer == Profile.Performer.NONE:
        return ABSENT, "nobody performs: steps wait for the chat agent or a person"
    if profile.performer not in PERFORMERS:
        return BAD, f"the performer {profile.performer} is not known here: its steps fail"
    known = SETTINGS.get(profile.performer, ())
    names = [name for setting in known for name in variables_of(setting, profile.settings.get(setting.key))]
    missing = [name for name in names if not os.environ.get(name)]
    if missing:
        return BAD, f"not set in this web process: {', '.join(missing)}"
    return OK, profile.get_performer_display() + (f", {', '.join(names)} set" if names else "")


def _channels() -> list[Row]:
    return [Row(channel.platform, *_channel(channel), _admin("channel", channel.pk)) for channel in Channel.objects.all()[:MOST]]


def _channel(channel: Channel) -> tuple[str, str]:
    if not channel.enabled:
        return ABSENT, "switched off: nothing is sent, and each receipt says so"
    missing = channels.unset(channel, os.environ)
    return (BAD, f"not set in this web process: {', '.join(missing)}") if missing else (OK, channel.get_kind_display())


def _hooks() -> list[Row]:
    found = Hook.objects.filter(design__deleted_at=None).select_related("owner", "design").order_by("slug")[:MOST]
    problems = [(hook, hooks.problem_of(hook)) for hook in found]
    return [
        Row(hook.slug, BAD if problem else OK, problem or f"starts {hook.design.slug}", _admin("hook", hook.pk))
        for hook, problem in problems
    ]


def _schedules() -> list[Row]:
    found = Schedule.objects.exclude(problem="").filter(design__deleted_at=None).select_related("design").order_by("design__slug", "pk")
    return [Row(row.design.slug, BAD, row.problem, reverse("schedule", args=[row.pk])) for row in found[:MOST]]


def _admin(model: str, pk: int) -> str:
    return reverse(f"admin:hermes_workflow_{model}_change", args=[pk])
