"""The bell: notices of deliveries, newest first."""

from typing import Any

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.text import Truncator
from django.views.decorators.http import require_GET, require_POST

from hermes_workflow.pages import PageRequest, page
from hermes_workflow.words import shown
from runs.models import Notice
from runs.notices import read_all, read_one
from runs.selectors import notices_for

SHOWN = 20
LONGEST_LINE = 140
BRACKETS = " {}[],"  # what a line of JSON carries besides its words


@page
@require_GET
def notices(request: PageRequest) -> HttpResponseBase:
    """What the bell's panel holds; whole, it is a page for who has no JavaScript."""
    return _panel(request)


def _panel(request: PageRequest) -> HttpResponse:
    rows = [_row(notice) for notice in notices_for(request.principal)[:SHOWN]]
    template = "components/notice_list.html" if request.htmx else "account/notices.html"
    return render(request, template, {"notices": rows, "read_url": reverse("notices-read")})


def first_line(text: str) -> str:
    """The first line of what was delivered that says anything, nothing in it invisible."""
    line = next((line for line in text.splitlines() if any(char.isalnum() for char in line)), "")
    return shown(Truncator(line.strip(BRACKETS)).chars(LONGEST_LINE))


def _row(notice: Notice) -> dict[str, Any]:
    return {
        "text": notice.title,
        "said": first_line(notice.text),
        "name": (notice.run.workflow_id or notice.run.pk[:8]) if notice.run else "schedule",
        "open_url": reverse("notice-open", args=[notice.pk]),
        "at": notice.created_at,
        "read": notice.read_at is not None,
    }


@page
@require_POST
def opened(request: PageRequest, notice_id: str) -> HttpResponseBase:
    """To the run or the schedule that the notice is about; the notice is read."""
    notice = read_one(principal=request.principal, notice_id=int(notice_id))
    return redirect("run", notice.run_id) if notice.run_id else redirect("schedule", notice.schedule_id)


@page
@require_POST
def read(request: PageRequest) -> HttpResponseBase:
    """Everything in the bell is read."""
    read_all(principal=request.principal)
    if not request.htmx:
        return redirect("notices")
    response = _panel(request)
    response["HX-Trigger-After-Settle"] = '{"hermes:inbox": ""}'
    return response
