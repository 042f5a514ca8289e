"""How designs, profiles and tokens look over the API: bodies that are read, answers that are documented."""

from collections.abc import Iterable
from typing import Any

from rest_framework import serializers

from hermes_workflow.http.bodies import Anyhow, Anything, Body, Flag, Text, Whole, Words
from hermes_workflow.http.openapi import DefectShape
from hermes_workflow.models import Design, DesignVersion, Profile, Token
from hermes_workflow.services import NOTE_LIMIT, TITLE_LIMIT
from hermes_workflow.tokens import LONGEST_LIFE, NAME_LIMIT, SCOPES
from runs.catalogue import offered
from runs.documents import instant

DESCRIPTION_LIMIT = 10_000
BIGGEST = 2**31 - 1


class DocumentBody(Body):
    """A workflow to check."""

    dialect = Text(default="design", max_length=16)
    document = Anything()


class DesignBody(DocumentBody):
    """A workflow to save. `base_version` is the version it was made from."""

    name = Text(required=False, max_length=200, allow_blank=True, help_text="Needed to create; else as in the address")
    title = Text(required=False, max_length=TITLE_LIMIT, allow_blank=True)
    description = Text(required=False, max_length=DESCRIPTION_LIMIT, allow_blank=True)
    note = Text(required=False, max_length=NOTE_LIMIT, allow_blank=True, help_text="What changed, for the history")
    profile = Text(required=False, max_length=64)
    separate_duties = Flag(required=False)
    base_version = Whole(required=False, min_value=0, max_value=BIGGEST)


class TokenBody(Body):
    """A token to make."""

    name = Text(max_length=NAME_LIMIT)
    bot = Flag(default=False)
    user = Text(required=False, max_length=150, help_text="The bot's user; made if it is new")
    scopes = Words(SCOPES, required=False)
    expires_in = Whole(required=False, min_value=1, max_value=LONGEST_LIFE, help_text="Seconds")


class VerdictShape(serializers.Serializer):
    """Whether a document may be saved."""

    ok = serializers.BooleanField()
    defects = DefectShape(many=True)


class DesignSummaryShape(serializers.Serializer):
    """A design in a list."""

    name = serializers.CharField()
    title = serializers.CharField()
    description = serializers.CharField()
    dialect = serializers.CharField()
    profile = serializers.CharField()
    version = serializers.IntegerField()
    digest = serializers.CharField()
    separate_duties = serializers.BooleanField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class DesignShape(DesignSummaryShape):
    """A design with the document of its current version."""

    document = Anyhow()


class VersionShape(serializers.Serializer):
    """One saved version."""

    version = serializers.IntegerField()
    digest = serializers.CharField()
    note = serializers.CharField()
    author = serializers.CharField(allow_null=True)
    current = serializers.BooleanField()
    created_at = serializers.DateTimeField()


class ProfileShape(serializers.Serializer):
    """Who performs, without what only admins see."""

    name = serializers.CharField()
    title = serializers.CharField()
    performer = serializers.CharField(help_text="`none` parks agent steps for the chat agent")
    model = serializers.CharField()
    allow_model_override = serializers.BooleanField()
    models = serializers.ListField(child=serializers.CharField(), help_text="What steps may choose from; `/models/` also asks endpoints")
    open = serializers.BooleanField(help_text="Every signed-in user belongs to it")
    default = serializers.BooleanField(help_text="Steps that name no profile use it")


class ModelShape(serializers.Serializer):
    """A model that steps of a profile may ask for."""

    provider = serializers.CharField(help_text="The profile: who performs it is never more than that")
    profile = serializers.CharField()
    model = serializers.CharField()
    default = serializers.BooleanField(help_text="Asked for when a step names none")


class ModelsShape(serializers.Serializer):
    """The model catalogue."""

    ok = serializers.BooleanField()
    models = ModelShape(many=True)
    absent = serializers.CharField(allow_null=True, help_text="Why there are none, or not all")


class TokenShape(serializers.Serializer):
    """A token, without its secret."""

    id = serializers.CharField(help_text="The token's first characters")
    name = serializers.CharField()
    user = serializers.CharField()
    bot = serializers.BooleanField()
    scopes = serializers.ListField(child=serializers.CharField())
    created_at = serializers.DateTimeField()
    expiry = serializers.DateTimeField(allow_null=True)


class NewTokenShape(TokenShape):
    """A token and its secret, which is shown this once."""

    token = serializers.CharField()


def design_summary(design: Design) -> dict[str, Any]:
    """A design as its row and its current version's give it."""
    version = design.current
    assert version is not None
    return {
        "name": design.slug,
        "title": design.title,
        "description": design.description,
        "dialect": design.dialect,
        "profile": design.profile.name,
        "version": version.number,
        "digest": version.digest,
        "separate_duties": design.separate_duties,
        "created_at": instant(design.created_at),
        "updated_at": instant(version.created_at),
    }


def design_document(design: Design) -> dict[str, Any]:
    """A design with its current document."""
    assert design.current is not None
    return {"ok": True, **design_summary(design), "document": design.current.document}


def version_document(design: Design, version: DesignVersion) -> dict[str, Any]:
    """One saved version, without its document."""
    return {
        "version": version.number,
        "digest": version.digest,
        "note": version.note,
        "author": version.author.get_username() if version.author else None,
        "current": version.pk == design.current_id,
        "created_at": instant(version.created_at),
    }


def profile_document(profile: Profile, *, default: str) -> dict[str, Any]:
    """Who performs; its settings stay with the admins."""
    return {
        "name": profile.name,
        "title": profile.title,
        "performer": profile.performer,
        "model": profile.model,
        "allow_model_override": profile.allow_model_override,
        "models": list(offered(profile, live=False).models),
        "open": profile.is_open,
        "default": profile.name == default,
    }


def model_documents(profile: Profile, models: Iterable[str]) -> list[dict[str, Any]]:
    """The models of one profile."""
    return [{"provider": profile.name, "profile": profile.name, "model": name, "default": name == profile.model} for name in models]


def token_document(token: Token) -> dict[str, Any]:
    """A token, without its secret."""
    return {
        "id": token.token_key,
        "name": token.name,
        "user": token.user.get_username(),
        "bot": token.bot,
        "scopes": token.scopes,
        "created_at": instant(token.created),
        "expiry": instant(token.expiry),
    }
