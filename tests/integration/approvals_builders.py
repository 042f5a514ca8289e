"""People, bots and gates for the tests of approvals."""

from typing import Any

from django.contrib.auth.models import Group, User
from django.utils import timezone

from approvals.models import ChatIdentity
from approvals.services import Source, answer_gate
from hermes_workflow.models import Profile, Token
from hermes_workflow.rights import BOT, REVIEWER, Principal
from runs.models import Gate
from tests import builders as b


def reviewer(name: str, *groups: str) -> Principal:
    """Somebody who answers gates, in further groups if named."""
    return b.person(name, REVIEWER, *groups)


def anew(principal: Principal) -> Principal:
    """The same person at their next request."""
    return Principal(User.objects.get(pk=principal.id), principal.token)


def bot(*scopes: str, name: str = "robot") -> Principal:
    """A bot by its token."""
    user, _ = User.objects.get_or_create(username=name)
    Group.objects.get_or_create(name=BOT)[0].user_set.add(user)
    token, _ = Token.objects.create(user=user, name=name)
    token.bot, token.scopes = True, list(scopes)
    token.save()
    return Principal(user, token)


def linked(principal: Principal, external_id: str, channel: str = "telegram") -> ChatIdentity:
    """The person's confirmed chat account."""
    return ChatIdentity.objects.create(user=principal.user, channel=channel, external_id=external_id, confirmed_at=timezone.now())


def parked(*more_nodes: b.Node, by: Principal | None = None, name: str = "flow", run: dict[str, Any] | None = None, **gate: Any) -> Gate:
    """The open gate of a run of `review`, then an output and what else is given."""
    run_id = b.started(b.approval("review", **gate), *(more_nodes or (b.output("out"),)), by=by, name=name, **(run or {}))
    return Gate.objects.get(run_id=run_id, status="open")


def closed_profile(*members: Principal, name: str = "secret") -> Profile:
    """A profile that only its members (and admins) belong to."""
    found = b.profile(name, is_open=False)
    found.members.add(*(member.user for member in members))
    return found


def relay(principal: Principal, gate: Gate, answer: str = "approve", *, by: str = "tg-1", message: str = "m-1", **more: Any) -> str:
    """A bot passes on what a person said."""
    source = Source(channel="telegram", external_id=by, message_id=message)
    return answer_gate(principal=principal, gate_id=gate.pk, answer=answer, **{"digest": gate.digest, "source": source, **more})
