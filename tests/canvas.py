"""Canvases for tests, each with as little said as the test is about."""

from typing import Any

from hermes_workflow import services as designs
from hermes_workflow.models import Design, Profile
from tests import builders as b


def node(id_: str, **more: Any) -> dict[str, Any]:
    """An agent node that is filled in."""
    data = {"title": id_.upper(), "agent": "hermes", "provider": "demo", "model": "small", "input": f"do {id_}"}
    return {"id": id_, "type": "agent", "position": {"x": 0, "y": 0}, "data": {**data, **more}}


def edge(source: str, target: str, **more: Any) -> dict[str, Any]:
    """A connection as the page draws it."""
    ends = {"source": source, "target": target, "sourceHandle": "output", "targetHandle": "input"}
    return {"id": f"{source}-{target}", **ends, "type": "smoothstep", "animated": True, **more}


def canvas(*paths: str, **nodes: dict[str, Any]) -> dict[str, Any]:
    """A document from paths such as "a>b>d" and "a>c>d"; `nodes` says more about some of them."""
    ids = list(dict.fromkeys(id_ for path in paths for id_ in path.split(">")))
    pairs = [pair for path in paths for pair in zip(path.split(">"), path.split(">")[1:], strict=False)]
    return {"nodes": [node(id_, **nodes.get(id_, {})) for id_ in ids], "edges": [edge(*pair) for pair in dict.fromkeys(pairs)]}


def saved(*paths: str, name: str = "flow", **nodes: dict[str, Any]) -> Design:
    """The canvas as a saved design, performed by the fixture `performer`."""
    if not Profile.objects.filter(name="default").exists():
        b.profile(model="small")
    return designs.save_design(principal=b.admin(), name=name, dialect="canvas", document=canvas(*paths, **nodes)).design


def started(*paths: str, name: str = "flow", nodes: dict[str, dict[str, Any]] | None = None, **more: Any) -> str:
    """A run of the canvas. Returns its id."""
    return b.begun(saved(*paths, name=name, **(nodes or {})), **more)
