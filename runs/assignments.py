"""What a claimed attempt means: an assignment for a performer, a parcel to send, or a reason why it cannot be done."""

from dataclasses import dataclass

from django.conf import settings

from hermes_workflow import programs
from hermes_workflow.core.failures import hint_for
from hermes_workflow.core.outputs import INPUT_SEQ
from hermes_workflow.core.plan import Step
from hermes_workflow.core.prompts import delivered
from hermes_workflow.models import Profile
from hermes_workflow.skills import SkillUnusable, texts_of
from runs.engine import Turn
from runs.journal import Lease
from runs.models import Run
from runs.performers import Performing, performing
from runs.seams.base import Assignment, Failed, Performer
from runs.seams.deliver import Parcel
from runs.seams.hermes import HermesPerformer
from runs.seams.openai_chat import OpenAIPerformer
from runs.seams.subprocess import SubprocessPerformer

STEP_SECONDS = 600.0  # when neither the node nor the profile says otherwise
MOST_NAMED = 10
MSG_CHARS = 300

PERFORMERS: dict[str, Performer] = {
    Profile.Performer.SUBPROCESS: SubprocessPerformer(),
    Profile.Performer.OPENAI: OpenAIPerformer(),
    Profile.Performer.HERMES: HermesPerformer(),
}


@dataclass(frozen=True, slots=True)
class Unperformed:
    """The profile has no performer any more: the step waits for a person."""

    msg: str


@dataclass(frozen=True, slots=True)
class Performance:
    """An assignment and the performer that does it."""

    assignment: Assignment
    performer: Performer


Work = Performance | Parcel | Unperformed | Failed


def correlation_id(run_id: str, key: str) -> str:
    """Names a step of a run to the outside."""
    return f"workflow:{run_id}:{key}"


def prepare(lease: Lease, turn: Turn) -> Work:
    """Read what the attempt needs from its run."""
    step = turn.plan.step.get(lease.key)
    if step is None:
        return Failed("internal", f"the plan has no step {lease.key}", hint_for("internal"))
    return _parcel(lease, turn, step) if lease.kind == "deliver" else _performance(lease, turn, step)


def _performance(lease: Lease, turn: Turn, step: Step) -> Work:
    name = step.spec.get("profile") or settings.HERMES_DEFAULT_PROFILE
    found = performing(name)
    if found is None:
        return Failed("performer_missing", f"there is no profile {name}", hint_for("performer_missing"))
    if found.performer == Profile.Performer.NONE:
        return Unperformed(f"profile {name} has no performer")
    wanted = step.spec.get("model") or ""
    if refusal := refused(found, wanted):
        return refusal
    try:
        return Performance(_assignment(lease, turn, step, found, wanted or found.model), PERFORMERS[found.performer])
    except SkillUnusable as error:
        return Failed("blocked", error.msg[:MSG_CHARS], hint_for("blocked"))


def refused(found: Performing, model: str) -> Failed | None:
    """Why the profile cannot perform a step that asks for `model`; the empty model is the profile's own."""
    if found.performer not in PERFORMERS:
        return Failed(
            "performer_missing", f"profile {found.profile} asks for the unknown performer {found.performer}", hint_for("performer_missing")
        )
    if not model or model == found.model:
        return None
    if not found.allow_model_override:
        return Failed("model_denied", f"profile {found.profile} does not allow the model {model}", hint_for("model_denied"))
    if found.catalogue and model not in found.catalogue:
        offered = ", ".join(found.catalogue[:MOST_NAMED])
        return Failed(
            "model_unknown", f"profile {found.profile} has no model {model}; it has {offered}"[:MSG_CHARS], hint_for("model_unknown")
        )
    return None


def _assignment(lease: Lease, turn: Turn, step: Step, found: Performing, model: str) -> Assignment:
    turn.fetch({INPUT_SEQ})
    context = turn.context(step.id)
    given = turn.bodies.get(INPUT_SEQ) or {}
    skills = texts_of(step.spec.get("skills") or (), agent=step.spec.get("agent", ""))
    told = programs.message_for(turn.plan, step, started=turn.history.started, given=given, results=context, skills=skills)
    if turn.plan.trigger in context:
        context = {"input": context.pop(turn.plan.trigger), **context}
    correlation = correlation_id(lease.run_id, step.id)
    return Assignment(
        run_id=lease.run_id,
        node_id=step.id,
        number=lease.number,
        prompt=step.spec.get("prompt", ""),
        context=context,
        input=given,
        profile=found.profile,
        model=model,
        schema=step.spec.get("schema"),
        correlation_id=correlation,
        idempotency_key=f"{correlation}:{lease.number}",
        timeout_seconds=_seconds(turn, step, found),
        ref=lease.ref,
        settings=found.settings,
        message=told.text,
        system=told.system,
    )


def _seconds(turn: Turn, step: Step, found: Performing) -> float:
    """How long the step may take: what the run was started with, else what the node says, else the profile."""
    minutes = step.spec.get("timeout_minutes") or found.timeout_minutes
    return turn.history.started.get("timeout_seconds") or (minutes * 60.0 if minutes else STEP_SECONDS)


def _parcel(lease: Lease, turn: Turn, step: Step) -> Parcel:
    run = Run.objects.select_related("design", "started_by").get(pk=lease.run_id)
    target = step.spec.get("target") or (f"user:{run.started_by.get_username()}" if run.started_by else "")
    number = turn.history.state(step.id).delivered if step.id in turn.history.resends else lease.number
    return Parcel(
        run_id=lease.run_id,
        node_id=step.id,
        method=step.spec["deliver"],
        target=target,
        title=f"{run.design.title or run.design.slug}: {step.id}",
        text=delivered(turn.context(step.id)),
        idempotency_key=f"{correlation_id(lease.run_id, step.id)}:{number}",
    )
