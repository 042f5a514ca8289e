"""The sockets of runs: `/ws/runs/{run_id}/` says that one changed, `/ws/runs/` that one of the newest did."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

from channels.db import database_sync_to_async

from hermes_workflow.rights import Principal
from runs import selectors
from runs.models import Run
from runs.sockets import ChangeSocket
from runs.watching import Watch, newest_runs, state_of


class RunSocket(ChangeSocket):
    """Watches one run. The page names the seq that it shows: `?seq=12`."""

    @property
    def run_id(self) -> str:
        """The run of the path."""
        return str(self.scope["url_route"]["kwargs"]["run_id"])

    async def watches(self, principal: Principal) -> set[Watch]:
        """Raises NotFound for a run that the person may not see."""
        run = await database_sync_to_async(selectors.run_for)(principal, self.run_id)
        return {("run", run.pk)}

    async def page_is_behind(self, principal: Principal) -> bool:
        """A page without `?seq=` is taken to be current."""
        shown = parse_qs(self.scope["query_string"].decode("latin1")).get("seq", [""])[0]
        return shown.isdigit() and shown != str(await self._seq())

    async def frame(self) -> Mapping[str, Any]:
        """The run's id and where its history is now."""
        return {"id": self.run_id, "seq": await self._seq()}

    async def _seq(self) -> int:
        return await database_sync_to_async(_seq_of)(self.run_id)


class RunsSocket(ChangeSocket):
    """Watches the newest runs of the person's profiles, for the list of runs. The page names the state that it shows: `?state=`."""

    pushed = 0

    async def watches(self, principal: Principal) -> set[Watch]:
        """A person without a profile watches nothing."""
        return await database_sync_to_async(newest_runs)(principal)

    async def page_is_behind(self, principal: Principal) -> bool:
        """A page without `?state=` is taken to be current."""
        shown = parse_qs(self.scope["query_string"].decode("latin1")).get("state", [""])[0]
        return bool(shown) and shown != await database_sync_to_async(_state)(principal)

    async def frame(self) -> Mapping[str, Any]:
        """Which push of this socket it is."""
        self.pushed += 1
        return {"id": "runs", "seq": self.pushed}


def _seq_of(run_id: str) -> int:
    return Run.objects.filter(pk=run_id).values_list("seq", flat=True).first() or 0


def _state(principal: Principal) -> str:
    return state_of(newest_runs(principal))
