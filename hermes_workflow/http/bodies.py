"""Request bodies: one strict reader of bytes, fields that coerce nothing, and no field that is not asked for."""

from typing import IO, Any, ClassVar

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.parsers import BaseParser

from hermes_workflow.core.documents import LIMIT, read_json
from hermes_workflow.core.errors import Malformed, TooLarge
from hermes_workflow.core.text import kind_of, shorten

READ_ONLY = frozenset({
    "id", "pk", "run_id", "gate_id", "node_id", "dialect", "name", "version", "number", "digest", "status", "cursor", "seq",
    "outputs", "skipped", "pending", "pendings", "answers", "attempts", "deliveries", "error", "origin", "next", "ok",
    "created_at", "updated_at", "ended_at", "created_by", "updated_by", "started_by", "author", "user", "owner", "decided_by",
    "by", "at", "is_staff", "is_superuser", "is_active", "groups", "roles", "votes", "quorum", "options", "question", "context",
    "deadline", "waiting_since", "round", "token", "expiry",
})  # fmt: skip
"""Names of what we show and nobody sets: refused as read-only where a body does not take them."""


class JSONBody(BaseParser):
    """UTF-8 JSON of at most 1 MiB, an object at the top."""

    media_type = "application/json"

    def parse(self, stream: IO[bytes], media_type: str | None = None, parser_context: Any = None) -> dict[str, Any]:
        """The object. Raises Malformed with the place, TooLarge."""
        data = stream.read(LIMIT + 1)
        if len(data) > LIMIT:
            raise TooLarge(f"the body must be at most {LIMIT:,} bytes")
        value = read_json(data)
        if not isinstance(value, dict):
            raise Malformed(f"the body must be a JSON object, got {kind_of(value)}")
        return value


class Body(serializers.Serializer):
    """The fields of a request. Null means absent, except for a value that may be anything."""

    def to_internal_value(self, data: Any) -> Any:
        """The fields that were given, each of its type. Raises ValidationError naming every wrong field at once."""
        if not isinstance(data, dict):
            raise serializers.ValidationError(f"must be an object, got {kind_of(data)}")
        if unknown := {name: _unknown(name) for name in data if name not in self.fields}:
            raise serializers.ValidationError(unknown)
        given = {name: value for name, value in data.items() if value is not None or isinstance(self.fields[name], Anything)}
        return super().to_internal_value(given)


def _unknown(name: str) -> str:
    return "is read-only" if name in READ_ONLY else "unknown field"


class _Asked(serializers.Field):
    default_error_messages: ClassVar[dict[str, Any]] = {"required": "is required", "null": "must not be null"}


class Text(_Asked, serializers.CharField):
    """Text as it was sent: not trimmed, and no number made text."""

    default_error_messages = {
        "invalid": "must be text, got {got}",
        "blank": "must not be empty",
        "max_length": "at most {max_length} characters",
    }

    def __init__(self, **options: Any) -> None:
        super().__init__(trim_whitespace=False, **options)

    def to_internal_value(self, data: Any) -> str:
        """The text. Raises ValidationError for any other type."""
        if not isinstance(data, str):
            self.fail("invalid", got=kind_of(data))
        return super().to_internal_value(data)


class Whole(_Asked, serializers.IntegerField):
    """A whole number: no text, no boolean, no 2.0."""

    default_error_messages = {
        "invalid": "must be a whole number, got {got}",
        "min_value": "at least {min_value}",
        "max_value": "at most {max_value}",
    }

    def to_internal_value(self, data: Any) -> int:
        """The number. Raises ValidationError for any other type."""
        if type(data) is not int:
            self.fail("invalid", got=shorten(data))
        return data


class Flag(_Asked, serializers.BooleanField):
    """True or false, nothing that looks like it."""

    default_error_messages = {"invalid": "must be true or false, got {got}"}

    def to_internal_value(self, data: Any) -> bool:
        """The boolean. Raises ValidationError for any other type."""
        if type(data) is not bool:
            self.fail("invalid", got=shorten(data))
        return data


class Choice(Text):
    """One of a few words, spelled exactly."""

    default_error_messages = {"choice": "must be {offered}, got {got}"}

    def __init__(self, offered: tuple[str, ...], **options: Any) -> None:
        self.offered = offered
        super().__init__(**options)

    def to_internal_value(self, data: Any) -> str:
        """The word. Raises ValidationError for any other."""
        word = super().to_internal_value(data)
        if word not in self.offered:
            self.fail("choice", offered=" or ".join(self.offered), got=shorten(word))
        return word


class Words(_Asked, serializers.ListField):
    """A list of words from a few."""

    default_error_messages = {"not_a_list": "must be a list, got {input_type}", "max_length": "at most {max_length} entries"}

    def __init__(self, offered: tuple[str, ...], **options: Any) -> None:
        super().__init__(child=Choice(offered), max_length=len(offered), **options)


@extend_schema_field({})
class Anything(_Asked):
    """Any JSON value; null is a value here."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_null=True, **options)

    def to_internal_value(self, data: Any) -> Any:
        """The value as it is: the reader of bytes has checked it."""
        return data

    def to_representation(self, value: Any) -> Any:
        """The value as it is."""
        return value


@extend_schema_field({"type": "object", "additionalProperties": {}})
class Anyhow(_Asked):
    """Any JSON object."""

    default_error_messages = {"invalid": "must be an object, got {got}"}

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        """The object. Raises ValidationError for any other type."""
        if not isinstance(data, dict):
            self.fail("invalid", got=kind_of(data))
        return data

    def to_representation(self, value: Any) -> Any:
        """The value as it is."""
        return value
