"""Performing a step with a program of the operator's: JSON in on stdin, exactly one JSON object out on stdout."""

import errno
import json
import os
import signal
from collections.abc import Callable
from typing import Any, Final

from hermes_workflow.core.errors import Malformed
from hermes_workflow.core.failures import diagnose, hint_for
from runs.seams import redaction
from runs.seams.answers import Unusable, read_answer
from runs.seams.base import Assignment, Failed, Outcome, Performed, Say, unheard
from runs.seams.coding_agents import TEMPLATES
from runs.seams.processes import Ended, Limits, run
from runs.seams.program import Program, workplace

REQUEST_VERSION: Final = "hermes.performer.v1"
NOT_THERE = frozenset({errno.ENOENT, errno.EACCES, errno.ENOTDIR, errno.ENOEXEC, errno.EISDIR, errno.ELOOP})


class SubprocessPerformer:
    """Runs the argv of the profile once per attempt, trusted with this machine but bounded in time and output."""

    keeps_transcript = True

    def perform(self, assignment: Assignment, *, cancelled: Callable[[], bool], say: Say = unheard) -> Outcome:
        """The program's answer, or why there is none; whatever happens, none of its processes is left."""
        try:
            program = Program.read(assignment.settings)
        except Malformed as error:
            return Failed("performer_missing", error.msg, hint_for("performer_missing"))
        template = TEMPLATES.get(program.template)
        request = template.request(assignment) if template else request_of(assignment)
        ended = attempt(program, assignment, request, cancelled)
        read = template.read if template else read_answer
        try:
            refuse_bad_end(ended, program, assignment, read)
            return read(ended.stdout, schema=assignment.schema, limit=program.stdout_bytes)
        except Unusable as unusable:
            return failed(unusable, ended, program, assignment, request)


def attempt(program: Program, assignment: Assignment, request: str, cancelled: Callable[[], bool]) -> Ended:
    """Run the program in a directory of its own; not being able to start it is one way of ending."""
    limits = Limits(assignment.timeout_seconds, program.stdout_bytes, program.stderr_bytes, program.grace_seconds)
    try:
        with workplace() as home:
            argv, env = program.command(assignment.model), program.environment(home)
            return run(argv, request.encode(), home=home, cwd=program.workdir, env=env, limits=limits, cancelled=cancelled)
    except (OSError, ValueError) as error:
        return Ended("room", None, getattr(error, "errno", 0) or errno.EINVAL, b"", b"", 0.0)


def request_of(assignment: Assignment) -> str:
    """The document the program reads: one line of ASCII JSON, described in docs/performers.md."""
    document = {
        "version": REQUEST_VERSION,
        "run_id": assignment.run_id,
        "node_id": assignment.node_id,
        "number": assignment.number,
        "correlation_id": assignment.correlation_id,
        "idempotency_key": assignment.idempotency_key,
        "profile": assignment.profile,
        "model": assignment.model,
        "prompt": assignment.prompt,
        "rendered_prompt": assignment.rendered,
        "input": assignment.input,
        "context": assignment.context,
        "schema": assignment.schema,
        "timeout_seconds": assignment.timeout_seconds,
        "ref": assignment.ref,
    }
    return json.dumps(document, default=dict) + "\n"


def refuse_bad_end(ended: Ended, program: Program, assignment: Assignment, read: Callable[..., Performed]) -> None:
    """Only a program that ended by itself, with exit 0, has given an answer. Raises Unusable."""
    if ended.errno:
        kind = "performer_missing" if ended.errno in NOT_THERE and not ended.stopped else "performer_failed"
        raise Unusable(kind, "start_failed", f"the performer could not be started: {os.strerror(ended.errno)}")
    if ended.stopped:
        raise stopped(ended, program, assignment)
    if ended.code:
        raise bad_exit(ended, read, program.stdout_bytes)


def stopped(ended: Ended, program: Program, assignment: Assignment) -> Unusable:
    """Why we ended it."""
    match ended.stopped:
        case "timeout":
            return Unusable("timeout", "timeout", f"the performer took longer than {assignment.timeout_seconds:g} seconds and was ended")
        case "cancelled":
            return Unusable("cancelled_by_owner", "cancelled", "the performer was ended because its work is no longer wanted")
        case "stdout":
            return Unusable("output_too_large", "stdout_exceeded", f"the output passed {program.stdout_bytes} bytes and was stopped")
        case "stderr":
            return Unusable("output_too_large", "stderr_exceeded", f"the error output passed {program.stderr_bytes} bytes and was stopped")
    return Unusable("performer_failed", "lost", "the performer's keeper was killed from outside")


def bad_exit(ended: Ended, read: Callable[..., Performed], limit: int) -> Unusable:
    """A failing exit: in the program's own words if it gave a reason, which its output can never be otherwise."""
    code = ended.code or 0
    try:
        read(ended.stdout, schema=None, limit=limit)
    except Unusable as said:
        if said.code == "admitted":
            return said
    words = ended.stderr.decode("utf-8", "replace") + ended.stdout.decode("utf-8", "replace")
    kind = diagnose(words) or "performer_failed"
    if code < 0:
        return Unusable(kind, "signalled", f"the performer was killed by {signal_name(-code)}")
    return Unusable(kind, "nonzero_exit", f"the performer failed with exit {code}")


def signal_name(number: int) -> str:
    """`SIGKILL` for 9; real-time signals have no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def failed(unusable: Unusable, ended: Ended, program: Program, assignment: Assignment, request: str) -> Failed:
    """The failure as it is recorded and shown."""
    private = (request.strip(), assignment.rendered, assignment.prompt)
    hidden = [*redaction.secret_values(dict(os.environ)), *(text for text in private if len(text) >= redaction.SHORTEST_TEXT)]
    template = TEMPLATES.get(program.template)
    session, usage = template.conversation(ended.stdout) if template else ("", {})
    return Failed(
        kind=unusable.kind,
        msg=redaction.redact(unusable.msg, hidden).translate(redaction.CONTROLS),
        hint=hint_for(unusable.kind),
        retry_after=unusable.retry_after,
        diagnostics=diagnostics(unusable.code, ended, program.command(assignment.model), hidden),
        usage=usage,
        session=session,
    )


def diagnostics(code: str, ended: Ended, argv: list[str], hidden: list[str]) -> dict[str, Any]:
    """What helps to mend the program: never its environment, its input or a secret."""
    return {
        "code": code,
        "argv": redaction.command(argv, hidden=hidden),
        "ms": round(ended.seconds * 1000),
        "exit_code": ended.code,
        "stdout_bytes": len(ended.stdout),
        "stderr_bytes": len(ended.stderr),
        "stdout_tail": redaction.tail(ended.stdout, hidden=hidden, cut=bool(ended.stopped)),
        "stderr_tail": redaction.tail(ended.stderr, hidden=hidden, cut=bool(ended.stopped)),
    }
