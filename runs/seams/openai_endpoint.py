"""What a profile says about its OpenAI-compatible endpoint."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from hermes_workflow.core.errors import Malformed
from runs.seams.settings import NAME_OF_A_VARIABLE, address, choice, number, only_known, secret, text, variable

OUTPUT_LIMIT = 1_048_576
LARGEST_OUTPUT = 16 * 1_048_576
MOST_TOKENS = 10_000_000
HOTTEST = 2.0
SCHEMA_MODES: Final = ("json_schema", "json_object", "none")
HEADER_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,63}")
OURS = frozenset({"authorization", "content-type", "content-length", "host", "idempotency-key", "transfer-encoding", "connection"})


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A profile's settings. `structured` is how the endpoint is asked for JSON when a step has a schema; `headers` names variables."""

    base_url: str
    api_key_env: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    system: str = ""
    structured: str = SCHEMA_MODES[0]
    temperature: float | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    output_bytes: int = OUTPUT_LIMIT

    @classmethod
    def read(cls, settings: Mapping[str, Any]) -> "Endpoint":
        """The endpoint that `settings` describe. Raises Malformed naming the setting."""
        only_known(settings, cls)
        if not settings.get("base_url"):
            raise Malformed("base_url of the performer is missing")
        return cls(
            base_url=address(settings, "base_url"),
            api_key_env=variable(settings, "api_key_env"),
            headers=named_headers(settings),
            system=text(settings, "system"),
            structured=choice(settings, "structured", SCHEMA_MODES),
            temperature=warmth(settings),
            max_tokens=tokens(settings, "max_tokens"),
            max_completion_tokens=tokens(settings, "max_completion_tokens"),
            output_bytes=int(number(settings, "output_bytes", OUTPUT_LIMIT, LARGEST_OUTPUT)),
        )

    @property
    def host(self) -> str:
        """Where it is, as diagnostics show it."""
        return urlsplit(self.base_url).netloc

    def missing(self) -> str:
        """The first named variable that is not set here, or ""."""
        names = (self.api_key_env, *(name for _, name in self.headers))
        return next((name for name in names if name and not secret(name)), "")

    def secrets(self) -> list[str]:
        """What must never be shown."""
        return [value for name in (self.api_key_env, *(name for _, name in self.headers)) if (value := secret(name))]

    def options(self) -> dict[str, Any]:
        """The parts of a request's body that are the same for every step."""
        chosen = {
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "max_completion_tokens": self.max_completion_tokens,
        }
        return {name: value for name, value in chosen.items() if value is not None}


def named_headers(settings: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """`{header: variable}`. Raises Malformed."""
    given = settings.get("headers", {})
    if not isinstance(given, dict):
        raise Malformed("headers of the performer must be an object: header names, each with the name of an environment variable")
    for header, name in given.items():
        if not HEADER_NAME.fullmatch(header) or header.lower() in OURS:
            raise Malformed(f"headers of the performer cannot hold {header[:64]!r}")
        if not isinstance(name, str) or not NAME_OF_A_VARIABLE.fullmatch(name):
            raise Malformed(f"{header} in headers of the performer must be the name of an environment variable, never a secret itself")
    return tuple(given.items())


def warmth(settings: Mapping[str, Any]) -> float | None:
    """The temperature, from 0 to 2. Raises Malformed."""
    given = settings.get("temperature")
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given <= HOTTEST:
        raise Malformed(f"temperature of the performer must be a number from 0 to {HOTTEST:g}")
    return given


def tokens(settings: Mapping[str, Any], name: str) -> int | None:
    """A number of tokens. Raises Malformed."""
    given = settings.get(name)
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int) or not 0 < given <= MOST_TOKENS:
        raise Malformed(f"{name} of the performer must be a whole number from 1 to {MOST_TOKENS:,}")
    return given
