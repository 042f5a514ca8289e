"""What differs between two gates, line by line, as a reader sees it."""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

from hermes_workflow.core.prompts import as_text
from runs.models import Gate

CONTEXT = 3
MAX_LINES = 1000
MAX_CHARACTERS = 50_000  # as much as a page shows of a text


@dataclass(frozen=True, slots=True)
class Line:
    """One line: `mark` is "+" (new), "-" (gone), " " (the same) or "…" (lines left out)."""

    mark: str
    text: str


def shown(gate: Gate) -> list[str]:
    """What a gate shows, as lines; the rest of a very long one is left out, visibly."""
    parts = [gate.question, f"options: {', '.join(gate.options)}"]
    parts += [f"{name}:\n{as_text(value)}" for name, value in gate.context.items()]
    text = "\n\n".join(parts)
    lines = text[:MAX_CHARACTERS].splitlines()[:MAX_LINES]
    missing = len(text.splitlines()) - len(lines)
    if missing or len(text) > MAX_CHARACTERS:
        lines.append(f"[{missing} lines left out]" if missing else "[the end of this line left out]")
    return lines


def changes(old: Gate, new: Gate) -> list[Line]:
    """From `old` to `new`, with three lines around each change; empty when both show the same."""
    before, after = shown(old), shown(new)
    found: list[Line] = []
    for group in SequenceMatcher(None, before, after).get_grouped_opcodes(CONTEXT):
        if group[0][1] > 0 or group[0][3] > 0:
            found.append(Line("…", ""))
        for tag, i1, i2, j1, j2 in group:
            found += _lines(tag, before[i1:i2], after[j1:j2])
    return found


def _lines(tag: str, gone: list[str], new: list[str]) -> Iterator[Line]:
    if tag == "equal":
        return (Line(" ", text) for text in new)
    return (Line(mark, text) for mark, lines in (("-", gone), ("+", new)) for text in lines)
