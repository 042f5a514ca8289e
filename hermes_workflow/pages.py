"""How every page is answered: to a signed-in person, in their timezone, with refusals shown in place."""

import zoneinfo
from collections.abc import Callable
from functools import wraps
from typing import Any, Protocol
from urllib.parse import urlsplit

from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django_htmx.http import HttpResponseClientRedirect
from django_htmx.middleware import HtmxDetails

from hermes_workflow.core.errors import HermesError
from hermes_workflow.models import Preference
from hermes_workflow.rights import Principal
from hermes_workflow.words import sentence

TITLES = {
    400: "This request cannot be read",
    403: "You may not do this",
    404: "Nothing is here",
    409: "Not possible now",
    413: "This is too large",
    422: "The workflow is not valid",
}


class PageRequest(HttpRequest):
    """A request that `page` has let through."""

    principal: Principal
    htmx: HtmxDetails
    user: User


class View(Protocol):
    """What `page` wraps."""

    def __call__(self, request: PageRequest, *args: Any, **kwargs: Any) -> HttpResponseBase: ...


def page(view: View) -> Callable[..., HttpResponseBase]:
    """Sign-in first, then the person's timezone; a refusal becomes a page. Browsers keep nothing: a part has its page's address."""

    @wraps(view)
    def answer(request: Any, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not request.user.is_authenticated:
            return _sign_in_first(request)
        request.principal = Principal(request.user)
        with timezone.override(zone_of(request.user)):
            try:
                response = view(request, *args, **kwargs)
            except HermesError as refusal:
                response = refused(request, refusal)
        response.headers.setdefault("Cache-Control", "no-store, private")
        patch_vary_headers(response, ("HX-Request", "Cookie"))
        return response

    return answer


def _sign_in_first(request: PageRequest) -> HttpResponseBase:
    """To the sign-in page and back to where the person was, which for a part of a page is the page around it."""
    here = _path_of(request.htmx.current_url or "") if request.htmx else request.get_full_path()
    there = redirect_to_login(here if request.method == "GET" else "/")
    return HttpResponseClientRedirect(there.url) if request.htmx else there


def _path_of(address: str) -> str:
    """The path of the page around a part, which is a client's word: of what is no address, the first page."""
    try:
        return urlsplit(address).path
    except ValueError:
        return "/"


def zone_of(user: Any) -> zoneinfo.ZoneInfo:
    """The person's timezone; UTC until they choose one."""
    name = Preference.objects.filter(user=user).values_list("timezone", flat=True).first() or "UTC"
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        return zoneinfo.ZoneInfo("UTC")


def refused(request: HttpRequest, refusal: HermesError) -> HttpResponse:
    """The refusal as a page, or as a notice where a part of a page was asked for."""
    template = "components/notice.html" if getattr(request, "htmx", None) else "refused.html"
    text = f"{sentence(refusal.msg)} {sentence(refusal.hint)}".strip()
    context = {"code": refusal.status, "title": TITLES.get(refusal.status, "Refused"), "text": text, "tone": "bad", "alert": True}
    return render(request, template, context, status=refusal.status)


def asks_for(request: PageRequest, part: str) -> bool:
    """Whether htmx asks for this part of the page alone."""
    return bool(request.htmx) and request.htmx.target == part
