"""Who may do what in the admin: roles decide, Django's own permissions are not used."""

from typing import Any

from django.http import HttpRequest
from unfold.admin import ModelAdmin

from hermes_workflow.rights import Principal


def principal(request: HttpRequest) -> Principal:
    """Who uses the admin, asked once a request."""
    known = getattr(request, "principal", None)
    if not isinstance(known, Principal):
        known = Principal(request.user)  # type: ignore[arg-type]  # the site lets nobody in who is not signed in
        request.principal = known  # type: ignore[attr-defined]
    return known


class AdminsOnly(ModelAdmin):
    """Seen and changed by admins."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Whether it is listed."""
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Admins only."""
        return principal(request).is_admin

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Admins only."""
        return principal(request).is_admin

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Admins only."""
        return principal(request).is_admin

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Admins only."""
        return principal(request).is_admin


class ReadOnly(AdminsOnly):
    """Shown to admins; nobody writes it here."""

    list_fullwidth = True

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nobody."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody."""
        return False


class Removable(ReadOnly):
    """Shown to admins, who may take it away but not write it."""

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Admins only."""
        return principal(request).is_admin
