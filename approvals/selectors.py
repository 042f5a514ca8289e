"""Reading gates and decisions: the inbox, one gate, what was answered. Nothing here changes anything."""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, islice
from typing import Any

from django.db.models import Q, QuerySet

from approvals.changes import changes
from approvals.consequences import consequences, without_answer
from approvals.models import ChatIdentity, Decision
from approvals.people import person_of, refusal_of, sees
from hermes_workflow.core.errors import Malformed, NotFound
from hermes_workflow.rights import Principal
from runs.models import Gate, GateAudience

__all__ = [
    "Page", "answered_by", "changes", "consequences", "count", "decisions_of", "gate_for", "inbox", "last_answered", "links_of", "why_not",
    "without_answer",
]  # fmt: skip

RELATED = ("profile", "run__design", "run__version", "run__started_by")
UNLISTED = ("run__version__document", "run__version__viewport", "run__version__note", "run__design__description", "profile__settings")
STATUSES = tuple(Gate.Status.values)
MAX_ID = 2**63 - 1

Key = tuple[datetime, int]


@dataclass(frozen=True, slots=True)
class Page:
    """Gates in order, and the place after which the next page begins (None: there is none)."""

    items: list[Gate]
    next: Key | None


def gate_for(principal: Principal, gate_id: int) -> Gate:
    """One gate with its run and audiences. Raises NotFound, also for one that the principal may not see."""
    return _seen(principal, Gate.objects.select_related(*RELATED).prefetch_related("audiences"), gate_id)


def bare_gate(principal: Principal, gate_id: int) -> Gate:
    """As `gate_for`, without what only a page needs."""
    return _seen(principal, Gate.objects.all(), gate_id)


def _seen(principal: Principal, rows: QuerySet[Gate], gate_id: int) -> Gate:
    known = isinstance(gate_id, int) and 0 < gate_id <= MAX_ID
    found = rows.filter(pk=gate_id).first() if known else None
    if found is None or not sees(principal, found):
        raise NotFound("there is no such gate")
    return found


def inbox(principal: Principal, *, mine: bool = True, status: str = "open", after: Key | None = None, limit: int = 50) -> Page:
    """Gates, oldest waiting first: `mine` are those that ask this principal, else all that they may see."""
    keys = _keys(principal, mine=mine, status=status, after=after, limit=limit + 1)
    rows = Gate.objects.select_related(*RELATED).defer(*UNLISTED).in_bulk([gate_id for _, gate_id in keys[:limit]])
    items = [rows[gate_id] for _, gate_id in keys[:limit] if gate_id in rows]
    return Page(items, keys[limit - 1] if len(keys) > limit else None)


def count(principal: Principal, *, mine: bool = True, status: str = "open", cap: int = 1000) -> tuple[int, bool]:
    """How many gates the same inbox holds, exact up to `cap`, and whether there are more."""
    found = len(_keys(principal, mine=mine, status=status, after=None, limit=cap + 1))
    return min(found, cap), found > cap


def _keys(principal: Principal, *, mine: bool, status: str, after: Key | None, limit: int) -> list[Key]:
    """The first `limit` keys of the merged scans. Each scan walks one index; an IN over audiences would sort them all."""
    if status not in STATUSES:
        raise Malformed(f"status: must be one of {', '.join(STATUSES)}")
    if not principal.may("read"):
        return []
    if status != Gate.Status.OPEN:
        return list(_ended(principal, mine, status, after)[:limit])
    scans = _asking(principal, after) if mine else _visible(principal, after)
    return list(islice(_merged([list(scan[:limit]) for scan in scans]), limit))


def _merged(scans: list[list[Key]]) -> Iterator[Key]:
    last: Key | None = None
    for key in heapq.merge(*scans):
        if key != last:
            yield key
        last = key


def _asking(principal: Principal, after: Key | None) -> Iterator[QuerySet[Any, Key]]:
    """A scan per audience of the principal. Being named counts within their profiles; who only performs sees agent steps."""
    rows = GateAudience.objects.filter(open=True).order_by("waiting_since", "gate_id").values_list("waiting_since", "gate_id")
    rows = rows.filter(_beyond(after, "gate_id"))
    if principal.may("answer") or not principal.is_bot:
        for audience in sorted(person_of(principal).audiences):
            within = {} if audience.startswith("profile:") else {"gate__profile_id__in": principal.profile_ids}
            yield rows.filter(audience=audience, **within)
    if principal.may("perform") and not principal.may("answer"):
        for profile_id in sorted(principal.profile_ids):
            yield rows.filter(audience=f"profile:{profile_id}", gate__kind=Gate.Kind.AGENT)


def _visible(principal: Principal, after: Key | None) -> Iterator[QuerySet[Any, Key]]:
    rows = Gate.objects.filter(status=Gate.Status.OPEN).order_by("waiting_since", "id").values_list("waiting_since", "id")
    return (rows.filter(_beyond(after, "id"), profile_id=profile_id) for profile_id in sorted(principal.profile_ids))


def _beyond(after: Key | None, id_field: str) -> Q:
    """After a place in the order, said so that an index can start there."""
    if after is None:
        return Q()
    at, gate_id = after
    return Q(waiting_since__gte=at) & (Q(waiting_since__gt=at) | Q(**{f"{id_field}__gt": gate_id}))


def _ended(principal: Principal, mine: bool, status: str, after: Key | None) -> QuerySet[Any, Key]:
    rows = Gate.objects.filter(_beyond(after, "id"), status=status, profile_id__in=principal.profile_ids)
    if mine:
        asked = GateAudience.objects.filter(audience__in=person_of(principal).audiences, open=False)
        rows = rows.filter(pk__in=asked.values("gate_id"))
    return rows.order_by("waiting_since", "id").values_list("waiting_since", "id")


def why_not(principal: Principal, gate: Gate) -> str:
    """Why the principal may not answer the gate now; empty when they may."""
    if gate.status != Gate.Status.OPEN:
        return f"this gate is {Gate.Status(gate.status).label.lower()}"
    if any(vote["by"] == principal.id for vote in gate.votes):
        return "you have answered already"
    return refusal_of(principal, gate)


def decisions_of(gate: Gate) -> list[Decision]:
    """Who said what at a gate, oldest first."""
    return list(gate.decisions.select_related("by", "on_behalf_of").order_by("at", "id"))


def answered_by(principal: Principal, *, after: Key | None = None, limit: int = 50) -> list[Decision]:
    """What the principal answered, newest first, relayed or not; `after` is the (at, id) of the last one shown."""
    mine = (
        Decision.objects.filter(said)
        .select_related("by", "on_behalf_of", "gate__profile", "gate__run__design", "gate__run__started_by")
        .order_by("-at", "-id")
        for said in (Q(on_behalf_of=principal.user), Q(by=principal.user, on_behalf_of=None))
    )
    older = Q(at__lte=after[0]) & (Q(at__lt=after[0]) | Q(pk__lt=after[1])) if after else Q()
    found = chain.from_iterable(rows.filter(older)[:limit] for rows in mine)
    return sorted(found, key=lambda row: (row.at, row.pk), reverse=True)[:limit]


def last_answered(gate: Gate) -> Gate | None:
    """The gate of the same node of the same design, in the same profile, that was answered last before this one."""
    same = Gate.objects.filter(run__design_id=gate.run.design_id, profile_id=gate.profile_id, key=gate.key, kind=gate.kind)
    earlier = same.filter(status=Gate.Status.ANSWERED).exclude(pk=gate.pk)
    if gate.ended_at:
        earlier = earlier.filter(ended_at__lt=gate.ended_at)
    return earlier.select_related(*RELATED).order_by("-ended_at", "-id").first()


def links_of(principal: Principal) -> list[ChatIdentity]:
    """The chat accounts that the principal confirmed, oldest first."""
    return list(ChatIdentity.objects.filter(user=principal.user).order_by("confirmed_at", "id"))
