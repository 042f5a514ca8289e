"""What of a plan lies below given steps, and the plan that begins at them."""

from collections.abc import Iterable
from dataclasses import replace

from hermes_workflow.core.plan import Plan


def below(plan: Plan, keys: Iterable[str]) -> set[str]:
    """The steps that can be reached from `keys`, these included."""
    found = dict.fromkeys(keys)
    reached = list(found)
    for key in reached:  # grows while it is read
        fresh = [edge.target for edge in plan.children[key] if edge.target not in found]
        found.update(dict.fromkeys(fresh))
        reached.extend(dict.fromkeys(fresh))
    return set(found)


def starting_at(plan: Plan, keys: Iterable[str]) -> Plan:
    """The part of `plan` that runs when it is started at `keys`: what they reach, and only the edges within."""
    kept = below(plan, keys)
    return replace(
        plan,
        steps=tuple(step for step in plan.steps if step.id in kept),
        edges=tuple(edge for edge in plan.edges if edge.target in kept and edge.source in kept | {plan.trigger}),
    )


def known_starts(plan: Plan, wanted: Iterable[object]) -> list[str]:
    """Those of `wanted` that are steps of `plan`, each once, in the order they were asked for."""
    return list(dict.fromkeys(key for key in wanted if isinstance(key, str) and key in plan.step))
