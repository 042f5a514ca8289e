"""Profiles, their models, and tokens over the API."""

from django.conf import settings
from rest_framework.authentication import SessionAuthentication
from rest_framework.request import Request
from rest_framework.response import Response

from hermes_workflow.api.shapes import (
    ModelsShape,
    NewTokenShape,
    ProfileShape,
    TokenBody,
    TokenShape,
    model_documents,
    profile_document,
    token_document,
)
from hermes_workflow.core.errors import NotFound
from hermes_workflow.http.authentication import PasswordAuthentication, TokenAuthentication
from hermes_workflow.http.endpoint import Endpoint
from hermes_workflow.http.openapi import documented, page_of
from hermes_workflow.http.paging import page
from hermes_workflow.http.queries import PAGING, text
from hermes_workflow.rights import profiles_for
from hermes_workflow.tokens import issue_token, revoke_token, tokens_for
from runs.catalogue import offered

MOST_PROFILES = 100


class Profiles(Endpoint):
    """Who performs agent steps."""

    reads = PAGING

    @documented("List profiles", answers=page_of(ProfileShape), query=reads, operation_id="profiles_list")
    def get(self, request: Request) -> Response:
        """The profiles one belongs to, by name."""
        rows = profiles_for(self.principal)
        default = settings.HERMES_DEFAULT_PROFILE
        return Response(page(request, self.query, rows, ("name",), lambda profile: profile_document(profile, default=default)))


class Models(Endpoint):
    """What steps may ask for."""

    reads = (text("profile", "Only of this profile"),)

    @documented("List models", answers=ModelsShape, query=reads, refuses=(403, 404), operation_id="models_list")
    def get(self, request: Request) -> Response:
        """The models of one's profiles, each profile's own first. An endpoint that cannot be asked is `absent`, with the reason."""
        self.principal.require("read")
        chosen = profiles_for(self.principal)
        if name := self.query.get("profile"):
            chosen = chosen.filter(name=name)
            if not chosen:
                raise NotFound("there is no such profile")
        found = [(profile, offered(profile)) for profile in chosen[:MOST_PROFILES]]
        models = [model for profile, one in found for model in model_documents(profile, one.models)]
        absent = "; ".join(one.absent for _, one in found if one.absent) if name or not models else ""
        return Response({"ok": True, "models": models, "absent": absent or None})


class Tokens(Endpoint):
    """One's tokens."""

    authentication_classes = (TokenAuthentication, PasswordAuthentication, SessionAuthentication)
    reads = PAGING

    @documented("List tokens", answers=page_of(TokenShape), query=reads, operation_id="tokens_list")
    def get(self, request: Request) -> Response:
        """One's own, newest first; an admin also sees those of bots."""
        return Response(page(request, self.query, tokens_for(self.principal), ("-created", "digest"), token_document))

    @documented("Make a token", answers=NewTokenShape, status=201, body=TokenBody, refuses=(403, 409), operation_id="tokens_create")
    def post(self, request: Request) -> Response:
        """The only answer that holds the secret."""
        token, secret = issue_token(principal=self.principal, **self.body(TokenBody))
        return Response({"ok": True, "token": secret, **token_document(token)}, status=201)


class OneToken(Endpoint):
    """One token."""

    authentication_classes = Tokens.authentication_classes

    @documented("Revoke a token", answers=None, status=204, refuses=(403, 404), operation_id="tokens_revoke")
    def delete(self, request: Request, token_id: str) -> Response:
        """It is useless at once."""
        revoke_token(principal=self.principal, token_id=token_id)
        return Response(status=204)
