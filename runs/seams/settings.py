"""Reading the settings of a performer strictly: every one has a type, unknown ones are refused, secrets are named and never given."""

import os
import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from hermes_workflow.core.errors import Malformed

NAME_OF_A_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
LONGEST_TEXT = 20_000


def only_known(settings: Mapping[str, Any], kind: type) -> None:
    """Refuse what is no field of `kind`. Raises Malformed."""
    if unknown := sorted(map(str, settings.keys() - {field.name for field in fields(kind)})):
        raise Malformed(f"unknown setting of the performer: {', '.join(unknown)[:80]}")


def words(settings: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """A list of texts, none of them empty. Raises Malformed."""
    given = settings.get(name, ())
    if not isinstance(given, list | tuple) or not all(isinstance(word, str) and word and "\0" not in word for word in given):
        raise Malformed(f"{name} of the performer must be a list of texts")
    return tuple(given)


def number(settings: Mapping[str, Any], name: str, default: float, largest: float) -> float:
    """A number above 0. Raises Malformed."""
    given = settings.get(name, default)
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given <= largest:
        raise Malformed(f"{name} of the performer must be a number above 0 and at most {largest:g}")
    return given


def text(settings: Mapping[str, Any], name: str, default: str = "") -> str:
    """A text. Raises Malformed."""
    given = settings.get(name, default)
    if not isinstance(given, str) or "\0" in given or len(given) > LONGEST_TEXT:
        raise Malformed(f"{name} of the performer must be a text of at most {LONGEST_TEXT:,} characters")
    return given.strip()


def choice(settings: Mapping[str, Any], name: str, offered: tuple[str, ...]) -> str:
    """One of `offered`, the first if nothing is said. Raises Malformed."""
    given = settings.get(name, offered[0])
    if given not in offered:
        raise Malformed(f"{name} of the performer must be one of {', '.join(offered)}")
    return str(given)


def variable(settings: Mapping[str, Any], name: str) -> str:
    """The name of an environment variable, or "". Raises Malformed, without showing what may be a secret."""
    given = settings.get(name, "")
    if not isinstance(given, str) or (given and not NAME_OF_A_VARIABLE.fullmatch(given)):
        raise Malformed(f"{name} of the performer must be the name of an environment variable, never a secret itself")
    return given


def address(settings: Mapping[str, Any], name: str) -> str:
    """The http or https address of an endpoint, without password, query or fragment, and without a slash at its end. Raises Malformed."""
    given = text(settings, name)
    if not re.fullmatch(r"https?://[^\s/?#@\\]+(?:/[^\s?#\\]*)?", given):
        raise Malformed(f"{name} of the performer must be an address like https://host/v1, without a password, ? or #")
    return given.rstrip("/")


def secret(variable_name: str) -> str:
    """The value of an environment variable; "" when it is not set."""
    return os.environ.get(variable_name, "").strip() if variable_name else ""
