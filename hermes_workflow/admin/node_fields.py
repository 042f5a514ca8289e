"""The typed fields of each kind of node: what the editor asks for, in which order and in which words."""

from dataclasses import dataclass

from hermes_workflow.dialects.design.fields import COLORS, DELIVERIES, JOINS, MAX_MINUTES, MAX_RETRIES, TIMEOUTS
from hermes_workflow.dialects.design.nodes import KINDS


@dataclass(frozen=True, slots=True)
class NodeField:
    """One key of a node. `choices` are values with their words; `wide` takes the whole row; `people` offers users and groups."""

    name: str
    label: str
    look: str = "line"
    help: str = ""
    choices: tuple[tuple[str, str], ...] = ()
    wide: bool = False
    mono: bool = False
    people: bool = False


def _words(values: tuple[str, ...], blank: str) -> tuple[tuple[str, str], ...]:
    return (("", blank), *((value, value) for value in values if value))


ID = NodeField("id", "Name", mono=True)
KIND = NodeField("type", "Kind", "choice", choices=tuple((kind, kind) for kind in KINDS))
AFTER = NodeField("after", "Comes after", "set")
JOIN = NodeField(
    "join", "Starts when", "choice", choices=(("", "all of them ran (default)"), *((join, f"{join} of them ran") for join in JOINS))
)
TIMEOUT = NodeField("timeout_minutes", "Time limit in minutes", "count", help=f"1 to {MAX_MINUTES}; blank means none.")

EXPRESSION = "out.<name>.<path>, then == != < <= > >= or contains, then a value."
TARGET = "user:name or group:name for a notification (blank: who started it); platform:chat_id for a channel."

OWN: dict[str, tuple[NodeField, ...]] = {
    "trigger": (
        NodeField("cron", "Cron", mono=True, help="Blank means on request."),
        NodeField("timezone", "Timezone", help="Of the cron line, such as Europe/Berlin."),
        NodeField("hook", "Inbound webhook", mono=True, help="A slug: signed calls to /api/hooks/<slug>/ start it."),
        NodeField("schema", "Input schema", "json", wide=True, mono=True, help="A JSON Schema for what a webhook sends; blank means any."),
    ),
    "agent": (
        NodeField("prompt", "Prompt", "text", wide=True),
        NodeField("profile", "Profile", "choice", help="Who performs it; the design's profile does not count here."),
        NodeField("model", "Model", help="Blank means the profile's own."),
        NodeField("retries", "Retries", "count", help=f"0 to {MAX_RETRIES} after a failed try."),
        TIMEOUT,
        JOIN,
        NodeField("schema", "Output schema", "json", wide=True, mono=True, help="A JSON Schema for the result; blank means any."),
    ),
    "condition": (
        NodeField("expression", "Expression", wide=True, mono=True, help=EXPRESSION),
        JOIN,
    ),
    "approval": (
        NodeField("question", "Question", "text", wide=True),
        NodeField("options", "Options", "lines", help="One a line; blank means approve and reject."),
        NodeField("stop_on", "Options that fail the run", "set"),
        NodeField("assignees", "Who may answer", "set", wide=True, people=True, help="Nobody named: any reviewer of the profile."),
        NodeField("quorum", "Answers needed", "count", help="How many must give the same answer; blank means 1."),
        TIMEOUT,
        NodeField("on_timeout", "Then", "choice", choices=_words(TIMEOUTS, "reject (default)")),
        NodeField("escalate_to", "Escalate to", people=True, help="Asked as well once the time is over."),
        NodeField(
            "relay",
            "Answers from chat",
            "flag",
            choices=(("", "allowed (default)"), ("true", "allowed"), ("false", "refused: only on this site")),
        ),
        JOIN,
    ),
    "output": (
        NodeField("deliver", "Deliver", "choice", choices=_words(DELIVERIES, "nothing: keep the output only")),
        NodeField("target", "To", people=True, help=TARGET),
        JOIN,
    ),
    "note": (
        NodeField("text", "Text", "text", wide=True),
        NodeField("color", "Color", "choice", choices=_words(COLORS, "none")),
    ),
}

MAIN = {"agent": "prompt", "condition": "expression", "approval": "question", "output": "deliver", "note": "text", "trigger": "cron"}
"""The field that tells most about a node of its kind."""


def fields_of(kind: object, *, after: bool = False) -> tuple[NodeField, ...]:
    """The fields of a node of this kind. `after` asks for the parents also where none belong, so that they can be taken away."""
    own = OWN.get(kind, ()) if isinstance(kind, str) else ()
    return (ID, KIND, *((AFTER,) if after or kind not in ("trigger", "note") else ()), *own)
