"""What a Hermes Agent's finished run says: its output as the step's value, or why it has none."""

import json
import re
from collections.abc import Mapping
from typing import Any

from hermes_workflow.core.documents import read_json
from hermes_workflow.core.errors import HermesError
from hermes_workflow.core.failures import diagnose
from runs.seams.answers import MSG_CHARS, Unusable, check_schema, read_provenance
from runs.seams.base import Assignment, Performed
from runs.seams.http_faults import NO_MODEL, TOO_LONG

FENCED = re.compile(r"\s*```[A-Za-z]*[ \t]*\n(.*)\n[ \t]*```\s*", re.DOTALL)
MOST_COUNTS = 20
SESSION_CHARS = 255
ASK = (
    "\n\n## Answer\nAnswer with exactly one JSON value that fits this JSON Schema, without any other words before or after it:\n\n"
    "```json\n{schema}\n```"
)


def asked(assignment: Assignment) -> str:
    """The prompt with its context; with a schema, also what the answer must look like, for the agent knows no such thing by itself."""
    if assignment.schema is None:
        return assignment.rendered
    return assignment.rendered + ASK.format(schema=json.dumps(assignment.schema, ensure_ascii=False, sort_keys=True))


def performed(run: Mapping[str, Any], assignment: Assignment, limit: int) -> Performed:
    """The value of a completed run. Raises Unusable."""
    given = run.get("output")
    if given is None or (isinstance(given, str) and not given.strip()):
        raise Unusable("empty_result", "empty", "the Hermes Agent finished without an answer")
    text = given if isinstance(given, str) else json.dumps(given)
    if len(text.encode("utf-8", "replace")) > limit:
        raise Unusable("output_too_large", "output_exceeded", f"the answer passed its limit of {limit} bytes")
    value = json_in(given, limit) if isinstance(given, str) and assignment.schema is not None else given
    check_schema(value, assignment.schema)
    structured = assignment.schema is not None or not isinstance(value, str)
    said_by = {"model": run.get("model"), "request_id": run.get("run_id"), "runner": "hermes"}
    return Performed(value, structured, read_provenance(said_by), usage_of(run), session_of(run))


def json_in(text: str, limit: int) -> Any:
    """The JSON value that a text is, as a whole or in one fence around it. Raises Unusable."""
    fenced = FENCED.fullmatch(text)
    try:
        return read_json(fenced[1] if fenced else text, limit=limit)
    except HermesError as error:
        raise Unusable(
            "invalid_output", "invalid_json", f"the answer is not the JSON that was asked for: {error.msg}"[:MSG_CHARS]
        ) from error


def refusal(run: Mapping[str, Any]) -> Unusable:
    """Why a failed run failed, in the agent's own words."""
    error = run.get("error")
    said = error if isinstance(error, str) else error.get("message", "") if isinstance(error, dict) else ""
    said = said.strip()[:MSG_CHARS] if isinstance(said, str) else ""
    kind = "context_overflow" if TOO_LONG.search(said) else "model_unknown" if NO_MODEL.search(said) else diagnose(said)
    return Unusable(kind or "performer_failed", "failed", f"the Hermes Agent failed: {said}" if said else "the Hermes Agent failed")


def usage_of(run: Mapping[str, Any]) -> dict[str, Any]:
    """What it cost: the plain numbers of `usage`."""
    given = run.get("usage")
    counts = given.items() if isinstance(given, dict) else ()
    plain = [(name[:64], count) for name, count in counts if isinstance(count, int | float) and not isinstance(count, bool)]
    return dict(plain[:MOST_COUNTS])


def session_of(run: Mapping[str, Any]) -> str:
    """The agent's own name for the conversation, else for the run."""
    names = (run.get("session_id"), run.get("run_id"))
    return next((name for name in names if isinstance(name, str) and 0 < len(name) <= SESSION_CHARS), "")
