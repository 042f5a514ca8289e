"""The editor of a design: one page over its document, drafts going round through the server, saving through the one service."""

import re
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import Group, User
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse

from hermes_workflow.admin import moves
from hermes_workflow.admin.cards import Offer, Sheet, sheet
from hermes_workflow.admin.details import Details
from hermes_workflow.admin.draft import document_of, has_fields, refuse_unknown
from hermes_workflow.admin.looks import pretty
from hermes_workflow.core.errors import HermesError, Malformed, Stale
from hermes_workflow.core.text import shorten
from hermes_workflow.dialects.defects import Defect
from hermes_workflow.dialects.design.nodes import KINDS
from hermes_workflow.fields import dumps
from hermes_workflow.models import Design, DesignVersion
from hermes_workflow.rights import Principal, profiles_for
from hermes_workflow.services import check_document, save_design
from runs.catalogue import offered

MOST_PEOPLE = 500
NUMBER = re.compile(r"[0-9]{1,3}\Z")
SAVE, SAVE_AND_START = "save", "save-start"


@dataclass(slots=True)
class Draft:
    """What the page shows: the document or, where it cannot be read, its text; and what is wrong."""

    details: Details
    document: Any = None
    text: str | None = None
    mode: str = "fields"
    defects: list[Defect] | None = None
    refusal: HermesError | None = None
    focus: str = ""
    status: int = 200


def edit(request: HttpRequest, principal: Principal, design: Design | None, *, beginning: Any, note: str = "") -> HttpResponseBase:
    """Show a draft that begins with `beginning`, or do what the form asks."""
    if request.method != "POST":
        return page(request, principal, design, Draft(Details.of(design, principal=principal, note=note), beginning))
    draft = Draft(Details(request.POST, principal=principal, new=design is None), mode=request.POST.get("mode", "fields"))
    try:
        refuse_unknown(request.POST)
        draft.document = document_of(request.POST)
        saved = _do(request, principal, design, draft)
    except HermesError as refusal:
        _refused(request, draft, refusal)
        return page(request, principal, design, draft)
    if saved is None:
        return page(request, principal, design, draft)
    messages.success(request, f"{saved.design.slug}: version {saved.number} is saved.")
    step = "start" if request.POST["action"] == SAVE_AND_START else "change"
    return redirect(f"admin:hermes_workflow_design_{step}", saved.design.pk)


def _refused(request: HttpRequest, draft: Draft, refusal: HermesError) -> None:
    """Keep all that was typed, and say what is wrong where it is."""
    draft.status, draft.refusal = refusal.status, refusal
    draft.defects = refusal.extra.get("defects")
    if draft.document is None:
        draft.mode, draft.text = "json", request.POST.get("document") or request.POST.get("source", "")
    draft.details.refuse(refusal.msg)


def _do(request: HttpRequest, principal: Principal, design: Design | None, draft: Draft) -> DesignVersion | None:
    action = request.POST.get("action", SAVE)
    if action in (SAVE, SAVE_AND_START):
        return _save(principal, design, draft)
    verb, _, rest = action.partition(":")
    if verb == "check":
        return None
    if verb == "tab" and rest in ("fields", "json"):
        draft.mode = rest
        return None
    if not typed(design, draft.document):
        raise Malformed("nodes: this draft can only be edited as JSON")
    draft.document, at = _moved(draft.document, verb, rest)
    draft.focus = "" if at is None else f"node-{at}"
    return None


def _moved(document: Any, verb: str, rest: str) -> tuple[Any, int | None]:
    kind, _, place = rest.partition(":")
    count = len(document["nodes"])
    if verb == "add" and kind in KINDS and (place == "" or _index(place, count) is not None):
        return moves.add(document, kind, below=_index(place, count))
    at = _index(rest, count)
    if at is None:
        raise Malformed(f"action: there is nothing like {shorten(f'{verb}:{rest}')}")
    if verb == "remove":
        return moves.remove(document, at), None
    if verb in ("up", "down"):
        return moves.shift(document, at, 1 if verb == "down" else -1)
    if verb == "kind":
        return document, at
    raise Malformed(f"action: there is nothing like {shorten(verb)}")


def _index(text: str, count: int) -> int | None:
    return int(text) if NUMBER.match(text) and int(text) < count else None


def _save(principal: Principal, design: Design | None, draft: Draft) -> DesignVersion:
    details = draft.details
    if not details.is_valid():
        draft.defects = check_document(principal, dialect_of(design), draft.document)
        raise Malformed("some of what is asked for below is missing or not right", defects=draft.defects)
    chosen = dict(details.cleaned_data)
    name = chosen.pop("name") if design is None else design.slug
    return save_design(
        principal=principal, name=name, dialect=dialect_of(design), document=draft.document, create_only=design is None, **chosen
    )


def dialect_of(design: Design | None) -> str:
    """What the draft of a design is written in; a new one is a graph of the six kinds."""
    return design.dialect if design else Design.Dialect.DESIGN


def typed(design: Design | None, document: Any) -> bool:
    """Whether the document is shown as typed fields; other dialects are edited as JSON."""
    return dialect_of(design) == Design.Dialect.DESIGN and has_fields(document)


def page(request: HttpRequest, principal: Principal, design: Design | None, draft: Draft) -> TemplateResponse:
    """The page of a draft."""
    from django.contrib import admin

    fields = draft.mode == "fields" and draft.text is None and typed(design, draft.document)
    defects = _defects(principal, design, draft)
    offer = _offer(principal)
    shown = sheet(draft.document, defects, offer) if fields else Sheet(summary=tuple({**d, "anchor": "document"} for d in defects))
    current = design.current.number if design and design.current else None
    context = {
        **admin.site.each_context(request),
        "title": design.slug if design else "New design",
        "design": design,
        "original": design,
        "current": current,
        "next": (current or 0) + 1,
        "details": draft.details,
        "mode": "fields" if fields else "json",
        "typed": dialect_of(design) == Design.Dialect.DESIGN,
        "source": dumps(draft.document) if fields else "",
        "text": draft.text if draft.text is not None else pretty(draft.document),
        "sheet": shown,
        "kinds": KINDS,
        "people": offer.people,
        "models": offer.models,
        "refusal": draft.refusal,
        "stale": draft.refusal if isinstance(draft.refusal, Stale) else None,
        "focus": draft.focus,
        "opts": Design._meta,
        "back": reverse("admin:hermes_workflow_design_changelist"),
    }
    return TemplateResponse(request, "admin/designs/editor.html", context, status=draft.status)


def _defects(principal: Principal, design: Design | None, draft: Draft) -> list[Defect]:
    if draft.defects is not None or draft.text is not None:
        return draft.defects or []
    try:
        return check_document(principal, dialect_of(design), draft.document)
    except HermesError as refusal:
        return [{"node": "", "field": "document", "msg": refusal.msg}]


def _offer(principal: Principal) -> Offer:
    users = User.objects.filter(is_active=True).order_by("username")[:MOST_PEOPLE]
    people = [(f"user:{user.username}", user.get_full_name()) for user in users]
    people += [(f"group:{name}", "group") for name in Group.objects.order_by("name").values_list("name", flat=True)[:MOST_PEOPLE]]
    profiles = list(profiles_for(principal)[:MOST_PEOPLE])
    models = [(model, profile.name) for profile in profiles for model in offered(profile, live=False).models]
    return Offer(tuple(profile.name for profile in profiles), settings.HERMES_DEFAULT_PROFILE, tuple(people), tuple(models))
