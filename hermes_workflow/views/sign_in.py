"""Signing in."""

from typing import Any

from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView


class SignIn(LoginView):
    """Django's own; until somebody has signed in it says where the first password is."""

    redirect_authenticated_user = True

    def get_context_data(self, **more: Any) -> dict[str, Any]:
        """`is_new`: nobody has ever signed in."""
        return super().get_context_data(**more, is_new=not User.objects.filter(last_login__isnull=False).exists())
