"""The tool that answers what a run waits for."""

from typing import Any

from approvals.api import RespondBody, with_source
from approvals.services import UNSET, respond
from hermes_workflow.api.tools.runs import ORIGIN
from hermes_workflow.api.tools.tool import Call, Tool
from hermes_workflow.http.bodies import Text
from runs import services
from runs.api.addresses import run_at


class Responding(RespondBody):
    """An answer to the gate at a node, or the result of the agent step that waits there."""

    run_id = Text(max_length=32, help_text="The run, from its document")


def _respond(call: Call) -> dict[str, Any]:
    fields = with_source(dict(call.fields))
    run = run_at(call, fields.pop("run_id"))
    respond(principal=call.principal, run_id=run.pk, key=call.key, channel=ORIGIN, **{"answer": UNSET, **fields})
    return services.document_of(principal=call.principal, run_id=run.pk)


TOOLS = (
    Tool(
        "workflow_design_respond",
        "Give the result of an agent step that waits for you (structured for JSON, output for text). An approval takes answer, one of its "
        "options exactly; a bot never decides: it relays what a person wrote, with source and the digest that the person was shown.",
        Responding,
        _respond,
    ),
)
