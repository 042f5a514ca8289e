"""What a tool is: a name, words for the agent that chooses it, the fields it takes, and the one service call it makes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hermes_workflow.api.tools.schemas import schema_of
from hermes_workflow.http.bodies import Body
from hermes_workflow.rights import Principal


@dataclass(frozen=True, slots=True)
class Call:
    """A request to run a tool: who asks, the checked fields, and the idempotency key if one was sent."""

    principal: Principal
    fields: dict[str, Any]
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    """`run` gives the answer, a JSON object with `ok` and, where something can follow, `next`."""

    name: str
    description: str
    body: type[Body]
    run: Callable[[Call], dict[str, Any]]

    @property
    def document(self) -> dict[str, Any]:
        """As agents register it."""
        return {"name": self.name, "description": self.description, "parameters": schema_of(self.body)}
