"""Schedules over the API."""

import re
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hermes_workflow import timetable
from hermes_workflow.core.errors import NotFound
from hermes_workflow.http.bodies import Anyhow, Body, Choice, Flag, Text
from hermes_workflow.http.endpoint import Endpoint
from hermes_workflow.http.openapi import documented, page_of
from hermes_workflow.http.paging import page
from hermes_workflow.http.queries import PAGING, flag, text
from hermes_workflow.models import Schedule
from hermes_workflow.schedules import LONGEST
from hermes_workflow.selectors import design_for
from runs.documents import instant

ID = re.compile(r"[0-9]{1,18}\Z")
OVERLAPS, CATCH_UPS = tuple(Schedule.Overlap.values), tuple(Schedule.CatchUp.values)


class ChangeBody(Body):
    """What of a schedule to change."""

    cron = Text(required=False, max_length=LONGEST, help_text="Five fields as Debian's cron reads them, or a name such as @daily")
    timezone = Text(required=False, max_length=64, help_text="Whose clock the cron means, such as Europe/Berlin; UTC unless given")
    input = Anyhow(required=False, help_text="What each run works on")
    overlap = Choice(OVERLAPS, required=False, help_text="While an earlier run has not ended: skip the slot, queue it, or allow both")
    catch_up = Choice(CATCH_UPS, required=False, help_text="Of the slots that passed while nothing could start them: none, one, or all")
    enabled = Flag(required=False)
    may_send = Flag(required=False, help_text="Runs may deliver to channels; without it a design that does is not started")


class WholeBody(ChangeBody):
    """A schedule; what is not given gets its default."""

    cron = Text(max_length=LONGEST, help_text="Five fields as Debian's cron reads them, or a name such as @daily")
    timezone = Text(default="UTC", max_length=64, help_text="Whose clock the cron means, such as Europe/Berlin")
    input = Anyhow(default=dict, help_text="What each run works on")
    overlap = Choice(OVERLAPS, default="skip", help_text="While an earlier run has not ended: skip the slot, queue it, or allow both")
    catch_up = Choice(CATCH_UPS, default="one", help_text="Of the slots that passed while nothing could start them: none, one, or all")
    enabled = Flag(default=True)
    may_send = Flag(default=False, help_text="Runs may deliver to channels; without it a design that does is not started")


class NewBody(WholeBody):
    """A schedule to make."""

    design = Text(max_length=64, help_text="The name of the design whose runs it starts")


class ScheduleShape(serializers.Serializer):
    """When runs of a design start by themselves."""

    id = serializers.IntegerField()
    design = serializers.CharField()
    node_id = serializers.CharField(help_text="The trigger node whose cron it follows; empty when it was made by hand")
    owner = serializers.CharField(allow_null=True, help_text="Whose runs they are; may that person no longer start them, none starts")
    cron = serializers.CharField()
    timezone = serializers.CharField()
    input = Anyhow()
    overlap = serializers.ChoiceField(OVERLAPS)
    catch_up = serializers.ChoiceField(CATCH_UPS)
    enabled = serializers.BooleanField()
    may_send = serializers.BooleanField()
    next_times = serializers.ListField(child=serializers.DateTimeField(), help_text="The next five, in UTC; none while it starts nothing")
    last_slot = serializers.DateTimeField(allow_null=True, help_text="The last moment that a run was started for")
    problem = serializers.CharField(help_text="Why it starts nothing until somebody changes it; empty when all is well")
    created_at = serializers.DateTimeField()


def schedule_document(schedule: Schedule) -> dict[str, Any]:
    """A schedule as its row gives it, and when it fires next."""
    return {
        "id": schedule.pk,
        "design": schedule.design.slug,
        "node_id": schedule.node_id,
        "owner": schedule.owner.get_username() if schedule.owner else None,
        "cron": schedule.cron,
        "timezone": schedule.timezone,
        "input": schedule.input,
        "overlap": schedule.overlap,
        "catch_up": schedule.catch_up,
        "enabled": schedule.enabled,
        "may_send": schedule.may_send,
        "next_times": [instant(moment) for moment in timetable.coming(schedule)],
        "last_slot": instant(schedule.last_slot),
        "problem": schedule.problem,
        "created_at": instant(schedule.created_at),
    }


class Schedules(Endpoint):
    """All schedules of one's profiles."""

    reads = (*PAGING, text("design", "Schedules of this design"), flag("enabled", "Only those that are not paused, or only those that are"))

    @documented("List schedules", answers=page_of(ScheduleShape), query=reads, operation_id="schedules_list")
    def get(self, request: Request) -> Response:
        """In the order they were made."""
        rows = timetable.schedules_for(self.principal)
        if "design" in self.query:
            rows = rows.filter(design__slug=self.query["design"])
        if "enabled" in self.query:
            rows = rows.filter(enabled=self.query["enabled"])
        return Response(page(request, self.query, rows, ("id",), schedule_document))

    @documented("Make a schedule", answers=ScheduleShape, status=201, body=NewBody, refuses=(403, 404), operation_id="schedules_create")
    def post(self, request: Request) -> Response:
        """Its first run starts at the next moment that its cron names."""
        self.principal.require("design")
        fields = self.body(NewBody)
        design = design_for(self.principal, fields.pop("design"))
        made = timetable.create(principal=self.principal, design=design, **fields)
        return Response({"ok": True, **schedule_document(made)}, status=201)


class OneSchedule(Endpoint):
    """One schedule."""

    @documented("Read a schedule", answers=ScheduleShape, refuses=(404,), operation_id="schedules_read")
    def get(self, request: Request, schedule_id: str) -> Response:
        """With the next five times."""
        return Response({"ok": True, **schedule_document(self._schedule(schedule_id))})

    @documented("Replace a schedule", answers=ScheduleShape, body=WholeBody, refuses=(403, 404, 409), operation_id="schedules_replace")
    def put(self, request: Request, schedule_id: str) -> Response:
        """What is not given gets its default; its design stays."""
        return self._changed(schedule_id, WholeBody)

    @documented("Change a schedule", answers=ScheduleShape, body=ChangeBody, refuses=(403, 404, 409), operation_id="schedules_change")
    def patch(self, request: Request, schedule_id: str) -> Response:
        """What is not given stays. A problem counts as mended."""
        return self._changed(schedule_id, ChangeBody)

    @documented("Delete a schedule", answers=None, status=204, refuses=(403, 404, 409), operation_id="schedules_delete")
    def delete(self, request: Request, schedule_id: str) -> Response:
        """Its runs stay."""
        timetable.remove(principal=self.principal, schedule=self._schedule(schedule_id))
        return Response(status=204)

    def _schedule(self, schedule_id: str) -> Schedule:
        if not ID.match(schedule_id):
            raise NotFound("there is no such schedule")
        return timetable.schedule_for(self.principal, int(schedule_id))

    def _changed(self, schedule_id: str, shape: type[Body]) -> Response:
        found = self._schedule(schedule_id)
        self.principal.require("design")
        changed = timetable.change(principal=self.principal, schedule=found, **self.body(shape))
        return Response({"ok": True, **schedule_document(changed)})
