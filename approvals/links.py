"""Chat accounts: a signed code names one, and counts once its owner confirms it on the site. Asking for a code writes nothing."""

from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.core import signing
from django.utils import timezone

from approvals.models import ChatIdentity
from hermes_workflow.core.errors import Conflict, Forbidden

SALT = "approvals.chat-link"
MAX_AGE = 15 * 60  # seconds
PAGE = "/account/link/"


def link_code(channel: str, external_id: str) -> str:
    """A code that lets a signed-in person confirm this chat account as theirs, for 15 minutes."""
    return signing.dumps([channel, external_id], salt=SALT)


def link_path(code: str) -> str:
    """Where a person confirms the code."""
    return f"{PAGE}?{urlencode({'code': code})}"


def read_code(code: str) -> tuple[str, str]:
    """The `(channel, external_id)` that a code names. Raises Forbidden, in the same words for every cause."""
    try:
        channel, external_id = signing.loads(code, salt=SALT, max_age=MAX_AGE)
    except (signing.BadSignature, ValueError, TypeError):
        raise Forbidden("this link is no longer valid", hint="ask the bot for a new one") from None
    return channel, external_id


def own(user: User, channel: str, external_id: str) -> ChatIdentity:
    """The chat account as this user's; again is harmless. Raises Conflict when it is somebody else's."""
    identity, _ = ChatIdentity.objects.get_or_create(
        channel=channel, external_id=external_id, defaults={"user": user, "confirmed_at": timezone.now()}
    )
    if identity.user_id != user.pk:
        raise Conflict("this chat account belongs to another user", hint="its owner can remove it on the account page")
    return identity


def person_behind(channel: str, external_id: str) -> User:
    """Whose chat account it is. Raises Forbidden with a `link` at which its owner confirms it."""
    identity = ChatIdentity.objects.select_related("user").filter(channel=channel, external_id=external_id).first()
    if identity is None:
        code = link_code(channel, external_id)
        path = link_path(code)
        hint = f"let the person open {path} while signed in and confirm the account"
        raise Forbidden("this chat account belongs to nobody here yet", hint=hint, link={"code": code, "url": path})
    return identity.user
