"""The account page: timezone, API tokens, chat accounts."""

import zoneinfo
from functools import cache

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from approvals import codes, links
from approvals.selectors import links_of
from approvals.services import confirm_link, remove_link
from hermes_workflow import tokens
from hermes_workflow.core.errors import HermesError, Malformed
from hermes_workflow.models import Preference
from hermes_workflow.pages import PageRequest, page, zone_of
from hermes_workflow.words import sentence

DAY = 86400
LIVES = ((7, "7 days"), (30, "30 days"), (90, "90 days"), (365, "1 year"))


@cache
def zones() -> list[str]:
    """The timezones that this machine knows, by name."""
    return sorted(name for name in zoneinfo.available_timezones() if "/" in name or name == "UTC")


@page
@require_GET
def account(request: PageRequest) -> HttpResponseBase:
    """What the person set."""
    return _shown(request)


def _shown(request: PageRequest, *, refusal: HermesError | None = None, secret: str = "", chat_code: str = "") -> HttpResponse:
    context = {
        "zones": zones(),
        "zone": str(zone_of(request.user)),
        "roles": sorted(request.principal.roles),
        "tokens": tokens.tokens_for(request.principal),
        "lives": LIVES,
        "secret": secret,
        "identities": links_of(request.principal),
        "chat_code": chat_code,
        "code_until": codes.live_code(request.principal),
        "refusal": f"{sentence(refusal.msg)} {sentence(refusal.hint)}" if refusal else "",
    }
    return render(request, "account/account.html", context, status=refusal.status if refusal else 200)


@page
@require_POST
def timezone(request: PageRequest) -> HttpResponseBase:
    """Show times in another zone from now on."""
    name = request.POST.get("timezone", "")
    if name not in zones():
        return _shown(request, refusal=Malformed("timezone: must be one of the list, such as Europe/Berlin"))
    Preference.objects.update_or_create(user=request.user, defaults={"timezone": name})
    messages.success(request, f"Times are shown in {name}.")
    return redirect("account")


@page
@require_POST
def create_token(request: PageRequest) -> HttpResponseBase:
    """A new token; this page is the only place that ever shows it."""
    days = request.POST.get("days", "")
    try:
        if days not in {str(number) for number, _ in LIVES}:
            raise Malformed("expires: must be one of the list")
        _, secret = tokens.issue_token(principal=request.principal, name=request.POST.get("name", "").strip(), expires_in=int(days) * DAY)
    except HermesError as refusal:
        return _shown(request, refusal=refusal)
    return _shown(request, secret=secret)


@page
@require_POST
def revoke_token(request: PageRequest, token_id: str) -> HttpResponseBase:
    """Make a token useless at once."""
    tokens.revoke_token(principal=request.principal, token_id=token_id)
    messages.success(request, "The token is revoked.")
    return redirect("account")


@page
def link(request: PageRequest) -> HttpResponseBase:
    """Confirm that a chat account is one's own. Following the address only asks."""
    code = (request.POST if request.method == "POST" else request.GET).get("code", "")
    channel, external_id = links.read_code(code)
    if request.method != "POST":
        return render(request, "account/link.html", {"code": code, "channel": channel, "external_id": external_id})
    confirm_link(principal=request.principal, code=code)
    messages.success(request, f"{channel} account {external_id} is yours. Answers relayed from it count as yours.")
    return redirect("account")


@page
@require_POST
def create_code(request: PageRequest) -> HttpResponseBase:
    """A code to type in a chat; this page is the only place that ever shows it."""
    code, _ = codes.new_code(principal=request.principal)
    return _shown(request, chat_code=code)


@page
@require_GET
def chat_accounts(request: PageRequest) -> HttpResponseBase:
    """The chat accounts alone, for a page that waits for a code to be typed."""
    until = codes.live_code(request.principal)
    return render(request, "account/chat_accounts.html", {"identities": links_of(request.principal), "code_until": until})


@page
@require_POST
def unlink(request: PageRequest, identity_id: str) -> HttpResponseBase:
    """Decisions from a chat account are refused from now on."""
    remove_link(principal=request.principal, identity_id=int(identity_id))
    messages.success(request, "The chat account is removed.")
    return redirect("account")
