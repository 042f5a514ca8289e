"""The site of the admin: admins see all of it, designers their designs, nobody else comes in; times are in the person's timezone."""

from collections.abc import Callable
from functools import update_wrapper
from typing import Any

from django.contrib.auth import logout
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, resolve_url
from django.utils import timezone
from unfold.sites import UnfoldAdminSite

APPS = ("hermes_workflow", "runs", "approvals", "auth")
MODELS = (
    "Design", "Schedule", "Profile", "Channel", "Hook", "Token", "Attachment",
    "Run", "Gate", "Attempt", "Delivery", "Event", "Decision", "User",
)  # fmt: skip
NAMES = {"auth": "People", "axes": "Sign-in"}
View = Callable[..., HttpResponseBase]


def _place(name: str, order: tuple[str, ...]) -> int:
    return order.index(name) if name in order else len(order)


class AdminSite(UnfoldAdminSite):
    """Unfold's site with this product's rights."""

    def has_permission(self, request: HttpRequest) -> bool:
        """Whether the user is an admin or a designer. A bot is neither."""
        from hermes_workflow.rights import ADMIN, DESIGNER, Principal

        if not request.user.is_authenticated or not request.user.is_active:
            return False
        principal = Principal(request.user)
        return not principal.is_bot and bool(principal.roles & {ADMIN, DESIGNER})

    def admin_view(self, view: View, cacheable: bool = False) -> View:
        """Any view of the admin: rendered in the person's timezone, a refusal as the status that it has."""
        guarded = super().admin_view(view, cacheable)

        def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            from hermes_workflow.core.errors import Forbidden, NotFound
            from hermes_workflow.pages import zone_of

            zone = zone_of(request.user) if request.user.is_authenticated else None
            with timezone.override(zone):
                try:
                    response = guarded(request, *args, **kwargs)
                    return response.render() if hasattr(response, "render") and not response.is_rendered else response
                except NotFound as refusal:
                    raise Http404(refusal.msg) from None
                except Forbidden as refusal:
                    raise PermissionDenied(refusal.msg) from None

        return update_wrapper(answer, view)

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[dict[str, Any]]:
        """What is used most comes first."""
        found = super().get_app_list(request, app_label)
        for app in found:
            app["name"] = NAMES.get(app["app_label"], app["name"])
            app["models"].sort(key=lambda model: _place(model["object_name"], MODELS))
        return sorted(found, key=lambda app: _place(app["app_label"], APPS))

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponseBase:
        """There is one sign-in page; who is signed in and may not come in is told so."""
        if self.has_permission(request):
            return redirect("admin:index")
        if request.user.is_authenticated:
            raise PermissionDenied("the administration is for admins and designers")
        return redirect_to_login(request.GET.get("next") or resolve_url("admin:index"))

    def logout(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponseBase:
        """To the one sign-in page."""
        if request.method == "POST":
            logout(request)
        return redirect("login")
