"""Who speaks: the person or bot of the request, or the person behind a bot, whose rights then count within the reach of both."""

from dataclasses import dataclass, field
from functools import cached_property

from approvals.links import person_behind
from approvals.sources import Source
from hermes_workflow.core.errors import Malformed
from hermes_workflow.rights import Principal


@dataclass(frozen=True)
class Spoken(Principal):
    """A person who speaks through a bot: with their own rights, in the profiles that the bot belongs to as well."""

    bot: Principal = field(kw_only=True)

    @cached_property
    def profile_ids(self) -> frozenset[int]:
        """What the person may see and the bot may repeat."""
        return Principal(self.user).profile_ids & self.bot.profile_ids


@dataclass(frozen=True, slots=True)
class Speaker:
    """`principal` is whose rights count; `source` is there when a bot passes on what a person typed, and `key` when a repeat is known."""

    door: Principal
    principal: Principal
    source: Source | None = None
    key: str | None = None

    @property
    def message_key(self) -> str | None:
        """Makes the same message twice one start and one answer."""
        return self.key or (f"chat:{self.source.message_key}" if self.source else None)


def speaker(door: Principal, source: Source | None, key: str | None) -> Speaker:
    """Raises Malformed for a source from anyone but a bot, Forbidden (with a `link`) for a chat account that belongs to nobody here."""
    if source is None:
        return Speaker(door, door, key=key)
    if not door.is_bot:
        raise Malformed("source: only a bot relays; leave it out")
    door.require("relay")
    source.check()
    person = person_behind(source.channel, source.external_id)
    return Speaker(door, Spoken(person, bot=door), source, key)
