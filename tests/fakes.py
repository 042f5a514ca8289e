"""Hand-written fakes at the seams: performers that do, try by try, what a test wrote down for them."""

from collections.abc import Callable
from typing import Any

from hermes_workflow.core.failures import HINTS
from runs.seams.base import Again, Assignment, Failed, Outcome, Performed, Say, unheard

Move = Outcome | Exception | Callable[[Assignment], Outcome]


def structured(value: Any) -> Performed:
    """A structured result."""
    return Performed(value, structured=True)


def text(value: str) -> Performed:
    """A result in words."""
    return Performed(value, structured=False)


def failed(kind: str = "performer_failed", msg: str = "it broke", retry_after: float | None = None) -> Failed:
    """One try that failed."""
    return Failed(kind, msg, HINTS[kind], retry_after=retry_after)


def again(after: float = 1.0, ref: str = "remote-1") -> Again:
    """Not finished yet."""
    return Again(after=after, ref=ref)


class ScriptedPerformer:
    """Answers each try of a node with the next move written for it; without one, with `{"did": node}`."""

    keeps_transcript = False

    def __init__(self) -> None:
        self.moves: dict[str, list[Move]] = {}
        self.seen: list[Assignment] = []

    def does(self, node: str, *moves: Move) -> None:
        """What the next tries of a node give."""
        self.moves.setdefault(node, []).extend(moves)

    def tries(self, node: str) -> list[Assignment]:
        """The assignments of a node so far."""
        return [assignment for assignment in self.seen if assignment.node_id == node]

    def perform(self, assignment: Assignment, *, cancelled: Callable[[], bool], say: Say = unheard) -> Outcome:
        """The next move."""
        self.seen.append(assignment)
        moves = self.moves.get(assignment.node_id)
        move = moves.pop(0) if moves else structured({"did": assignment.node_id})
        if isinstance(move, Exception):
            raise move
        return move(assignment) if callable(move) else move
