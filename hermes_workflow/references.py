"""What a document names outside itself: profiles, people, channels and times must exist, and who is asked must be able to answer."""

from collections.abc import Iterator
from typing import Any

from django.contrib.auth.models import Group, User
from django.db.models import Q, QuerySet

from hermes_workflow import schedules
from hermes_workflow.channels import target_fault
from hermes_workflow.dialects.defects import Defect, defect
from hermes_workflow.models import Channel, Profile
from hermes_workflow.rights import Principal, profiles_for, readers_of

Asked = tuple[str, str, str]


def defects_of(principal: Principal, document: Any, profile: Profile | None) -> list[Defect]:
    """A defect for each name that means nothing here; with the profile of the design also for each that could never answer in it."""
    nodes = document["nodes"]
    return [*_profiles(principal, nodes), *_people(list(_asked(nodes)), profile), *_targets(nodes), *_times(nodes)]


def _times(nodes: list[dict[str, Any]]) -> Iterator[Defect]:
    for node in nodes:
        if node.get("type") == "trigger":
            if node.get("cron") and (fault := schedules.cron_fault(node["cron"])):
                yield defect(node["id"], "cron", fault)
            if node.get("timezone") and (fault := schedules.zone_fault(node["timezone"])):
                yield defect(node["id"], "timezone", fault)


def _targets(nodes: list[dict[str, Any]]) -> Iterator[Defect]:
    sending = [node for node in nodes if node.get("type") == "output" and node.get("deliver") == "channel"]
    channels = {found.platform: found for found in Channel.objects.all()} if sending else {}
    for node in sending:
        if fault := target_fault(node["target"], channels):
            yield defect(node["id"], "target", fault, node["target"])


def _profiles(principal: Principal, nodes: list[dict[str, Any]]) -> Iterator[Defect]:
    known = set(profiles_for(principal).values_list("name", flat=True))
    for node in nodes:
        if node.get("type") == "agent" and node.get("profile") and node["profile"] not in known:
            yield defect(node["id"], "profile", "must be a profile that you belong to", node["profile"])


def _asked(nodes: list[dict[str, Any]]) -> Iterator[Asked]:
    """Node, field and name of whom the gates ask."""
    for node in nodes:
        if node.get("type") == "approval":
            yield from ((node["id"], "assignees", who) for who in node.get("assignees") or [])
            if node.get("escalate_to"):
                yield node["id"], "escalate_to", node["escalate_to"]


def _people(asked: list[Asked], profile: Profile | None) -> Iterator[Defect]:
    names = {who for _, _, who in asked}
    known = _existing(names)
    able = _able(known, profile) if profile else known
    for node, field, who in asked:
        if who not in known:
            yield defect(node, field, "no such user or group", who)
        elif profile and who not in able:
            accepted = f"must be, or hold, somebody with a role who belongs to the profile {profile.name}"
            yield defect(node, field, accepted, who)


def _existing(names: set[str]) -> set[str]:
    return _named(User.objects.filter(username__in=_of("user", names)), Group.objects.filter(name__in=_of("group", names)))


def _able(names: set[str], profile: Profile) -> set[str]:
    """Who may answer at a gate of the profile; a group that nobody is in yet may still get somebody."""
    readers = readers_of(profile)
    groups = Group.objects.filter(Q(user__in=readers) | Q(user=None), name__in=_of("group", names))
    return _named(readers.filter(username__in=_of("user", names)), groups)


def _of(kind: str, names: set[str]) -> list[str]:
    return [name.partition(":")[2] for name in names if name.startswith(f"{kind}:")]


def _named(users: QuerySet[User], groups: QuerySet[Group]) -> set[str]:
    found = {f"user:{name}" for name in users.values_list("username", flat=True)}
    return found | {f"group:{name}" for name in groups.values_list("name", flat=True)}
