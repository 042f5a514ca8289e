"""Tools that start, retry and read runs."""

from typing import Any

from hermes_workflow.api.designs import design_named
from hermes_workflow.api.tools.tool import Call, Tool
from hermes_workflow.core.errors import Malformed
from hermes_workflow.http.bodies import Anyhow, Body, Choice, Flag, Text, Whole
from hermes_workflow.http.queries import LARGEST_PAGE
from runs import services
from runs.api.addresses import run_at
from runs.documents import summary
from runs.listing import ORIGINS
from runs.models import Run
from runs.selectors import runs_for
from runs.starts import PERFORM

ORIGIN = "chat"
SOME = 20


class Running(Body):
    """A design to start by its name, or a failed run to go on with."""

    name = Text(required=False, max_length=64, help_text="The design to start")
    input = Anyhow(required=False, help_text="What the run works on; read in conditions as out.<trigger>.<key>")
    workflow_id = Text(required=False, max_length=128, help_text="Your own name of the run; used once")
    perform = Choice(PERFORM, required=False, help_text="caller: every agent step waits for you to perform it with workflow_design_respond")
    retry = Text(required=False, max_length=32, help_text="Instead of name: the id of a failed run, to go on where it failed")
    confirm = Flag(default=False, help_text="The person agreed that this run sends to the channels that a refusal named")


class Reading(Body):
    """One run, or the newest ones."""

    run_id = Text(required=False, max_length=32, help_text="Only this run, with everything about it")
    status = Choice(tuple(Run.Status.values), required=False, help_text="Only runs that stand there")
    name = Text(required=False, max_length=64, help_text="Only runs of this design")
    origin = Choice(ORIGINS, required=False, help_text="Only runs that were started from there")
    limit = Whole(default=SOME, min_value=1, max_value=LARGEST_PAGE, help_text="How many at most")


def _run(call: Call) -> dict[str, Any]:
    fields = dict(call.fields)
    if ("name" in fields) == ("retry" in fields):
        raise Malformed("name, retry: give exactly one of them")
    if "retry" in fields:
        return _retry(call, fields)
    design = design_named(call, fields.pop("name"))
    run, new = services.start_run(principal=call.principal, design=design, origin=ORIGIN, key=call.key, **fields)
    return {**services.document_of(principal=call.principal, run_id=run.pk), "new": new}


def _retry(call: Call, fields: dict[str, Any]) -> dict[str, Any]:
    if extra := sorted(fields.keys() - {"retry", "confirm"}):
        raise Malformed(f"{extra[0]}: a retry goes on with what the run has; leave it out")
    run = run_at(call, fields["retry"])
    services.retry_run(principal=call.principal, run_id=run.pk, confirm=fields.get("confirm", False))
    return services.document_of(principal=call.principal, run_id=run.pk)


def _runs(call: Call) -> dict[str, Any]:
    chosen = {name: value for name, value in call.fields.items() if name != "limit"}
    if "run_id" in chosen:
        if extra := sorted(chosen.keys() - {"run_id"}):
            raise Malformed(f"{extra[0]}: one run is read by its id alone; leave it out")
        return services.document_of(principal=call.principal, run_id=run_at(call, chosen["run_id"]).pk)
    return _newest(call, chosen)


def _newest(call: Call, chosen: dict[str, Any]) -> dict[str, Any]:
    services.honour_deadlines()
    named = {"design__slug": chosen.pop("name")} if "name" in chosen else {}
    limit = call.fields["limit"]
    rows = runs_for(call.principal).filter(**chosen, **named).defer("version__document", "version__viewport")
    found = list(rows[: limit + 1])
    hint = "read one with run_id" if found else "nothing was started yet, or nothing matches"
    return {"ok": True, "runs": [summary(run) for run in found[:limit]], "more": len(found) > limit, "next": hint}


TOOLS = (
    Tool(
        "workflow_design_run",
        "Start a run of a workflow design, or retry a failed run. The answer says where the run stands and, in next, what you can do. "
        "awaiting_approval: ask the user the pending question; only a person answers it. awaiting_agent: do what pending.prompt says and "
        "give the result with workflow_design_respond. Never guess a run id.",
        Running,
        _run,
    ),
    Tool("workflow_design_runs", "List runs, newest first, or read one run with run_id. Read the result; do not guess it.", Reading, _runs),
)
