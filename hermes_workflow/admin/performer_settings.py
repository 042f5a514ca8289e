"""The settings of each performer as a form asks for them: their order, their words, and what reads and checks them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hermes_workflow.models import Profile
from runs.seams.coding_agents import TEMPLATES
from runs.seams.hermes_agent import HermesAgent
from runs.seams.openai_endpoint import Endpoint
from runs.seams.program import Program


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of a performer. `look` is line, text, lines, env, envs, pairs (a name and a variable a line), number or choice."""

    key: str
    label: str
    look: str = "line"
    help: str = ""
    choices: tuple[tuple[str, str], ...] = ()


OUTPUT = Setting("output_bytes", "Largest output in bytes", "number", "Blank: 1 MiB; at most 16 MiB.")

SETTINGS: dict[str, tuple[Setting, ...]] = {
    Profile.Performer.SUBPROCESS: (
        Setting(
            "template",
            "Coding agent",
            "choice",
            "One whose command line and answers are known; blank: a program that speaks the performer protocol.",
            (("", "none: a program of your own"), *((name, name) for name in TEMPLATES)),
        ),
        Setting("argv", "Command line", "lines", "One word a line; there is no shell. A word with a line break is written as JSON text."),
        Setting("args", "More words for the coding agent", "lines", "One a line, such as --permission-mode and plan."),
        Setting("workdir", "Directory it works in", help="An absolute path; blank: an empty one of its own for each try."),
        Setting("model_argv", "Added when a model is asked for", "lines", "One word a line; {model} becomes the model."),
        Setting("env", "Environment passed on", "envs", "Names of environment variables, one a line. Values stay where they are."),
        Setting("stdout_bytes", "Largest output in bytes", "number", "Blank: 1 MiB; at most 64 MiB."),
        Setting("stderr_bytes", "Largest error output in bytes", "number", "Blank: 256 KiB; at most 64 MiB."),
        Setting("grace_seconds", "Seconds between asking it to end and killing it", "number", "Blank: 2; at most 3."),
    ),
    Profile.Performer.OPENAI: (
        Setting("base_url", "Address", help="As far as /v1, such as https://api.openai.com/v1."),
        Setting("api_key_env", "Variable with the key", "env", "The name of an environment variable; blank where no key is needed."),
        Setting("system", "System message", "text", "Said before every prompt; blank: nothing."),
        Setting(
            "structured",
            "Steps with a schema",
            "choice",
            "What the endpoint understands. The answer is checked against the schema in any case.",
            (
                ("", "json_schema: it takes the schema (default)"),
                ("json_schema", "json_schema: it takes the schema"),
                ("json_object", "json_object: it answers JSON"),
                ("none", "none: it is asked in words"),
            ),
        ),
        Setting("temperature", "Temperature", "number", "0 to 2; blank: the endpoint's own."),
        Setting("max_tokens", "Most tokens (max_tokens)", "number", "Blank: the endpoint's own."),
        Setting("max_completion_tokens", "Most tokens (max_completion_tokens)", "number", "What newer models read instead."),
        Setting("headers", "More headers", "pairs", "One a line as Header: VARIABLE; the value is the environment variable's."),
        OUTPUT,
    ),
    Profile.Performer.HERMES: (
        Setting("base_url", "Address", help="Such as http://127.0.0.1:8642, without /v1."),
        Setting("api_key_env", "Variable with the key", "env", "The name of the environment variable that holds its API_SERVER_KEY."),
        Setting("profile", "Profile of the agent", help="Its own name over there; blank: the one it starts with."),
        Setting("instructions", "Instructions", "text", "Sent with every step; blank: nothing."),
        Setting(
            "tool_approvals",
            "When it asks before using a tool",
            "choice",
            "Once is for this one question, never for a session.",
            (("", "deny (default)"), ("deny", "deny"), ("once", "approve once")),
        ),
        Setting(
            "mode",
            "How its work is followed",
            "choice",
            "",
            (("", "asked now and then (default)"), ("poll", "asked now and then"), ("events", "read along as it works")),
        ),
        Setting("poll_seconds", "Seconds between two questions", "number", "Blank: 2; at most 300."),
        Setting("patience_seconds", "Seconds of patience while it does not answer", "number", "Blank: 60; at most 3600."),
        OUTPUT,
    ),
}

READERS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    Profile.Performer.SUBPROCESS: Program.read,
    Profile.Performer.OPENAI: Endpoint.read,
    Profile.Performer.HERMES: HermesAgent.read,
}
"""Each performer's own reader, which raises Malformed naming the setting."""

TITLES: dict[str, str] = {
    Profile.Performer.SUBPROCESS: "The program",
    Profile.Performer.OPENAI: "The endpoint",
    Profile.Performer.HERMES: "The Hermes Agent",
}


def name_of(performer: str, setting: Setting) -> str:
    """The form's field."""
    return f"{performer}_{setting.key}"


def variables_of(setting: Setting, value: Any) -> list[str]:
    """The environment variables that a stored value names."""
    match setting.look:
        case "env":
            found = [value]
        case "envs":
            found = list(value) if isinstance(value, list) else []
        case "pairs":
            found = list(value.values()) if isinstance(value, dict) else []
        case _:
            found = []
    return [name for name in found if isinstance(name, str) and name]
