"""The socket of the inbox: `/ws/inbox/` says that gates or notices of this person changed."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

from channels.db import database_sync_to_async

from approvals import selectors
from approvals.people import person_of
from hermes_workflow.rights import Principal
from runs.selectors import unread_count
from runs.sockets import ChangeSocket
from runs.watching import Watch


class InboxSocket(ChangeSocket):
    """Watches who is asked, the gates of the person's profiles and their bell. The page names what it shows: `?count=7&unread=2`."""

    pushed = 0

    async def watches(self, principal: Principal) -> set[Watch]:
        """Everything an inbox is made of."""
        return await database_sync_to_async(_watches)(principal)

    async def page_is_behind(self, principal: Principal) -> bool:
        """A page that does not say what it shows is taken to be current."""
        given = parse_qs(self.scope["query_string"].decode("latin1"))
        if "count" not in given:
            return False
        now = await database_sync_to_async(_shown)(principal)
        return (given["count"][0], given.get("unread", ["0"])[0]) != now

    async def frame(self) -> Mapping[str, Any]:
        """Which push of this socket it is; what changed is for the page to ask."""
        self.pushed += 1
        return {"id": "inbox", "seq": self.pushed}


def _watches(principal: Principal) -> set[Watch]:
    bell: set[Watch] = {("notices", principal.id)}
    if not principal.may("read"):
        return bell
    asked: set[Watch] = {("asked", name) for name in person_of(principal).audiences if not name.startswith("profile:")}
    return bell | asked | {("gates", profile_id) for profile_id in principal.profile_ids}


def _shown(principal: Principal) -> tuple[str, str]:
    return str(selectors.count(principal)[0]), str(unread_count(principal))
