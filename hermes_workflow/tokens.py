"""API tokens: made once, shown once, kept as a hash. Bots get users of their own, so that nobody's rights are lent."""

import re
from datetime import timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractUser, Group
from django.db import transaction
from django.db.models import Q, QuerySet

from hermes_workflow.core.errors import Conflict, Forbidden, Malformed, NotFound
from hermes_workflow.core.text import hides_something, shorten
from hermes_workflow.models import Token
from hermes_workflow.rights import BOT, BOT_SCOPES, MAY, Principal

USER_NAME = re.compile(r"[\w.@+-]{1,150}\Z")
NAME_LIMIT = 100
SCOPES = tuple(action for action in MAY)
LONGEST_LIFE = 10 * 365 * 86400  # seconds


def issue_token(
    *,
    principal: Principal,
    name: str,
    bot: bool = False,
    user: str | None = None,
    scopes: list[str] | None = None,
    expires_in: int | None = None,
) -> tuple[Token, str]:
    """A token of the principal, or of the bot user that an admin names, and its secret. `expires_in` is in seconds.

    Reading is part of every scope; no scopes means all that the roles allow. Raises Malformed, Forbidden (a token made the request,
    or not an admin), Conflict (the name belongs to a person).
    """
    if principal.token or principal.is_bot:
        raise Forbidden("a token never makes tokens", hint="sign in, or send your password by HTTP Basic")
    _check(name, scopes, expires_in, bot=bot, user=user)
    if bot and not principal.is_admin:
        raise Forbidden("only an admin makes tokens for bots", hint="this needs the role admin")
    life = {} if expires_in is None else {"expiry": timedelta(seconds=expires_in)}
    kept = sorted({"read", *scopes}) if scopes else []
    with transaction.atomic():
        owner = _bot_user(user or _bot_name(name)) if bot else principal.user
        return Token.objects.create(owner, name=name, bot=bot, scopes=kept, **life)


def _check(name: Any, scopes: Any, expires_in: Any, *, bot: bool, user: Any) -> None:
    if not isinstance(name, str) or not 1 <= len(name.strip()) <= NAME_LIMIT or len(name) > NAME_LIMIT or hides_something(name):
        raise Malformed(f"name: must be 1 to {NAME_LIMIT} visible characters")
    offered = BOT_SCOPES if bot else SCOPES
    for scope in scopes or []:
        if scope not in offered:
            raise Malformed(f"scopes: must be of {', '.join(offered)}, got {shorten(scope)}")
    if expires_in is not None and not 1 <= expires_in <= LONGEST_LIFE:
        raise Malformed(f"expires_in: must be 1 to {LONGEST_LIFE} seconds")
    if user is not None and not bot:
        raise Malformed("user: names the bot's user, and is only for bot tokens")
    if user is not None and not USER_NAME.match(user):
        raise Malformed("user: must be 1 to 150 letters, digits and @ . + - _")


def _bot_name(name: str) -> str:
    plain = re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.") or BOT
    return plain if plain.startswith(BOT) else f"{BOT}-{plain}"


def _bot_user(name: str) -> AbstractUser:
    """The bot of that name, made if it is new; it has no password and cannot sign in."""
    user, new = get_user_model()._default_manager.get_or_create(username=name)
    if new:
        user.set_unusable_password()
        user.save(update_fields=["password"])
        user.groups.add(Group.objects.get_or_create(name=BOT)[0])
    elif not user.groups.filter(name=BOT).exists():
        raise Conflict(f"{name} is a person, not a bot", hint="name another user for the bot")
    return user


def tokens_for(principal: Principal) -> QuerySet[Token]:
    """The principal's tokens, and for an admin those of all bots; newest first."""
    own = Q(user=principal.user)
    return Token.objects.filter(own | Q(bot=True) if principal.is_admin else own).select_related("user").order_by("-created", "digest")


def revoke_token(*, principal: Principal, token_id: str) -> None:
    """Make a token useless at once. Raises Forbidden (a token revokes none but itself), NotFound."""
    found = tokens_for(principal).filter(token_key=token_id).first()
    if found is None:
        raise NotFound("there is no such token")
    if principal.token and principal.token.digest != found.digest:
        raise Forbidden("a token revokes none but itself", hint="sign in, or send your password by HTTP Basic")
    found.delete()
