"""The rulebook: one pure function that says whether a graph may be stored or run, and the table of its rules."""

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

from hermes_workflow.core.text import shorten
from hermes_workflow.dialects.defects import Defect, defect
from hermes_workflow.dialects.design import edges, fields
from hermes_workflow.dialects.design.nodes import MAX_NODES, Graph, group

Rule = Callable[[Graph], Iterator[Defect]]
RULES: tuple[Rule, ...] = (
    fields.objects,
    fields.ids,
    fields.unique_ids,
    fields.known_kinds,
    fields.one_trigger,
    fields.triggers,
    fields.required_texts,
    edges.edges,
    edges.acyclic,
    edges.conditions,
    fields.joins,
    fields.performers,
    fields.retries,
    fields.time_limits,
    fields.options,
    fields.stop_options,
    fields.deadlines,
    fields.voters,
    fields.deliveries,
    fields.notes,
)


def validate_designer_graph(graph: Any) -> list[Defect]:
    """Every defect at once; an empty list means the graph may run. Never raises, never changes `graph`."""
    try:
        return list(shape(graph)) or _defects(group(graph["nodes"]))
    except Exception as error:
        # Only a Python object that misbehaves when it is looked at comes here, and what cannot be read may not run.
        return [defect("", "nodes", f"must be plain JSON values; reading them failed with {shorten(type(error).__name__)}")]


def _defects(graph: Graph) -> list[Defect]:
    return list(chain.from_iterable(rule(graph) for rule in RULES))


def shape(graph: Any) -> Iterator[Defect]:
    """A graph is an object whose nodes are a list of 1-50 nodes, notes included; nothing else is looked at before this holds."""
    nodes = graph.get("nodes") if isinstance(graph, dict) else None
    if not isinstance(graph, dict):
        yield defect("", "", "a graph must be an object with a list of nodes", graph)
    elif not isinstance(nodes, list):
        yield defect("", "nodes", "must be a list that is not empty", nodes)
    elif not nodes:
        yield defect("", "nodes", "must be a list that is not empty")
    elif len(nodes) > MAX_NODES:
        yield defect("", "nodes", f"at most {MAX_NODES} nodes, got {len(nodes)}")


def rules_table() -> str:
    """The rules as Markdown, one row per rule in the order they are looked at: the whole of `docs/rules.md`."""
    rows = (f"| `{rule.__name__}` | {(rule.__doc__ or '').strip()} |" for rule in (shape, *RULES))
    return "\n".join((*_HEAD, *rows, ""))


_HEAD = (
    "# Rules of a design",
    "",
    "Every door holds a design to these rules, and shows all defects at once as `{node, field, msg}`: only `shape` stops the reading.",
    "`null` for an optional key means absent, unknown keys are kept and ignored, counts are whole numbers: `2.0` and `true` are not.",
    "This page is written from the rules themselves: `python -m hermes_workflow.dialects.design > docs/rules.md`.",
    "",
    "| rule | what holds |",
    "|---|---|",
)
