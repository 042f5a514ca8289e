"""Inbound webhooks: a trigger node names one, and who knows its secret may start the design with a signed call."""

import hashlib
import hmac
import os
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Q

from hermes_workflow.core.errors import HermesError
from hermes_workflow.core.text import shorten
from hermes_workflow.dialects.defects import Defect, defect
from hermes_workflow.models import Design, Hook
from hermes_workflow.rights import Principal

WINDOW = 300  # seconds that the caller's clock may be off
TIMESTAMP = re.compile(r"[0-9]{1,12}\Z")
SECRET_PREFIX = "HERMES_HOOK_"


class NotSigned(HermesError):
    """The signature or its time is not valid."""

    code = "unauthenticated"
    status = 401


def secret_env_of(slug: str) -> str:
    """The environment variable that holds the secret of a webhook, unless an admin names another."""
    return SECRET_PREFIX + re.sub(r"[^A-Z0-9]", "_", slug.upper())


def secret_of(hook: Hook) -> str:
    """The secret as this process has it; empty when it has none."""
    return os.environ.get(hook.secret_env, "")


def hook_at(slug: str) -> Hook | None:
    """The webhook of an address; None when nothing may be started there: unknown, switched off, or without a secret."""
    found = Hook.objects.filter(slug=slug, enabled=True, design__deleted_at=None).select_related(
        "owner", "design__profile", "design__current"
    )
    hook = found.first()
    return hook if hook and hook.design.current and secret_of(hook) else None


def of_design(design: Design) -> list[Hook]:
    """The webhooks of a design, as its page shows them."""
    return list(design.hooks.select_related("owner", "design"))


def problem_of(hook: Hook) -> str:
    """Why a call would start nothing now; empty when it would."""
    if not hook.enabled:
        return "it is switched off"
    if not secret_of(hook):
        return f"{hook.secret_env} is not set in this web process"
    if hook.owner is None:
        return "its runs belong to nobody: save the design again"
    return "" if may_start(hook.owner, hook.design) else f"{hook.owner.get_username()}, whose runs they would be, may not start this design"


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """Hex HMAC-SHA256 over `<timestamp>.<body>`."""
    return hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def check_signature(hook: Hook, *, timestamp: str, given: str, body: bytes, now: datetime) -> None:
    """Raises NotSigned: whether it was the key or the bytes is not told, and the time is looked at last."""
    if not TIMESTAMP.match(timestamp):
        raise NotSigned("X-Webhook-Timestamp: must be the time in whole seconds since 1970")
    right = signature(secret_of(hook), timestamp, body)
    if not hmac.compare_digest(right.encode(), given.encode("utf-8", "replace")):
        raise NotSigned("X-Webhook-Signature-V2: is not the signature of this body at this time")
    if abs(now.timestamp() - int(timestamp)) > WINDOW:
        raise NotSigned(f"X-Webhook-Timestamp: must be within {WINDOW} seconds of now", hint="sign the call anew, and check the clock")


def trigger_of(document: Any) -> dict[str, Any]:
    """The trigger node of a design's document; empty when there is none."""
    nodes = document.get("nodes") if isinstance(document, dict) else None
    return next((node for node in nodes or [] if isinstance(node, dict) and node.get("type") == "trigger"), {})


def defects_of(name: str, document: Any) -> Iterator[Defect]:
    """A webhook starts one design: the slug is not taken by another, nor so alike that they would share a secret."""
    node = trigger_of(document)
    slug = node.get("hook")
    if slug and _others(name, slug).exists():
        yield defect(node["id"], "hook", f"is taken by another design: {shorten(slug)}")


def _others(name: str, slug: str) -> Any:
    alike = Hook.objects.filter(Q(slug=slug) | Q(secret_env=secret_env_of(slug)))
    return alike.exclude(design__in=Design.objects.filter(slug=name, deleted_at=None))


def follow(design: Design, document: Any, author: User) -> None:
    """Let the design have the webhook that its trigger names, and no other. What an admin set of it stays while the slug does.

    Runs belong to whoever saved the design when the webhook was new, or to `author` once that person may not start it any more.
    """
    node = trigger_of(document)
    slug = node.get("hook") or ""
    Hook.objects.filter(design=design).exclude(slug=slug).delete()
    if not slug:
        return
    hook = Hook.objects.filter(design=design).select_related("owner").first()
    if hook is None:
        Hook.objects.create(design=design, node_id=node["id"], slug=slug, owner=author, secret_env=secret_env_of(slug))
        return
    hook.node_id = node["id"]
    if not may_start(hook.owner, design):
        hook.owner = author
    hook.save(update_fields=["node_id", "owner"])


def may_start(owner: User | None, design: Design) -> bool:
    """Whether runs may begin in this person's name now."""
    if owner is None:
        return False
    who = Principal(owner)
    return who.may("start") and design.profile_id in who.profile_ids
