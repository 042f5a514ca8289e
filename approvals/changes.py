"""What differs between two gates, as a reader sees it: lines, and within a changed line the words."""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice

from hermes_workflow.core.prompts import as_text
from runs.models import Gate

CONTEXT = 3
MAX_LINES = 1000
MAX_WORDS = 400


@dataclass(frozen=True, slots=True)
class Span:
    """Words of a line, changed or not."""

    text: str
    changed: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """One line: `mark` is "+" (new), "-" (gone), " " (the same) or "…" (lines left out)."""

    mark: str
    text: str
    spans: tuple[Span, ...] = ()


def shown(gate: Gate) -> list[str]:
    """What a gate shows, as lines; the rest of a very long one is left out, visibly."""
    parts = [gate.question, f"options: {', '.join(gate.options)}"]
    parts += [f"{name}:\n{as_text(value)}" for name, value in gate.context.items()]
    lines = "\n\n".join(parts).splitlines()
    return lines if len(lines) <= MAX_LINES else [*lines[:MAX_LINES], f"[{len(lines) - MAX_LINES} lines left out]"]


def changes(old: Gate, new: Gate) -> list[Line]:
    """From `old` to `new`, with three lines around each change; empty when both show the same."""
    before, after = shown(old), shown(new)
    found: list[Line] = []
    for group in SequenceMatcher(None, before, after).get_grouped_opcodes(CONTEXT):
        if group[0][1] > 0 or group[0][3] > 0:
            found.append(Line("…", ""))
        for tag, i1, i2, j1, j2 in group:
            found += _same(before[i1:i2]) if tag == "equal" else _changed(before[i1:i2], after[j1:j2])
    return found


def _same(lines: list[str]) -> Iterator[Line]:
    return (Line(" ", text, (Span(text),)) for text in lines)


def _changed(gone: list[str], new: list[str]) -> list[Line]:
    pairs = [_words(old, now) for old, now in zip(gone, new, strict=False)]
    old_spans, new_spans = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    return [*_marked("-", gone, old_spans), *_marked("+", new, new_spans)]


def _marked(mark: str, lines: list[str], spans: list[tuple[Span, ...]]) -> Iterator[Line]:
    for index, text in enumerate(lines):
        yield Line(mark, text, spans[index] if index < len(spans) else (Span(text, changed=True),))


def _words(old: str, new: str) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    before, after = old.split(" "), new.split(" ")
    if max(len(before), len(after)) > MAX_WORDS:
        return (Span(old, changed=True),), (Span(new, changed=True),)
    codes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return (
        tuple(_spans(before, [(tag, i1, i2) for tag, i1, i2, _, _ in codes])),
        tuple(_spans(after, [(tag, j1, j2) for tag, _, _, j1, j2 in codes])),
    )


def _spans(words: list[str], parts: list[tuple[str, int, int]]) -> Iterator[Span]:
    for tag, start, end in parts:
        if start < end:
            space = " " if end < len(words) else ""
            yield Span(" ".join(islice(words, start, end)) + space, changed=tag != "equal")
