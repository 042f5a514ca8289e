"""What each command does: one call of a service, and the answer in words."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from approvals import selectors as approvals
from hermes_workflow.api.chat.parse import USAGE, Command
from hermes_workflow.api.chat.speakers import Speaker
from hermes_workflow.api.chat.texts import ended_text, gate_text, line_of, listed, name_of
from hermes_workflow.api.designs import design_named
from hermes_workflow.api.shapes import design_summary
from hermes_workflow.core.errors import Conflict, NotFound
from hermes_workflow.icons import STATUS_WORDS
from hermes_workflow.rights import Principal
from hermes_workflow.selectors import designs_for
from hermes_workflow.words import shown
from runs import sending, services, warm
from runs.documents import summary
from runs.models import Run
from runs.selectors import open_gates, run_for, runs_for

ORIGIN = "chat"
MOST = 20
NEWEST = 10
SHORTEST, MOST_NAMED = 6, 5
HEX = frozenset("0123456789abcdef")


@dataclass(frozen=True, slots=True)
class Said:
    """The answer for the chat, and the same as data."""

    text: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """A command and who gave it; `site` makes an address of a path."""

    speaker: Speaker
    command: Command
    site: Callable[[str], str]

    @property
    def principal(self) -> Principal:
        """Whose rights count."""
        return self.speaker.principal


def run_meant(asked: Asked) -> Run:
    """The run that a word names: its id, its workflow id, or a beginning of its id. Raises NotFound, Conflict (several begin so)."""
    word = asked.command.words[0]
    rows = runs_for(asked.principal)
    short = word.lower()
    found = list(rows.filter(pk=short)) or list(rows.filter(workflow_id=word))
    if not found and len(short) >= SHORTEST and HEX.issuperset(short):
        found = list(rows.filter(pk__startswith=short)[: MOST_NAMED + 1])
    if len(found) > 1:
        named = ", ".join(run.pk for run in found[:MOST_NAMED])
        raise Conflict(
            f"more than one run begins with {short}", hint=f"name one of {named}", run_ids=[run.pk for run in found[:MOST_NAMED]]
        )
    if not found:
        raise NotFound("there is no such run", hint="/workflow runs lists the newest")
    services.honour_deadline(found[0])
    return found[0]


def status_of(asked: Asked, run_id: str, *, first: str = "") -> Said:
    """Where a run stands, and what a person can type now."""
    document = services.document_of(principal=asked.principal, run_id=run_id)
    run = run_for(asked.principal, run_id)
    gates = [approvals.gate_for(asked.principal, gate.pk) for gate in open_gates(run_id)]
    parts = [first, f"{run.design.slug}, run {name_of(run)}: {STATUS_WORDS[run.status].lower()}."]
    for gate in gates:
        site = asked.site(f"/inbox/{gate.pk}/")
        relayed = asked.speaker.source is not None and gate.rules.get("relay") is False
        why_not = f"it is answered on the site only: {site}" if relayed else approvals.why_not(asked.principal, gate)
        parts.append(gate_text(gate, why_not=why_not, site=site))
    if not gates:
        parts.append(ended_text(document))
    return Said("\n".join(part for part in parts if part), document)


def do_list(asked: Asked) -> Said:
    """The designs, by name."""
    rows = designs_for(asked.principal).exclude(current=None).defer("current__document", "current__viewport").order_by("slug", "id")
    found = list(rows[: MOST + 1])
    lines = [f"{design.slug}: {shown(design.title)}" if design.title else design.slug for design in found[:MOST]]
    more = f"And more: {asked.site('/designs/')}" if len(found) > MOST else ""
    text = listed(lines, empty="There is no workflow that you may see.", more=more)
    return Said(text, {"designs": [design_summary(design) for design in found[:MOST]]})


def do_runs(asked: Asked) -> Said:
    """The newest runs."""
    services.honour_deadlines()
    found = list(runs_for(asked.principal).defer("version__document", "version__viewport")[: NEWEST + 1])
    more = f"And more: {asked.site('/runs/')}" if len(found) > NEWEST else ""
    text = listed(map(line_of, found[:NEWEST]), empty="Nothing was started yet. /workflow list says what you can run.", more=more)
    return Said(text, {"runs": [summary(run) for run in found[:NEWEST]]})


def do_run(asked: Asked) -> Said:
    """Start a design on what was typed behind its name."""
    design = design_named(asked, asked.command.words[0].lower())
    if design.current:
        _may_send(asked, design.current.plan_id)
    run, new = services.start_run(
        principal=asked.principal,
        design=design,
        origin=ORIGIN,
        input=asked.command.input,
        key=asked.speaker.message_key,
        confirm=asked.command.confirm,
    )
    return status_of(asked, run.pk, first="Started." if new else "Started already by this message.")


def do_retry(asked: Asked) -> Said:
    """Go on with a failed run where it failed."""
    run = run_meant(asked)
    _may_send(asked, run.plan_id)
    services.retry_run(principal=asked.principal, run_id=run.pk, confirm=asked.command.confirm)
    return status_of(asked, run.pk, first="Retried.")


def _may_send(asked: Asked, plan_id: str) -> None:
    """What goes through a bot is held to the bot's switch, whoever speaks through it."""
    if asked.speaker.source is None and not asked.principal.is_bot:
        return
    try:
        sending.require(asked.speaker.door, warm.plan_of(plan_id), confirmed=asked.command.confirm)
    except sending.ConfirmationRequired as refusal:
        refusal.hint = "if it may, repeat the command with --confirm behind run"
        raise


def do_status(asked: Asked) -> Said:
    """Where one run stands."""
    return status_of(asked, run_meant(asked).pk)


def help_said() -> Said:
    """How commands are written."""
    lines = list(USAGE.values())
    return Said("\n".join([*lines, "A run is named by its id or the first 6 or more characters of it."]), {"commands": lines})
