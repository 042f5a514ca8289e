"""Changing designs: every door saves through here, and a refusal changes nothing."""

import re
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from hermes_workflow import programs, references, triggers
from hermes_workflow.core.documents import check_value, digest
from hermes_workflow.core.errors import Conflict, Invalid, Malformed, NotFound, Stale
from hermes_workflow.core.text import shorten
from hermes_workflow.dialects.defects import Defect
from hermes_workflow.models import Design, DesignVersion, Profile
from hermes_workflow.rights import Principal, profiles_for

SLUG = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}\Z")
RESERVED = frozenset({"validate", "retry"})
TITLE_LIMIT, NOTE_LIMIT = 200, 500


def check_slug(name: Any) -> str:
    """The name, if it may be a design's. Raises Malformed."""
    if not isinstance(name, str) or not SLUG.match(name):
        shape = "1 to 64 of a-z, 0-9, dot, dash and underscore, starting with a letter or digit"
        raise Malformed(f"name: must be {shape}, got {shorten(name)}")
    if name in RESERVED:
        raise Malformed(f"name: {name} is reserved")
    return name


def check_document(principal: Principal, dialect: str, document: Any, profile: Profile | None = None) -> list[Defect]:
    """Every defect: of the rulebook, and of names that mean nothing here, or nobody who could answer in the design's profile."""
    check_value(document)
    found = programs.defects_of(dialect, document)
    return found or (references.defects_of(principal, document, profile) if dialect == "design" else [])


def save_design(
    *,
    principal: Principal,
    name: str,
    document: Any,
    dialect: str = "design",
    title: str | None = None,
    description: str | None = None,
    note: str = "",
    profile: str | None = None,
    base_version: int | None = None,
    create_only: bool = False,
    separate_duties: bool | None = None,
) -> DesignVersion:
    """Save a new version, creating the design if it is new.

    Raises Malformed, Forbidden, Invalid (with `defects`), Conflict (it exists and `create_only`), Stale (`base_version` is not the
    current one).
    """
    principal.require("design")
    check_slug(name)
    performing = _present_profile(principal, name, profile)
    defects = check_document(principal, dialect, document, performing)
    defects = defects or list(triggers.defects_of(name, document))
    if defects:
        raise Invalid(f"{len(defects)} defect{'s' if len(defects) > 1 else ''} in the workflow", defects=defects)
    plan = programs.compile_document(dialect, document, profile=performing.name if performing else "")
    try:
        with transaction.atomic():
            design = _claim(principal, name, dialect, profile, create_only)
            if base_version is not None and (design.current is None or design.current.number != base_version):
                current = design.current.number if design.current else None
                raise Stale(f"{name} is at version {current}, not {base_version}", hint="load it again, then save", version=current)
            details = {"title": title, "description": description, "separate_duties": separate_duties}
            for field, value in details.items():
                if value is not None:
                    setattr(design, field, value)
            design.current = _new_version(principal, design, document, plan, note)
            design.save()
            triggers.follow(design, document, principal)
    except IntegrityError:
        raise Conflict(f"{name} was saved by somebody else at the same time", hint="load it again, then save") from None
    return design.current


def _present_profile(principal: Principal, name: str, wanted: str | None) -> Profile | None:
    """The profile that a design of this name has, or will have once it is saved; None when it may not be chosen."""
    if wanted is None and (design := Design.objects.filter(slug=name, deleted_at=None).select_related("profile").first()):
        return design.profile
    return profiles_for(principal).filter(name=wanted or settings.HERMES_DEFAULT_PROFILE).first()


def _claim(principal: Principal, name: str, dialect: str, profile: str | None, create_only: bool) -> Design:
    """The design, locked; made if it is new."""
    design = Design.objects.select_for_update(of=("self",)).select_related("current").filter(slug=name, deleted_at=None).first()
    if design is None:
        return Design.objects.create(slug=name, dialect=dialect, profile=_profile(principal, profile or settings.HERMES_DEFAULT_PROFILE))
    if design.profile_id not in principal.profile_ids:
        raise Conflict(f"{name} is taken", hint="choose another name") if create_only else NotFound(f"there is no design {name}")
    if create_only:
        raise Conflict(f"{name} exists already", hint="choose another name, or save a new version of it")
    if design.dialect != dialect:
        raise Conflict(f"{name} is a {design.dialect} workflow")
    if profile is not None:
        design.profile = _profile(principal, profile)
    return design


def _profile(principal: Principal, name: str) -> Profile:
    found = profiles_for(principal).filter(name=name).first()
    if found is None:
        raise Malformed(f"profile: must be one that you belong to, got {shorten(name)}")
    return found


def _new_version(principal: Principal, design: Design, document: Any, plan: Any, note: str) -> DesignVersion:
    return DesignVersion.objects.create(
        design=design,
        number=design.current.number + 1 if design.current else 1,
        document=document,
        digest=digest(document),
        plan=programs.store(plan),
        author=principal.user,
        note=note,
    )


def delete_design(*, principal: Principal, design: Design) -> None:
    """Hide a design and free its name; its runs and their history stay. Raises Forbidden, NotFound."""
    principal.require("design")
    if design.profile_id not in principal.profile_ids:
        raise NotFound(f"there is no design {design.slug}")
    with transaction.atomic():
        Design.objects.filter(pk=design.pk, deleted_at=None).update(deleted_at=timezone.now())
        triggers.forget(design)
