"""What the frame of every page shows: where one is, how many gates wait, how many notices are unread."""

from functools import cached_property
from typing import Any

from django.http import HttpRequest

from approvals import selectors
from hermes_workflow.rights import Principal
from runs.parts import Part, silent
from runs.selectors import unread_count

SECTIONS = ("inbox", "runs", "designs", "schedules", "account")
WITHIN = {"sessions": "runs"}


class Shell:
    """Counted when a template first asks."""

    def __init__(self, request: HttpRequest) -> None:
        self._request = request
        self._principal = getattr(request, "principal", None) or Principal(request.user)  # type: ignore[arg-type]

    @property
    def section(self) -> str:
        """The part of the site that the address is in."""
        first = self._request.path.strip("/").partition("/")[0] or "inbox"
        return WITHIN.get(first, first if first in SECTIONS else "")

    @cached_property
    def _waiting(self) -> tuple[int, bool]:
        return selectors.count(self._principal)

    @property
    def inbox_count(self) -> int:
        """How many gates wait for this person, by the inbox's own filter."""
        return self._waiting[0]

    @property
    def inbox_more(self) -> bool:
        """Whether there are more than were counted."""
        return self._waiting[1]

    @cached_property
    def administers(self) -> bool:
        """Whether the administration lets this person in."""
        return self._principal.may("design")

    @cached_property
    def is_admin(self) -> bool:
        """Whether the status page is this person's."""
        return self._principal.is_admin

    @cached_property
    def silent_parts(self) -> list[Part]:
        """What gives no sign of life; told to admins alone."""
        return silent() if self.is_admin else []

    @cached_property
    def unread(self) -> int:
        """Unread notices."""
        return unread_count(self._principal)


def shell_of(request: HttpRequest) -> Shell:
    """The frame of this request, counted once for the page and what is around it."""
    if not hasattr(request, "shell"):
        request.shell = Shell(request)  # type: ignore[attr-defined]
    found: Shell = request.shell  # type: ignore[attr-defined]
    return found


def shell(request: HttpRequest) -> dict[str, Any]:
    """The context processor; nothing for who is not signed in."""
    user = getattr(request, "user", None)
    return {"shell": shell_of(request)} if user is not None and user.is_authenticated else {}
