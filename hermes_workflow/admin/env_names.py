"""Names of environment variables in forms: the name is stored and never a value, and whether this process has one is shown."""

import os
import re
from collections.abc import Iterable

from django import forms

from runs.seams.redaction import redact, secret_values

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}\Z")
OURS = re.compile(r"(?:HERMES_SECRET_KEY|DATABASE_URL|REDIS_URL)\Z")
LONG = 16  # a name this long says with its underscores what it is
NOT_A_NAME = "must be the name of an environment variable: letters, digits and underscores, not its value"
A_SECRET = "looks like a secret itself: put it into an environment variable of the web and worker processes, and name that here"

NOT_OURS = "belongs to this site, which passes it on to nobody"


def looks_like_a_secret(text: str) -> bool:
    """Whether somebody pasted a value where a name belongs."""
    known = text in secret_values(dict(os.environ)) or redact(text) != text
    has_digit, has_word_break = any(char.isdigit() for char in text), "_" in text
    random = len(text) >= LONG and has_digit and (not has_word_break or (text != text.upper() and text != text.lower()))
    return known or random


def check_name(text: str) -> None:
    """Raises ValidationError, which never repeats what was typed."""
    if looks_like_a_secret(text):
        raise forms.ValidationError(A_SECRET)
    if not NAME.match(text):
        raise forms.ValidationError(NOT_A_NAME)
    if OURS.match(text):
        raise forms.ValidationError(NOT_OURS)


def state_of(names: Iterable[str]) -> str:
    """`NAME: set`, or not, in this web process."""
    return ", ".join(f"{name}: {'set' if os.environ.get(name) else 'not set'}" for name in names)
