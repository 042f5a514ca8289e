"""The JSON Schema of a request body, read off its own fields: what is promised to a bot is what is checked."""

from typing import Any

from rest_framework import serializers

from hermes_workflow.http.bodies import Anyhow, Anything, Body, Choice, Flag, Text, Whole


def schema_of(shape: type[Body]) -> dict[str, Any]:
    """A closed object: every property described, nothing but them accepted."""
    return _object(shape())


def _object(body: serializers.BaseSerializer) -> dict[str, Any]:
    assert isinstance(body, Body)
    fields = body.fields
    required = [name for name, field in fields.items() if field.required]
    return {
        "type": "object",
        "properties": {name: _described(field) for name, field in fields.items()},
        "required": required,
        "additionalProperties": False,
    }


def _described(field: serializers.Field) -> dict[str, Any]:
    about = {"description": str(field.help_text)} if field.help_text else {}
    given = {} if field.required or field.default in (serializers.empty, "") else {"default": field.default}
    return {**_typed(field), **about, **given}


def _typed(field: serializers.Field) -> dict[str, Any]:
    if isinstance(field, Body):
        return _object(field)
    if isinstance(field, Choice):
        return {"type": "string", "enum": list(field.offered)}
    if isinstance(field, Text):
        bounds = {"minLength": None if field.allow_blank else 1, "maxLength": field.max_length}
        return {"type": "string", **_given(bounds)}
    if isinstance(field, Whole):
        return {"type": "integer", **_given({"minimum": field.min_value, "maximum": field.max_value})}
    if isinstance(field, Flag):
        return {"type": "boolean"}
    if isinstance(field, Anyhow):
        return {"type": "object", "additionalProperties": True}
    assert isinstance(field, Anything), field
    return {}


def _given(bounds: dict[str, Any]) -> dict[str, Any]:
    return {name: bound for name, bound in bounds.items() if bound is not None}
