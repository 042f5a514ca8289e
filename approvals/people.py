"""The people of a gate as the database knows them now: who a principal is to the policy, and who could still answer."""

from django.conf import settings
from django.db.models import Q

from approvals.policy import Asked, Person, barred_by_duties, refusal
from hermes_workflow.rights import MAY, Principal, readers_of
from runs.models import Gate, Run


def person_of(principal: Principal) -> Person:
    """The principal, with groups and profiles as they are at this request."""
    reviews = principal.profile_ids if principal.may("answer") else frozenset()
    named = {f"user:{principal.id}", *(f"group:{group_id}" for group_id in principal.groups)}
    return Person(
        id=principal.id,
        audiences=frozenset(named | {f"profile:{profile_id}" for profile_id in reviews}),
        performs=principal.may("perform"),
        is_bot=principal.is_bot,
        is_active=principal.user.is_active,
    )


def asked_of(gate: Gate) -> Asked:
    """What the gate asks, and of whom."""
    audiences = frozenset(row.audience for row in gate.audiences.all())
    named = [*gate.rules.get("assignees", ())]
    if gate.escalated_at and gate.rules.get("escalate_to"):
        named.append(gate.rules["escalate_to"])
    return Asked(kind=gate.kind, audiences=audiences, named=tuple(dict.fromkeys(named)), barred=barred(gate))


def barred(gate: Gate) -> dict[int, str]:
    """Whom separation of duties keeps from this gate; nobody where the switch is off."""
    if gate.kind == Gate.Kind.AGENT:
        return {}
    run = Run.objects.filter(pk=gate.run_id).values_list("design__separate_duties", "started_by_id", "version__author_id")
    of_design, started_by, author = run.get()
    return barred_by_duties(started_by=started_by, author=author) if of_design or settings.HERMES_SEPARATE_DUTIES else {}


def sees(principal: Principal, gate: Gate) -> bool:
    """Whether the gate exists for this principal: being named does not open a profile."""
    return principal.may("read") and gate.profile_id in principal.profile_ids


def refusal_of(principal: Principal, gate: Gate) -> str:
    """Why the principal may not answer the gate; empty when they may."""
    if not sees(principal, gate):
        return "this person does not belong to the profile of the run"
    return refusal(person_of(principal), asked_of(gate))


def eligible(gate: Gate) -> set[int]:
    """Everybody who may answer the gate now, voters included."""
    asked = asked_of(gate)
    meant = Q(pk__in=())
    for audience in asked.audiences:
        meant |= _meant(audience)
    return set(readers_of(gate.profile).filter(meant).values_list("pk", flat=True)) - asked.barred.keys()


def _meant(audience: str) -> Q:
    kind, _, row_id = audience.partition(":")
    if kind == "user":
        return Q(pk=row_id)
    return Q(groups=row_id) if kind == "group" else Q(is_superuser=True) | Q(groups__name__in=MAY["answer"])
