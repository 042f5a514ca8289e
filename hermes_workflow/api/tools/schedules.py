"""The tool that lists and keeps schedules."""

from typing import Any

from hermes_workflow import timetable
from hermes_workflow.api.designs import design_named
from hermes_workflow.api.schedules import ChangeBody, schedule_document
from hermes_workflow.api.tools.tool import Call, Tool
from hermes_workflow.core.errors import Malformed
from hermes_workflow.http.bodies import Choice, Text, Whole
from hermes_workflow.http.paging import BIGGEST
from hermes_workflow.models import Schedule

MOST = 100
SETTINGS = frozenset({"cron", "timezone", "input", "overlap", "catch_up", "enabled", "may_send"})
TAKES = {
    "list": frozenset({"design"}),
    "create": SETTINGS | {"design"},
    "update": SETTINGS | {"id"},
    "pause": frozenset({"id"}),
    "resume": frozenset({"id"}),
    "delete": frozenset({"id"}),
}
NEEDS = {"create": ("design", "cron"), "update": ("id",), "pause": ("id",), "resume": ("id",), "delete": ("id",)}


class Keeping(ChangeBody):
    """What to do with which schedule."""

    action = Choice(tuple(TAKES), default="list", help_text="create takes design and cron; update, pause, resume and delete take id")
    id = Whole(required=False, min_value=1, max_value=BIGGEST, help_text="Which schedule, from the list")
    design = Text(required=False, max_length=64, help_text="The design whose runs it starts, or whose schedules to list")


def _keep(call: Call) -> dict[str, Any]:
    fields = dict(call.fields)
    action = fields.pop("action")
    if extra := sorted(fields.keys() - TAKES[action]):
        raise Malformed(f"{extra[0]}: {action} takes none; leave it out")
    if missing := [name for name in NEEDS.get(action, ()) if name not in fields]:
        raise Malformed(f"{missing[0]}: {action} needs one")
    return DO[action](call, fields)


def _list(call: Call, fields: dict[str, Any]) -> dict[str, Any]:
    rows = timetable.schedules_for(call.principal).order_by("id")
    if "design" in fields:
        rows = rows.filter(design__slug=fields["design"])
    found = list(rows[: MOST + 1])
    hint = "update, pause, resume or delete one by its id" if found else "create one with design and cron"
    return {"ok": True, "schedules": [schedule_document(row) for row in found[:MOST]], "more": len(found) > MOST, "next": hint}


def _create(call: Call, fields: dict[str, Any]) -> dict[str, Any]:
    call.principal.require("design")
    design = design_named(call, fields.pop("design"))
    return _shown(timetable.create(principal=call.principal, design=design, **fields))


def _update(call: Call, fields: dict[str, Any]) -> dict[str, Any]:
    schedule = timetable.schedule_for(call.principal, fields.pop("id"))
    return _shown(timetable.change(principal=call.principal, schedule=schedule, **fields))


def _pause(call: Call, fields: dict[str, Any]) -> dict[str, Any]:
    return _update(call, {**fields, "enabled": False})


def _resume(call: Call, fields: dict[str, Any]) -> dict[str, Any]:
    return _update(call, {**fields, "enabled": True})


def _delete(call: Call, fields: dict[str, Any]) -> dict[str, Any]:
    schedule = timetable.schedule_for(call.principal, fields["id"])
    timetable.remove(principal=call.principal, schedule=schedule)
    return {"ok": True, "id": fields["id"], "deleted": True, "next": "its runs stay"}


def _shown(schedule: Schedule) -> dict[str, Any]:
    document = schedule_document(schedule)
    first = next(iter(document["next_times"]), None)
    return {
        "ok": True,
        **document,
        "next": f"its next run starts at {first}" if first else "it starts nothing until it is resumed or mended",
    }


DO = {"list": _list, "create": _create, "update": _update, "pause": _pause, "resume": _resume, "delete": _delete}

TOOLS = (
    Tool(
        "workflow_design_schedule",
        "List the schedules that start runs of designs by themselves, or make, change, pause, resume or delete one. Times are five cron "
        "fields in a timezone, or a name such as @daily.",
        Keeping,
        _keep,
    ),
)
