"""How the command lines of coding agents are called and what they print: Claude Code's one JSON object, Codex's lines of JSON.

The formats are those of `claude -p --output-format json` and `codex exec --json`; keys that we do not know are ignored, since both add
some with every release.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from hermes_workflow.core.documents import read_json
from hermes_workflow.core.errors import HermesError
from runs.seams import http_faults
from runs.seams.answers import MSG_CHARS, Unusable, check_schema, fitting
from runs.seams.base import Assignment, Performed

LINE_LIMIT = 8 * 1_048_576
NOT_GIVEN: Final = object()
SIGN_IN = re.compile(r"/login\b|not logged in|log in again|sign in|oauth token|unauthorized|authentication", re.IGNORECASE)
NO_SUCH_MODEL = re.compile(r"selected model .{0,120}may not exist|model is not supported", re.IGNORECASE | re.DOTALL)
OF_CLAUDE = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CONFIG_DIR")
ALL_AGENTS = ("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS")


@dataclass(slots=True)
class Told:
    """What an agent's output says. `failure` is its own reason why there is no answer, `value` what it gave for a schema."""

    text: str = ""
    value: Any = NOT_GIVEN
    failure: str | None = None
    status: int = 400
    finished: bool = False
    session: str = ""
    usage: dict[str, Any] = field(default_factory=dict)
    model: str = ""


@dataclass(frozen=True, slots=True)
class Template:
    """One agent's command line. The words stand between the program and the operator's own `args`, `last` stands behind them."""

    name: str
    argv: tuple[str, ...]
    words: tuple[str, ...]
    last: tuple[str, ...]
    model_argv: tuple[str, ...]
    env: tuple[str, ...]
    hear: Callable[[bytes], Told]

    def request(self, assignment: Assignment) -> str:
        """What it reads from its standard input: the prompt, and the schema in words."""
        parts = [assignment.system, assignment.rendered]
        if assignment.schema is not None:
            parts.append(f"End with an answer that is JSON, fits this JSON Schema, and is nothing else:\n{json.dumps(assignment.schema)}")
        return "\n\n".join(part for part in parts if part)

    def read(self, stdout: bytes, *, schema: Mapping[str, Any] | None, limit: int) -> Performed:
        """The answer in its output. Raises Unusable."""
        if not stdout.strip():
            raise Unusable("empty_result", "empty", "the performer ended with no output")
        told = self.hear(stdout)
        if told.failure is not None:
            raise admitted(told)
        if not told.finished:
            raise Unusable("invalid_output", "invalid_response", f"the output is not that of {self.name}, or ends too early")
        value, structured = value_of(told, schema, limit)
        provenance = {"runner": self.name, "model": told.model, "id": told.session}
        return Performed(
            value,
            structured,
            provenance={name: text for name, text in provenance.items() if text},
            usage=told.usage,
            session=told.session,
        )

    def conversation(self, stdout: bytes) -> tuple[str, dict[str, Any]]:
        """Their session and what it cost, as far as an output tells that is no answer."""
        try:
            told = self.hear(stdout)
        except Unusable:
            return "", {}
        return told.session, told.usage


def value_of(told: Told, schema: Mapping[str, Any] | None, limit: int) -> tuple[Any, bool]:
    """The value, checked against the schema where there is one. Raises Unusable."""
    if schema is not None and told.value is not NOT_GIVEN:
        check_schema(told.value, schema)
        return told.value, True
    if not told.text.strip():
        raise Unusable("empty_result", "empty", "the agent answered nothing")
    return (told.text, False) if schema is None else (fitting(told.text, schema, limit), True)


def admitted(told: Told) -> Unusable:
    """The failure that an agent reports itself."""
    said = told.failure or ""
    kind, _ = http_faults.kind_of(told.status, said)
    if kind == "performer_failed" and NO_SUCH_MODEL.search(said):
        kind = "model_unknown"
    if kind == "performer_failed" and SIGN_IN.search(said):
        kind = "auth"
    return Unusable(kind, "admitted", f"the agent failed: {said}"[:MSG_CHARS])


def read_one(data: bytes | str) -> Any:
    """One strict JSON value. Raises Unusable."""
    try:
        return read_json(data, limit=LINE_LIMIT)
    except HermesError as error:
        raise Unusable(
            "invalid_output", "invalid_json", f"the output is not the JSON of a coding agent: {error.msg}"[:MSG_CHARS]
        ) from error


def decoded(stdout: bytes) -> str:
    """The output as text. Raises Unusable."""
    try:
        return stdout.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Unusable("invalid_output", "invalid_utf8", f"the output is not UTF-8 (byte {error.start})") from error


def hear_claude(stdout: bytes) -> Told:
    """`{"type": "result", "subtype", "is_error", "result", "session_id", "usage", …}`, alone or last in a list. Raises Unusable."""
    found = read_one(decoded(stdout))
    if isinstance(found, list):
        found = next((one for one in reversed(found) if isinstance(one, dict) and one.get("type") == "result"), None)
    if not isinstance(found, dict) or found.get("type") != "result":
        return Told()
    subtype, result = text_in(found, "subtype"), text_in(found, "result")
    models = found.get("modelUsage")
    told = Told(text=result, finished="result" in found or "structured_output" in found, session=text_in(found, "session_id"))
    told.value = found.get("structured_output", NOT_GIVEN)
    told.usage = {**numbers(found.get("usage")), **numbers({name: found.get(name) for name in ("total_cost_usd", "num_turns")})}
    told.model = next(iter(models), "") if isinstance(models, dict) else ""
    if found.get("is_error") is not False or subtype != "success":
        told.failure = result or "; ".join(texts(found.get("errors"))) or subtype or "it did not say why"
        told.status = found["api_error_status"] if type(found.get("api_error_status")) is int else 400
    return told


def hear_codex(stdout: bytes) -> Told:
    """Events, one a line: `thread.started`, `item.completed`, `turn.completed`, `turn.failed`, `error`. Raises Unusable.

    An `error` may be one that the agent gets over (it says so when it reconnects), so only a turn that does not complete has failed.
    """
    told, complaint = Told(), ""
    for line in filter(str.strip, decoded(stdout).splitlines()):
        event = read_one(line)
        if not isinstance(event, dict):
            raise Unusable("invalid_output", "invalid_response", "a line of the output is JSON but not an object")
        take_in(told, event)
        complaint = text_in(event, "message") if event.get("type") == "error" else complaint
    if complaint and not told.finished:
        told.failure = told.failure or complaint
    return told


def take_in(told: Told, event: Mapping[str, Any]) -> None:
    """What one event of Codex adds."""
    match event:
        case {"type": "thread.started"}:
            told.session = text_in(event, "thread_id")
        case {"type": "item.completed", "item": {"type": "agent_message", "text": str(text)}}:
            told.text = text
        case {"type": "turn.completed"}:
            told.finished, told.usage = True, added(told.usage, numbers(event.get("usage")))
        case {"type": "turn.failed", "error": {"message": str(message)}}:
            told.failure = message
        case {"type": "turn.failed"}:
            told.failure = "it did not say why"


def text_in(found: Mapping[str, Any], name: str) -> str:
    """A text under that name, or ""."""
    value = found.get(name)
    return value if isinstance(value, str) else ""


def texts(found: Any) -> list[str]:
    """The texts of a list."""
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def numbers(found: Any) -> dict[str, Any]:
    """The numbers of an object."""
    return {name: value for name, value in found.items() if type(value) in (int, float)} if isinstance(found, dict) else {}


def added(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """What two turns cost together."""
    return {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}


def by_name(templates: Sequence[Template]) -> dict[str, Template]:
    """Each under its name."""
    return {template.name: template for template in templates}


TEMPLATES = by_name(
    [
        Template(
            name="claude-code",
            argv=("claude",),
            words=("-p", "--output-format", "json"),
            last=(),
            model_argv=("--model", "{model}"),
            env=(
                "ANTHROPIC_API_KEY",
                "ANTHROPIC_AUTH_TOKEN",
                "ANTHROPIC_BASE_URL",
                "CLAUDE_CODE_OAUTH_TOKEN",
                "CLAUDE_CONFIG_DIR",
                *ALL_AGENTS,
            ),
            hear=hear_claude,
        ),
        Template(
            name="codex",
            argv=("codex",),
            words=("exec", "--json", "--skip-git-repo-check"),
            last=("-",),
            model_argv=("--model", "{model}"),
            env=("CODEX_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "CODEX_HOME", *ALL_AGENTS),
            hear=hear_codex,
        ),
    ]
)
