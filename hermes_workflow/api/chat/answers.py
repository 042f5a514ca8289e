"""Answering a gate by typing: a relayed answer brings the check code of what was shown, so that it is an answer to that."""

from approvals.check_codes import meant_by
from approvals.services import answer_gate
from hermes_workflow.api.chat.commands import ORIGIN, Asked, Said, run_meant, status_of
from hermes_workflow.core.errors import Conflict, HermesError, Stale
from hermes_workflow.words import shown
from runs.models import Gate, Run

MOST_GATES = 200


class CodeNeeded(Conflict):
    """The answer does not say what it answers."""

    code = "check_code_required"


def do_answer(asked: Asked) -> Said:
    """Answer the gate that the code, or the run alone, names."""
    run = run_meant(asked)
    command = asked.command
    try:
        gate = _gate_meant(asked, run)
        answer_gate(
            principal=asked.speaker.door,
            gate_id=gate.pk,
            answer=command.words[1],
            comment=command.comment,
            digest=gate.digest,
            source=asked.speaker.source,
            key=asked.speaker.message_key,
            channel=ORIGIN,
        )
    except (CodeNeeded, Stale) as refusal:
        raise _with_question(asked, run, refusal) from None
    return status_of(asked, run.pk, first=f"Recorded: {shown(command.words[1])} for {shown(gate.key)}.")


def _gate_meant(asked: Asked, run: Run) -> Gate:
    approvals = Gate.objects.filter(run_id=run.pk).exclude(kind=Gate.Kind.AGENT).order_by("-id")
    gates = list(approvals[:MOST_GATES])
    if asked.command.code:
        gate = meant_by(asked.command.code, gates)
        if gate is None:
            raise Stale("the code belongs to nothing that this run asks", hint="answer with a line that shows its code")
        return gate
    waiting = [gate for gate in gates if gate.status == Gate.Status.OPEN]
    if not gates:
        raise Conflict("this run asks nobody anything", hint=f"/workflow status {run.pk[:8]} says where it stands")
    if not waiting:
        return gates[0]
    if len(waiting) > 1 or asked.speaker.source is not None:
        raise CodeNeeded("look at what is asked, then send the line with its code")
    return waiting[0]


def _with_question(asked: Asked, run: Run, refusal: HermesError) -> HermesError:
    said = status_of(asked, run.pk, first=f"Nothing was recorded: {refusal.msg}.")
    refusal.extra = {**refusal.extra, "text": said.text}
    return refusal
