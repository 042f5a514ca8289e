"""Chat accounts by a code that is shown on the site and typed in the chat: one use, ten minutes, few tries."""

import secrets
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.crypto import salted_hmac

from approvals.links import own
from approvals.models import ChatIdentity, LinkCode, LinkTry
from approvals.sources import Source
from hermes_workflow.core.documents import digest as digest_of
from hermes_workflow.core.errors import Forbidden, HermesError, Malformed
from hermes_workflow.rights import Principal

SALT = "approvals.link-code"
ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"  # nothing that looks like something else
LENGTH = 8  # 40 bits: with the tries below, guessing one of a thousand live codes takes a bot thousands of years
LIFE = timedelta(minutes=10)
WINDOW = timedelta(minutes=10)
TRIES_OF_ACCOUNT, TRIES_OF_BOT = 5, 50


class TooManyTries(HermesError):
    """Too many wrong codes; wait ten minutes, then make a new one."""

    code = "too_many_requests"
    status = 429


def new_code(*, principal: Principal) -> tuple[str, datetime]:
    """A code for one's own chat account, and until when it counts; an earlier one counts no more. Raises Forbidden."""
    if principal.is_bot or principal.token is not None:
        raise Forbidden("a code is made on the site, by the person who types it")
    code = "".join(secrets.choice(ALPHABET) for _ in range(LENGTH))
    expires_at = timezone.now() + LIFE
    LinkCode.objects.update_or_create(user=principal.user, defaults={"digest": _digest(code), "expires_at": expires_at})
    return f"{code[:4]}-{code[4:]}", expires_at


def live_code(principal: Principal) -> datetime | None:
    """Until when the principal's code counts, while one does."""
    found = LinkCode.objects.filter(user=principal.user, expires_at__gt=timezone.now()).values_list("expires_at", flat=True)
    return found.first()


def redeem(*, principal: Principal, source: Source, code: str) -> ChatIdentity:
    """A bot passes on the code that a person typed: the account it came from is theirs from now on, and the code is used up.

    Raises Malformed, Forbidden (not a bot that relays, or a code that does not count: in the same words for every cause), Conflict (the
    account is somebody else's), TooManyTries.
    """
    if not principal.is_bot:
        raise Malformed("source: only a bot relays; leave it out")
    principal.require("relay")
    source.check()
    account = digest_of([source.channel, source.external_id])
    _refuse_guessing(principal, account)
    identity = _use(code, source)
    if identity is None:
        LinkTry.objects.create(bot=principal.user, account=account, at=timezone.now())
        raise Forbidden(
            "this code does not count, or not any more", hint="make a new one on the account page, and type it within ten minutes"
        )
    return identity


def _use(code: str, source: Source) -> ChatIdentity | None:
    """Taking the row is what uses the code, so that of two who type it one wins. It is looked up by a keyed hash: timing tells nothing."""
    with transaction.atomic():
        found = LinkCode.objects.select_related("user").filter(digest=_digest(_plain(code)), expires_at__gt=timezone.now()).first()
        if found is None or not found.user.is_active or not LinkCode.objects.filter(pk=found.pk, digest=found.digest).delete()[0]:
            return None
        return own(found.user, source.channel, source.external_id)


def _refuse_guessing(principal: Principal, account: str) -> None:
    now = timezone.now()
    LinkTry.objects.filter(at__lte=now - WINDOW).delete()
    wrong = list(LinkTry.objects.filter(Q(bot=principal.user) | Q(account=account))[: TRIES_OF_BOT + TRIES_OF_ACCOUNT])
    if sum(row.account == account for row in wrong) >= TRIES_OF_ACCOUNT or sum(row.bot_id == principal.id for row in wrong) >= TRIES_OF_BOT:
        raise TooManyTries


def _plain(code: str) -> str:
    """As it was made: people write it in small letters, with and without its dash."""
    return code.replace("-", "").upper()[: LENGTH + 1]


def _digest(code: str) -> str:
    return salted_hmac(SALT, code, algorithm="sha256").hexdigest()
