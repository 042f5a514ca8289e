"""Rights: roles are groups, reach is profile membership; every door asks here."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet

from hermes_workflow.core.errors import Forbidden
from hermes_workflow.models import Profile, Token

ADMIN, DESIGNER, OPERATOR, REVIEWER, VIEWER, BOT = "admin", "designer", "operator", "reviewer", "viewer", "bot"
ROLES = (ADMIN, DESIGNER, OPERATOR, REVIEWER, VIEWER, BOT)

MAY: dict[str, frozenset[str]] = {
    "read": frozenset({ADMIN, DESIGNER, OPERATOR, REVIEWER, VIEWER, BOT}),
    "design": frozenset({ADMIN, DESIGNER}),
    "start": frozenset({ADMIN, DESIGNER, OPERATOR, BOT}),
    "operate": frozenset({ADMIN, OPERATOR}),
    "answer": frozenset({ADMIN, REVIEWER}),
    "perform": frozenset({ADMIN, DESIGNER, OPERATOR, REVIEWER, BOT}),
    "relay": frozenset({BOT}),
    "send": frozenset({BOT}),
}
"""What each role may do: `design` saves and deletes designs, `operate` retries, cancels and signals runs, `perform` answers agent steps,
`send` lets runs that a bot starts send to channels."""

BOT_SCOPES = ("read", "start", "perform", "relay", "send", "design", "operate")
NAMED_SCOPES = frozenset({"send", "design", "operate"})  # a bot has them only when its token names them


@dataclass(frozen=True)
class Principal:
    """Who asks: a person, or a bot by its token. Rights are read when they are needed and live as long as one request."""

    user: User
    token: Token | None = None

    @property
    def id(self) -> int:
        """The user's id."""
        return self.user.pk

    @property
    def name(self) -> str:
        """The user's name."""
        return self.user.get_username()

    @cached_property
    def groups(self) -> dict[int, str]:
        """The user's groups, roles among them."""
        return dict(self.user.groups.values_list("id", "name"))

    @cached_property
    def roles(self) -> frozenset[str]:
        """The user's roles; a superuser is an admin."""
        named = frozenset(self.groups.values()) & frozenset(ROLES)
        return named | {ADMIN} if self.user.is_superuser and not self.is_bot else named

    @property
    def is_bot(self) -> bool:
        """Whether this is a bot: by its token, or by being in the group of bots."""
        return bool(self.token and self.token.bot) or BOT in self.groups.values()

    @property
    def is_admin(self) -> bool:
        """Whether this is an admin. A bot never is."""
        return ADMIN in self.roles and not self.is_bot

    def may(self, action: str) -> bool:
        """Whether a role of this principal allows the action, within what its token allows."""
        if not self.user.is_active:
            return False
        if self.token and self.token.scopes and action not in self.token.scopes:
            return False
        if not self.is_bot:
            return bool(self.roles & MAY[action])
        named = bool(self.token and action in self.token.scopes)
        return action in BOT_SCOPES and (named or action not in NAMED_SCOPES)

    def require(self, action: str) -> None:
        """Raises Forbidden, saying which roles may."""
        if not self.may(action):
            who = " or ".join(role for role in ROLES if role in MAY[action])
            raise Forbidden(f"you may not {action} here", hint=f"this needs the role {who}")

    @cached_property
    def profile_ids(self) -> frozenset[int]:
        """The profiles this principal belongs to; an admin belongs to all."""
        return frozenset(profiles_for(self).values_list("id", flat=True))


class Asking(Protocol):
    """Anything that says who asks: a view, the call of a tool."""

    @property
    def principal(self) -> Principal:
        """Who asks."""


def readers_of(profile: Profile) -> QuerySet[User]:
    """The active people, no bots, who belong to the profile and may read what is in it: nobody else can answer its gates."""
    people = User.objects.filter(is_active=True).exclude(groups__name=BOT)
    people = people.filter(Q(is_superuser=True) | Q(groups__name__in=MAY["read"]))
    member = Q(is_superuser=True) | Q(groups__name=ADMIN) | Q(profiles=profile)
    return people if profile.is_open else people.filter(member)


def principal_of(request: Any) -> Principal:
    """The principal of an authenticated request of Django or DRF."""
    token = getattr(request, "auth", None)
    return Principal(request.user, token if isinstance(token, Token) else None)


def profiles_for(principal: Principal) -> QuerySet[Profile]:
    """The profiles that a principal belongs to."""
    if principal.is_admin:
        return Profile.objects.all()
    if not principal.may("read"):
        return Profile.objects.filter(members=principal.user) if principal.user.is_active else Profile.objects.none()
    mine = Profile.objects.filter(members=principal.user).values("id")
    return Profile.objects.filter(Q(is_open=True) | Q(id__in=mine))
