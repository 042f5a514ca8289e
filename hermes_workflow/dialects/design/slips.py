"""Which name was probably meant by one that is not there: it has one letter more, one fewer, or another one."""

from hermes_workflow.core.text import shorten
from hermes_workflow.dialects.design.nodes import Graph, nfc

SHORTEST, LONGEST = 3, 40

Slips = dict[str, str]


def slips(graph: Graph) -> Slips:
    """What typing the name of a step or trigger with one slip may look like, to that name.

    A document may hold a hundred thousand wrong names, so each is looked up, never compared with every right one."""
    names = [name for name, _ in (*graph.of["trigger"], *graph.steps) if nfc(name) in graph.by_id]
    return {variant: name for name in reversed(names) for variant in _variants(nfc(name))}


def meant(wrong: str, known: Slips) -> str:
    """`, did you mean 'extract'?` or nothing."""
    found = next((known[variant] for variant in _variants(nfc(wrong)) if variant in known), None)
    return "" if found is None else f", did you mean {shorten(found)}?"


def _variants(name: str) -> list[str]:
    """The name, and the name without any one of its letters: names one slip apart have one of these in common."""
    if not SHORTEST <= len(name) <= LONGEST:
        return []
    return [name, *(name[:at] + name[at + 1 :] for at in range(len(name)))]
