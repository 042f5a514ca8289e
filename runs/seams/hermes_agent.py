"""What a profile says about its Hermes Agent."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from hermes_workflow.core.errors import Malformed
from runs.seams.settings import address, choice, number, only_known, secret, text, variable

DENY, ONCE = "deny", "once"
TOOL_APPROVALS: Final = (DENY, ONCE)
POLL, EVENTS = "poll", "events"
MODES: Final = (POLL, EVENTS)
POLL_SECONDS = 2.0
SLOWEST_POLL = 300.0
PATIENCE = 60.0
LONGEST_PATIENCE = 3600.0
OUTPUT_LIMIT = 1_048_576
LARGEST_OUTPUT = 16 * 1_048_576
PROFILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True, slots=True)
class HermesAgent:
    """A profile's settings.

    `profile` is the agent's own (`/p/<profile>/`), `tool_approvals` how its questions about tools are answered, `patience_seconds` how long
    it is asked again while it does not answer as it should.
    """

    base_url: str
    api_key_env: str
    profile: str = ""
    instructions: str = ""
    tool_approvals: str = DENY
    mode: str = POLL
    poll_seconds: float = POLL_SECONDS
    patience_seconds: float = PATIENCE
    output_bytes: int = OUTPUT_LIMIT

    @classmethod
    def read(cls, settings: Mapping[str, Any]) -> "HermesAgent":
        """The agent that `settings` describe. Raises Malformed naming the setting."""
        only_known(settings, cls)
        for name in ("base_url", "api_key_env"):
            if not settings.get(name):
                raise Malformed(f"{name} of the performer is missing")
        return cls(
            base_url=address(settings, "base_url"),
            api_key_env=variable(settings, "api_key_env"),
            profile=own_profile(settings),
            instructions=text(settings, "instructions"),
            tool_approvals=choice(settings, "tool_approvals", TOOL_APPROVALS),
            mode=choice(settings, "mode", MODES),
            poll_seconds=number(settings, "poll_seconds", POLL_SECONDS, SLOWEST_POLL),
            patience_seconds=number(settings, "patience_seconds", PATIENCE, LONGEST_PATIENCE),
            output_bytes=int(number(settings, "output_bytes", OUTPUT_LIMIT, LARGEST_OUTPUT)),
        )

    @property
    def runs_url(self) -> str:
        """Where its runs are."""
        return f"{self.base_url}{f'/p/{self.profile}' if self.profile else ''}/v1/runs"

    @property
    def host(self) -> str:
        """Where it is, as diagnostics show it."""
        return urlsplit(self.base_url).netloc

    @property
    def key(self) -> str:
        """Its key; "" when the variable is not set here."""
        return secret(self.api_key_env)

    def missing(self) -> str:
        """The named variable if it is not set here, or ""."""
        return "" if self.key else self.api_key_env


def own_profile(settings: Mapping[str, Any]) -> str:
    """The name of a profile of the agent. Raises Malformed."""
    given = text(settings, "profile")
    if given and not PROFILE_NAME.fullmatch(given):
        raise Malformed("profile of the performer must be the name of a profile of the Hermes Agent")
    return given
