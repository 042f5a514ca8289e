"""What a static workflow compiles to: steps in order, edges, and the policy its runner follows."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any
from unicodedata import normalize

from hermes_workflow.core.expressions import parse

FORMAT = 1
PRODUCERS = frozenset({"agent", "output", "bash"})


@dataclass(frozen=True, slots=True)
class Edge:
    """One dependency. `on` is the outcome that takes it ("" = passing); `loop` is its bound (0 = no loop)."""

    source: str
    target: str
    on: str = ""
    loop: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do. `spec` holds the fields of its kind with defaults filled in; `join` is all or any."""

    id: str
    kind: str
    spec: Mapping[str, Any] = field(default_factory=dict)
    join: str = "all"


@dataclass(frozen=True, slots=True)
class Policy:
    """How a dialect's runner differs: how many attempts at once (0 = unbounded) and the tries each step gets on top."""

    concurrency: int = 1
    spare_tries: int = 0


@dataclass(frozen=True)
class Plan:
    """Steps in a stable topological order. Edges from the trigger are kept; `trigger` names the run's input.

    `newer` is the body of a plan that only newer code can read: nothing else is known of it, and nothing may be decided by it.
    """

    dialect: str
    steps: tuple[Step, ...]
    edges: tuple[Edge, ...] = ()
    trigger: str = ""
    policy: Policy = Policy()
    newer: Mapping[str, Any] | None = None

    @property
    def unknown(self) -> str:
        """What newer code is needed for; empty when this code knows the plan."""
        return f"a plan of format {self.newer['format']}" if self.newer else ""

    @cached_property
    def step(self) -> dict[str, Step]:
        """Steps by id."""
        return {step.id: step for step in self.steps}

    @cached_property
    def position(self) -> dict[str, int]:
        """The place of each step in the order, from 0."""
        return {step.id: index for index, step in enumerate(self.steps)}

    @cached_property
    def parents(self) -> dict[str, tuple[Edge, ...]]:
        """In-edges of each step, in document order; edges from the trigger are left out."""
        return self._edges_by(lambda edge: edge.target)

    @cached_property
    def children(self) -> dict[str, tuple[Edge, ...]]:
        """Out-edges of each step, in document order."""
        return self._edges_by(lambda edge: edge.source)

    def _edges_by(self, end: Any) -> dict[str, tuple[Edge, ...]]:
        found: dict[str, list[Edge]] = {step.id: [] for step in self.steps}
        for edge in self.edges:
            if edge.source in found and edge.target in found:
                found[end(edge)].append(edge)
        return {key: tuple(edges) for key, edges in found.items()}

    @cached_property
    def sources(self) -> dict[str, tuple[str, ...]]:
        """The nearest producers above each step, seen through conditions and gates; the trigger's id stands for the input."""
        found: dict[str, tuple[str, ...]] = {}
        incoming: dict[str, list[str]] = {}
        for edge in self.edges:
            incoming.setdefault(edge.target, []).append(edge.source)
        for step in self.steps:
            near: dict[str, None] = {}
            for parent in incoming.get(step.id, []):
                if parent == self.trigger or self.step[parent].kind in PRODUCERS:
                    near[parent] = None
                else:
                    near.update(dict.fromkeys(found.get(parent, ())))
            found[step.id] = tuple(near)
        return found

    @cached_property
    def readers(self) -> dict[str, tuple[tuple[str, tuple[str, ...]], ...]]:
        """The conditions over each node's output: the expression, and the output nodes it is read through, outermost first."""
        found: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
        for step in self.steps:
            if step.kind == "condition":
                node, through = self._read_by(step)
                found.setdefault(node, []).append((step.spec["expression"], through))
        return {node: tuple(dict.fromkeys(readers)) for node, readers in found.items()}

    def _read_by(self, condition: Step) -> tuple[str, tuple[str, ...]]:
        """The node whose value a condition is about: an output node only holds the values of its parents."""
        node, path, through = condition.spec["reads"], list(parse(condition.spec["expression"]).path), []
        while path and node in self.step and self.step[node].kind == "output":
            parent = next((edge.source for edge in self.edges if edge.target == node and normalize("NFC", edge.source) == path[0]), None)
            if parent is None:
                break
            through.append(node)
            node, path = parent, path[1:]
        return node, tuple(through)

    def body(self) -> dict[str, Any]:
        """The JSON form, read back by `from_body`."""
        if self.newer:
            return dict(self.newer)
        return {
            "format": FORMAT,
            "dialect": self.dialect,
            "trigger": self.trigger,
            "policy": asdict(self.policy),
            "steps": [{"id": s.id, "kind": s.kind, "spec": dict(s.spec), "join": s.join} for s in self.steps],
            "edges": [[e.source, e.target, e.on, e.loop] for e in self.edges],
        }

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> "Plan":
        """The plan stored as `body`. Raises ValueError for a format this code does not know."""
        if body["format"] != FORMAT:
            raise ValueError(f"plan format {body['format']} needs newer code")
        return cls(
            dialect=body["dialect"],
            trigger=body["trigger"],
            policy=Policy(**body["policy"]),
            steps=tuple(Step(**step) for step in body["steps"]),
            edges=tuple(Edge(*edge) for edge in body["edges"]),
        )

    @classmethod
    def of_newer_code(cls, body: Mapping[str, Any]) -> "Plan":
        """Stands for a stored plan that `from_body` refuses, under the same digest: its run waits for newer code."""
        return cls(dialect="", steps=(), newer=body)

    @cached_property
    def digest(self) -> str:
        """`sha256:` over the canonical JSON of the body: equal plans share one row."""
        text = json.dumps(self.body(), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return "sha256:" + hashlib.sha256(text.encode()).hexdigest()
