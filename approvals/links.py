"""Chat accounts: a signed code names one, and counts once its owner confirms it on the site. Asking for a code writes nothing."""

from urllib.parse import urlencode

from django.core import signing

from hermes_workflow.core.errors import Forbidden

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
