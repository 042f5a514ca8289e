"""Who may answer a gate: pure rules over what is known of the person and of what is asked."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Person:
    """What counts about who wants to answer. `audiences` holds `profile:2` only for profiles whose gates this person reviews."""

    id: int
    audiences: frozenset[str] = frozenset()
    performs: bool = False
    is_bot: bool = False
    is_active: bool = True


@dataclass(frozen=True, slots=True)
class Asked:
    """What counts about a gate. `named` are its assignees as the design names them; `barred` is why a user may not answer, by id."""

    kind: str
    audiences: frozenset[str]
    named: tuple[str, ...] = ()
    barred: Mapping[int, str] = field(default_factory=dict)


def refusal(person: Person, asked: Asked) -> str:
    """Why this person may not answer; empty when they may."""
    if not person.is_active:
        return "this account is not active"
    return _no_performing(person) if asked.kind == "agent" else _no_deciding(person, asked)


def _no_performing(person: Person) -> str:
    return "" if person.performs else "performing an agent step needs the role admin, designer, operator or reviewer"


def _no_deciding(person: Person, asked: Asked) -> str:
    if person.is_bot:
        return "a bot never decides; it relays a person's decision with its source"
    if why := asked.barred.get(person.id):
        return why
    if asked.audiences & person.audiences:
        return ""
    if asked.named:
        return f"only {' or '.join(asked.named)} may answer this gate"
    return "answering needs the role reviewer or admin"


def barred_by_duties(*, started_by: int | None, author: int | None) -> dict[int, str]:
    """Separation of duties: who started the run, or saved the version it follows, does not answer its gates."""
    found: dict[int, str] = {}
    if author is not None:
        found[author] = "you saved this version of the workflow, so another person has to answer"
    if started_by is not None:
        found[started_by] = "you started this run, so another person has to answer"
    return found
