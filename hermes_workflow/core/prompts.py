"""What a performer and a reviewer are shown: the outputs of the nearest producers, as values and as text."""

import json
from collections.abc import Mapping
from typing import Any

from hermes_workflow.core.history import History
from hermes_workflow.core.outputs import has_output, output_of, seqs_for

RENDERED_LIMIT = 32_000


def context_seqs(history: History, key: str) -> set[int]:
    """The events whose bodies the context of a step needs."""
    return seqs_for(history, history.plan.sources.get(key, ()))


def context_of(history: History, bodies: Mapping[int, Any], key: str) -> dict[str, Any]:
    """`{producer: output}` of the nearest producers above a step; the trigger's entry is the run's input."""
    sources = history.plan.sources.get(key, ())
    return {source: output_of(history, bodies, source) for source in sources if has_output(history, source)}


def as_text(value: Any) -> str:
    """A value as a person or a model reads it: text as it is, the rest as indented JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def rendered(prompt: str, context: Mapping[str, Any]) -> str:
    """The prompt, then each producer's output under its name; cut visibly at RENDERED_LIMIT characters."""
    parts = [prompt, *(f"## {name}\n{as_text(value)}" for name, value in context.items())]
    text = "\n\n".join(part for part in parts if part)
    if len(text) <= RENDERED_LIMIT:
        return text
    return f"{text[:RENDERED_LIMIT]}\n[{len(text) - RENDERED_LIMIT} characters left out]"


def delivered(context: Mapping[str, Any]) -> str:
    """The text of a delivery: the one output alone, several under their names."""
    if len(context) == 1:
        return as_text(next(iter(context.values())))
    return "\n\n".join(f"{name}:\n{as_text(value)}" for name, value in context.items())
