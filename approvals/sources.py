"""Where a relayed decision came from: the message a bot saw, the person behind it, and the rights that person has now."""

import re
from dataclasses import asdict, dataclass

from approvals.links import person_behind
from approvals.people import refusal_of
from hermes_workflow.core.documents import check_value
from hermes_workflow.core.documents import digest as digest_of
from hermes_workflow.core.errors import Forbidden, Malformed
from hermes_workflow.rights import Principal
from runs.models import Gate

LIMITS = {"channel": 64, "external_id": 255, "message_id": 255, "message_url": 1000, "event_id": 255}
WEB = re.compile(r"https?://[^\s<>\"]+\Z", re.ASCII)  # it is shown as a link
MESSAGE = ("event_id", "message_id", "message_url")  # the most exact one that is given is used up


@dataclass(frozen=True, slots=True)
class Source:
    """A bot's account of a person's message. Ids are unique within their channel."""

    channel: str
    external_id: str = ""
    message_id: str = ""
    message_url: str = ""
    event_id: str = ""

    def check(self) -> None:
        """Raises Malformed naming the field."""
        given = asdict(self)
        for name, limit in LIMITS.items():
            if not isinstance(given[name], str) or len(given[name]) > limit:
                raise Malformed(f"source.{name}: must be text of at most {limit} characters")
        check_value({"source": given})
        for name in ("channel", "external_id"):
            if not given[name].strip():
                raise Malformed(f"source.{name}: is required")
        if not any(given[name].strip() for name in MESSAGE):
            raise Malformed("source: needs a message_id, a message_url or an event_id")
        if self.message_url and not WEB.match(self.message_url):
            raise Malformed("source.message_url: must be an http or https address")

    @property
    def message_key(self) -> str:
        """Names the message, so that it decides once."""
        name = next(name for name in MESSAGE if getattr(self, name).strip())
        return digest_of([self.channel, name, getattr(self, name)])


def answering(principal: Principal, source: Source | None, gate: Gate, digest: str | None) -> Principal:
    """The person whose answer it is. Raises Forbidden or Malformed unless their rights, now, allow it."""
    person = principal
    if source is not None and not principal.is_bot:
        raise Malformed("source: only a bot relays; leave it out")
    if gate.kind != Gate.Kind.AGENT and source is not None:
        person = _behind(principal, source, gate, digest)
    if why := refusal_of(person, gate):
        raise Forbidden(why)
    return person


def _behind(principal: Principal, source: Source, gate: Gate, digest: str | None) -> Principal:
    principal.require("relay")
    if gate.rules.get("relay") is False:
        raise Forbidden("this gate is answered on the site only", hint=f"open /inbox/{gate.pk}/")
    person = person_behind(source.channel, source.external_id)
    if digest is None:
        raise Malformed("digest: a relay names the digest of what the person was shown")
    return Principal(person)
