"""The pages of schedules: the list, one schedule with its next times and last runs, making, pausing and deleting it."""

from collections.abc import Mapping
from typing import Any
from zoneinfo import ZoneInfo

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone as clock
from django.views.decorators.http import require_GET, require_POST

from hermes_workflow import schedules, timetable
from hermes_workflow.core.documents import read_json
from hermes_workflow.core.errors import HermesError, Malformed
from hermes_workflow.fields import dumps
from hermes_workflow.models import Design, Schedule
from hermes_workflow.pages import PageRequest, page, zone_of
from hermes_workflow.selectors import design_for, designs_for
from hermes_workflow.services import SLUG
from hermes_workflow.words import sentence
from runs import sending, starts
from runs.models import Run
from runs.selectors import runs_for

MOST = 500
MOST_RUNS = 10
MOST_DESIGNS = 500
FIELDS = (*timetable.TIMING, *timetable.CHOICES, "input")


@page
@require_GET
def listed(request: PageRequest) -> HttpResponseBase:
    """Every schedule of the person's profiles, with its next start and its last run."""
    rows = timetable.schedules_for(request.principal).order_by("design__slug", "id")
    wanted = request.GET.get("design", "")
    if wanted:
        rows = rows.filter(design__slug=wanted) if SLUG.match(wanted) else rows.none()
    found = list(rows[: MOST + 1])
    last = _last_runs(found)
    context = {
        "rows": [_row(schedule, last.get(schedule.pk)) for schedule in found[:MOST]],
        "more": len(found) > MOST,
        "most": MOST,
        "wanted": wanted,
        "may_change": request.principal.may("design"),
    }
    return render(request, "schedules/list.html", context)


def _row(schedule: Schedule, last: Run | None) -> dict[str, Any]:
    times, differs = timetable.coming(schedule, 1), schedule.timezone != clock.get_current_timezone_name()
    return {
        "schedule": schedule,
        "words": timetable.in_words(schedule),
        "next": times[0] if times else None,
        "differs": differs,
        "last": last,
    }


def _last_runs(found: list[Schedule]) -> dict[int | None, Run]:
    """The run of each schedule's last slot."""
    wanted = {(schedule.pk, schedule.last_slot) for schedule in found if schedule.last_slot}
    rows = Run.objects.filter(schedule__in=[pk for pk, _ in wanted], slot__in={slot for _, slot in wanted})
    return {run.schedule_id: run for run in rows if (run.schedule_id, run.slot) in wanted}


@page
def new(request: PageRequest) -> HttpResponseBase:
    """A form for a new schedule, of the design in the address if it names one."""
    request.principal.require("design")
    if request.method != "POST":
        design = request.GET.get("design", "")
        given = {"design": design, "timezone": str(zone_of(request.user)), "cron": "0 6 * * MON-FRI", "enabled": True, "input": "{}"}
        return _form(request, {"overlap": "skip", "catch_up": "one", **given})
    try:
        name = request.POST.get("design", "")
        if not SLUG.match(name):
            raise Malformed("design: choose one of the list")
        made = timetable.create(principal=request.principal, design=design_for(request.principal, name), **_given(request))
    except HermesError as refusal:
        return _form(request, {**request.POST.dict(), **_switches(request)}, refusal=refusal)
    messages.success(request, f"{made.design.slug} is scheduled.")
    return redirect("schedule", made.pk)


@page
def one(request: PageRequest, schedule_id: str) -> HttpResponseBase:
    """One schedule: its form for designers, what it did and will do for everyone."""
    found = timetable.schedule_for(request.principal, int(schedule_id))
    shown: dict[str, Any] = {name: getattr(found, name) for name in (*FIELDS, *timetable.SWITCHES)}
    shown["input"] = dumps(found.input)
    if request.method != "POST":
        return _form(request, shown, found)
    request.principal.require("design")
    try:
        timetable.change(principal=request.principal, schedule=found, **_given(request))
    except HermesError as refusal:
        return _form(request, {**shown, **request.POST.dict(), **_switches(request)}, found, refusal=refusal)
    messages.success(request, "The schedule is saved.")
    return redirect("schedule", found.pk)


def _given(request: HttpRequest) -> dict[str, Any]:
    """What the form holds, as the service takes it. Raises Malformed."""
    given: dict[str, Any] = {name: request.POST[name] for name in FIELDS if name in request.POST}
    if "input" in given:
        try:
            given["input"] = read_json(given["input"].strip() or "{}")
        except HermesError as refusal:
            raise Malformed(f"input: {refusal.msg}") from None
    return given | _switches(request)


def _switches(request: HttpRequest) -> dict[str, bool]:
    return {name: request.POST.get(name) == "on" for name in timetable.SWITCHES}


def _form(
    request: PageRequest, values: Mapping[str, Any], schedule: Schedule | None = None, *, refusal: HermesError | None = None
) -> HttpResponse:
    field, _, fault = refusal.msg.partition(": ") if refusal else ("", "", "")
    known = field in (*FIELDS, *timetable.SWITCHES, "design")
    runs = runs_for(request.principal).filter(schedule=schedule).order_by("-slot") if schedule else None
    context = {
        "values": values,
        "schedule": schedule,
        "may_change": request.principal.may("design"),
        "errors": {field: sentence(fault)} if known else {},
        "refusal": "" if known or not refusal else f"{sentence(refusal.msg)} {sentence(refusal.hint)}".strip(),
        "designs": _offered(request) if schedule is None else [],
        "targets": _targets(schedule.design) if schedule else [],
        "zones": _zones(str(values.get("timezone", ""))),
        "overlaps": Schedule.Overlap.choices,
        "catch_ups": Schedule.CatchUp.choices,
        "words": timetable.in_words(schedule) if schedule else "",
        "runs": runs[:MOST_RUNS] if runs is not None else [],
        **_times(str(values.get("cron", "")), str(values.get("timezone", ""))),
    }
    return render(request, "schedules/schedule.html", context, status=refusal.status if refusal else 200)


def _offered(request: PageRequest) -> list[tuple[str, str]]:
    rows = designs_for(request.principal).exclude(current=None).values_list("slug", "title")[:MOST_DESIGNS]
    return [("", "Choose a design"), *((slug, f"{title} ({slug})" if title else slug) for slug, title in rows)]


def _zones(chosen: str) -> list[str]:
    listed = {name for name in schedules.zones() if "/" in name and not name.startswith("Etc/")} | {"UTC"}
    return sorted(listed | ({chosen} & schedules.zones()))


def _targets(design: Design) -> list[str]:
    """Where its runs would send; nothing where its plan needs newer code."""
    try:
        return sending.sends_to(starts.readable(design.current.plan_id)) if design.current else []
    except HermesError:
        return []


@page
@require_GET
def times(request: PageRequest) -> HttpResponseBase:
    """When a cron that is being typed would fire."""
    context = _times(request.GET.get("cron", ""), request.GET.get("timezone", ""))
    return render(request, "schedules/times.html", context)


def _times(cron: str, zone: str) -> dict[str, Any]:
    """The next five times, or why there are none."""
    fault = schedules.cron_fault(cron) or schedules.zone_fault(zone)
    if fault:
        return {"fault": sentence(fault)}
    return {
        "said": schedules.words(cron),
        "zone": ZoneInfo(zone),
        "differs": zone != clock.get_current_timezone_name(),
        "times": schedules.next_times(cron, zone, clock.now(), timetable.SHOWN),
    }


@page
@require_POST
def pause(request: PageRequest, schedule_id: str) -> HttpResponseBase:
    """No run starts until it is resumed."""
    return _switched(request, schedule_id, enabled=False)


@page
@require_POST
def resume(request: PageRequest, schedule_id: str) -> HttpResponseBase:
    """It goes on with the next time from now."""
    return _switched(request, schedule_id, enabled=True)


def _switched(request: PageRequest, schedule_id: str, *, enabled: bool) -> HttpResponseBase:
    found = timetable.schedule_for(request.principal, int(schedule_id))
    timetable.change(principal=request.principal, schedule=found, enabled=enabled)
    messages.success(request, f"The schedule of {found.design.slug} {'goes on' if enabled else 'is paused'}.")
    return redirect("schedule", found.pk) if request.POST.get("back") == "schedule" else redirect("schedules")


@page
@require_POST
def delete(request: PageRequest, schedule_id: str) -> HttpResponseBase:
    """Its runs stay."""
    found = timetable.schedule_for(request.principal, int(schedule_id))
    timetable.remove(principal=request.principal, schedule=found)
    messages.success(request, f"The schedule of {found.design.slug} is deleted. Its runs stay.")
    return redirect("schedules")
