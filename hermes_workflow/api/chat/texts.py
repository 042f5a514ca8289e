"""Answers for a chat: short plain text without markup. What agents and designs say is quoted, so that it cannot speak as the bot."""

from collections.abc import Iterable, Iterator
from typing import Any

from approvals.check_codes import check_code
from hermes_workflow.core.prompts import as_text
from hermes_workflow.icons import STATUS_WORDS
from hermes_workflow.words import sentence, shown
from runs.models import Gate, Run
from runs.waiting import then

SHORT_ID = 8
CONTEXT, OUTPUT, QUESTION = 1500, 600, 500


def name_of(run: Run) -> str:
    """A run as people write it: the first characters of its id."""
    return run.pk[:SHORT_ID]


def line_of(run: Run) -> str:
    """A run in a list."""
    return f"{name_of(run)} {run.design.slug}: {STATUS_WORDS[run.status].lower()}"


def quoted(value: Any, limit: int) -> str:
    """Somebody else's words, marked on every line, cut visibly."""
    text = shown(as_text(value)[: limit * 2]).strip()
    cut = text[:limit]
    lines = [f"> {line}" for line in cut.splitlines()] or [">"]
    return "\n".join(lines if len(text) <= limit else [*lines, "> […]"])


def gate_text(gate: Gate, *, why_not: str, site: str) -> str:
    """What a gate asks, what it is about, and the lines that answer it."""
    if gate.kind == Gate.Kind.AGENT:
        return f"An agent has to perform {shown(gate.key)}."
    parts = [f"{shown(gate.key)} asks:", quoted(gate.question, QUESTION), *_context(gate, site)]
    if why_not:
        return "\n".join([*parts, sentence(why_not)])
    return "\n".join([*parts, "Answer with one of:", *answers(gate), _votes(gate) + then(gate)])


def _context(gate: Gate, site: str) -> Iterator[str]:
    left = CONTEXT
    for key, value in ((key, value) for key, value in gate.context.items() if value not in ({}, "")):
        if left <= 0 or len(as_text(value)) > left:
            yield f"{shown(key)}, in part; all of it is at {site}"
        else:
            yield f"{shown(key)}:"
        if left > 0:
            yield quoted(value, left)
        left -= len(as_text(value))


def answers(gate: Gate) -> list[str]:
    """One line for each option, to be sent back as it is."""
    return [f"/workflow answer {gate.run_id[:SHORT_ID]} {_word(option)} #{check_code(gate)}" for option in gate.options]


def _word(option: str) -> str:
    option = " ".join(shown(option).split("\n"))
    if not any(char.isspace() or char in "\"'“”„«»" for char in option) and not option.startswith("#"):
        return option
    return f'"{option}"' if '"' not in option else f"'{option}'"


def _votes(gate: Gate) -> str:
    return f"{len(gate.votes)} of {gate.quorum} answers so far. " if gate.quorum > 1 else ""


def ended_text(document: dict[str, Any]) -> str:
    """How a run ended: its results, or what went wrong."""
    if document["error"]:
        error = document["error"]
        place = f" at {shown(error['node_id'])}" if error.get("node_id") else ""
        said = f"Failed{place}: {sentence(shown(error['msg']))} {sentence(error.get('hint', ''))}".strip()
        return f"{said}\nTo go on where it failed:\n/workflow run retry {document['run_id'][:SHORT_ID]}"
    results = [f"{shown(key)}:\n{quoted(value, OUTPUT)}" for key, value in document["outputs"].items() if key not in document["answers"]]
    return "\n".join(results[-2:])


def refused_text(msg: str, hint: str) -> str:
    """A refusal as a message."""
    return f"{sentence(msg)} {sentence(hint)}".strip()


def listed(lines: Iterable[str], *, empty: str, more: str = "") -> str:
    """Lines, or what to do when there are none."""
    found = list(lines)
    return "\n".join([*found, more] if more else found) if found else empty
