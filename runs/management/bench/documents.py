"""The designs that the scenarios run."""

from typing import Any


def chain(length: int) -> dict[str, Any]:
    """A trigger and `length` agent steps in a row."""
    nodes: list[dict[str, Any]] = [{"id": "start", "type": "trigger"}]
    for number in range(1, length + 1):
        before = nodes[-1]["id"]
        nodes.append({"id": f"s{number}", "type": "agent", "prompt": "echo", "after": [before]})
    return {"nodes": nodes}


def gated() -> dict[str, Any]:
    """Parks at a gate at once; its answer leads to the end."""
    return {
        "nodes": [
            {"id": "start", "type": "trigger"},
            {"id": "review", "type": "approval", "question": "Go on?", "after": ["start"]},
            {"id": "result", "type": "output", "after": ["review"]},
        ]
    }


def fifty_nodes() -> dict[str, Any]:
    """A valid graph of 50 nodes and 70 edges or so, of every kind."""
    nodes: list[dict[str, Any]] = [{"id": "start", "type": "trigger"}]
    nodes += [{"id": f"a{n}", "type": "agent", "prompt": "Read", "retries": 1, "after": ["start"]} for n in range(10)]
    nodes += [{"id": f"c{n}", "type": "condition", "expression": f"out.a{n}.n > {n}", "after": [f"a{n}"]} for n in range(10)]
    nodes += [
        {"id": f"g{n}", "type": "approval", "question": "Good?", "timeout_minutes": 60, "after": [f"c{n}", f"a{(n + 1) % 10}"]}
        for n in range(10)
    ]
    nodes += [{"id": f"b{n}", "type": "agent", "prompt": "Write", "after": [f"g{n}", f"c{n}"], "join": "any"} for n in range(10)]
    nodes += [{"id": f"o{n}", "type": "output", "deliver": "notification", "after": [f"b{n}"]} for n in range(8)]
    return {"nodes": [*nodes, {"id": "note", "type": "note", "text": "Fifty"}]}
