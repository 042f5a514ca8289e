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


class OfferedFilters(ModelAdmin):
    """An address filters by what the list offers and by nothing else: by other columns one can ask for what no database holds."""

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Whether a filter beside the list could have made it."""
        offered = [found[0] if isinstance(found, tuple) else found for found in self.list_filter]
        return lookup.partition("__")[0] in offered and super().lookup_allowed(lookup, value, request)


class AdminsOnly(OfferedFilters):
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
