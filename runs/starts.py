"""How a run begins, whoever asks for it: the input checked, the same start twice being one run, one commit."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError

from hermes_workflow import programs
from hermes_workflow.core import events as e
from hermes_workflow.core.documents import check_value, digest
from hermes_workflow.core.errors import Conflict, KeyReused, Malformed, NeedsNewerCode, NotFound
from hermes_workflow.core.events import Event
from hermes_workflow.core.plan import Plan
from hermes_workflow.core.reach import starting_at
from hermes_workflow.core.scheduler import tests_for
from hermes_workflow.core.text import shorten
from hermes_workflow.models import Design, Schedule
from runs import engine, selectors, warm
from runs.models import Run

WORKFLOW_ID = re.compile(r"[A-Za-z0-9_.:-]{1,128}\Z")
PERFORM = ("host", "caller")
LONGEST_STEP = 4320 * 60


@dataclass(frozen=True, kw_only=True)
class Start:
    """A wanted run of a design's current version.

    `starter` is the person it belongs to, if there is one; `key` makes the same start twice one run; `slot` is the moment of `schedule`
    that the run stands for, and there is one run per slot. A run may begin at `starts`, steps of its plan, and give each step
    `timeout_seconds`.
    """

    design: Design
    origin: str
    input: Any = None
    starter: User | None = None
    perform: str = "host"
    workflow_id: str | None = None
    key: str | None = None
    schedule: Schedule | None = None
    slot: datetime | None = None
    starts: tuple[str, ...] = ()
    timeout_seconds: float | None = None

    @property
    def given(self) -> Any:
        """The input; none is an empty one."""
        return {} if self.input is None else self.input

    @property
    def fingerprint(self) -> str:
        """What a repeated key must come with."""
        same = {"design": self.design.slug, "input": self.given, "perform": self.perform, "workflow_id": self.workflow_id}
        return digest(same | self.chosen)

    @property
    def chosen(self) -> dict[str, Any]:
        """What the first event says of a start that is not the usual one."""
        starts = {"starts": list(self.starts)} if self.starts else {}
        return starts | ({"timeout_seconds": self.timeout_seconds} if self.timeout_seconds else {})


def start(wanted: Start) -> tuple[Run, bool]:
    """Start it, without asking who may. Returns the run and whether it is new.

    Raises Malformed, NotFound (no version), Conflict (the workflow id or the slot is taken), KeyReused.
    """
    check(wanted)
    if known := _started_before(wanted):
        return known, False
    version = wanted.design.current
    if version is None:
        raise NotFound(f"{wanted.design.slug} has no version")
    plan = part(readable(version.plan_id), wanted.starts)
    data = {"perform": wanted.perform, "version": version.number, "plan": plan.digest, "tests": tests_for(plan, plan.trigger, wanted.given)}
    data |= wanted.chosen
    run = _row(wanted, plan)
    try:
        engine.start(run, plan, Event(e.RUN_STARTED, "", data, body=wanted.given))
    except IntegrityError:
        if known := _started_before(wanted):
            return known, False
        if wanted.slot:
            raise Conflict("this slot of the schedule has its run already") from None
        raise Conflict(f"a run with the workflow id {wanted.workflow_id} exists already") from None
    return run, True


def check(wanted: Start) -> None:
    """Raises Malformed for what no run can be started with."""
    if not isinstance(wanted.given, dict):
        raise Malformed("input: must be an object")
    check_value(wanted.given)
    if wanted.perform not in PERFORM:
        raise Malformed(f"perform: must be {' or '.join(PERFORM)}")
    seconds = wanted.timeout_seconds
    if seconds is not None and (type(seconds) not in (int, float) or not 0 < seconds <= LONGEST_STEP):
        raise Malformed(f"timeout_seconds: must be a number above 0, at most {LONGEST_STEP}")
    if wanted.workflow_id is not None and not (isinstance(wanted.workflow_id, str) and WORKFLOW_ID.match(wanted.workflow_id)):
        raise Malformed("workflow_id: must be 1 to 128 of letters, digits, dot, colon, dash and underscore")


def readable(plan_id: str) -> Plan:
    """The plan of that digest. Raises NeedsNewerCode."""
    plan = warm.plan_of(plan_id)
    if plan.unknown:
        raise NeedsNewerCode(plan.unknown)
    return plan


def part(plan: Plan, starts: Sequence[str]) -> Plan:
    """The plan that begins at `starts`, stored; the whole one when none is named. Raises Malformed for a step that is not there."""
    if not starts:
        return plan
    for key in starts:
        if key not in plan.step:
            raise Malformed(f"starts: there is no step {shorten(key)}")
    begun = starting_at(plan, starts)
    programs.store(begun)
    return begun


def _row(wanted: Start, plan: Plan) -> Run:
    version = wanted.design.current
    assert version
    return Run(
        workflow_id=wanted.workflow_id,
        design=wanted.design,
        version=version,
        profile=wanted.design.profile,
        plan_id=plan.digest,
        origin=wanted.origin,
        started_by=wanted.starter,
        start_key=wanted.key,
        start_digest=wanted.fingerprint if wanted.key else "",
        schedule=wanted.schedule,
        slot=wanted.slot,
    )


def _started_before(wanted: Start) -> Run | None:
    if not wanted.key:
        return None
    known = Run.objects.filter(started_by=wanted.starter, start_key=wanted.key).select_related(*selectors.RELATED).first()
    if known and known.start_digest != wanted.fingerprint:
        raise KeyReused
    return known
