"""Credentials of the API: tokens kept as hashes, the site's session, and a password where a token is made."""

import re
from typing import Any

from django.contrib.auth.models import AbstractUser
from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from knox.auth import TokenAuthentication as KnoxTokenAuthentication
from knox.crypto import hash_token
from rest_framework.authentication import BasicAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from hermes_workflow.core.text import hides_something
from hermes_workflow.models import Token

TOKEN = re.compile(rb"[A-Za-z0-9_-]{32,128}\Z")
LONGEST_NAME = 150


class TokenAuthentication(KnoxTokenAuthentication):
    """`Authorization: Token …`, looked up by its hash; every reason for refusing it sounds the same."""

    def authenticate_credentials(self, token: bytes) -> tuple[AbstractUser, Token]:
        """The user and the token row. Raises AuthenticationFailed."""
        found = _token_of(token)
        if found is None or not found.user.is_active or (found.expiry and found.expiry <= timezone.now()):
            raise AuthenticationFailed("the token is not valid, or not valid any more")
        return found.user, found


def _token_of(raw: bytes) -> Token | None:
    if not TOKEN.match(raw):
        return None
    return Token.objects.select_related("user").filter(digest=hash_token(raw.decode())).first()


class PasswordAuthentication(BasicAuthentication):
    """HTTP Basic, counted with the wrong passwords of the sign-in page."""

    def authenticate_credentials(self, userid: str, password: str, request: Any = None) -> tuple[AbstractUser, None]:
        """The user. Raises AuthenticationFailed; a locked name is answered by the lock's own 429."""
        if len(userid) > LONGEST_NAME or hides_something(userid) or "\x00" in password:
            raise AuthenticationFailed("wrong name or password")
        plain: Any = request._request if isinstance(request, Request) else request
        try:
            user, _ = super().authenticate_credentials(userid, password, plain)
        except AuthenticationFailed:
            raise AuthenticationFailed("wrong name or password") from None
        return user, None


class TokenScheme(OpenApiAuthenticationExtension):
    """How the OpenAPI document names tokens."""

    target_class = TokenAuthentication
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """An API key in the header."""
        return {"type": "apiKey", "in": "header", "name": "Authorization", "description": "`Token <token>`"}


class PasswordScheme(OpenApiAuthenticationExtension):
    """How the OpenAPI document names passwords."""

    target_class = PasswordAuthentication
    name = "password"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """HTTP Basic."""
        return {"type": "http", "scheme": "basic"}
