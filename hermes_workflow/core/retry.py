"""What follows a failed try: another one, one spare one after a rate limit, or giving up."""

from typing import Any

from hermes_workflow.core import events as e
from hermes_workflow.core.events import Event
from hermes_workflow.core.plan import Policy, Step
from hermes_workflow.core.states import StepState

RATE_LIMIT_WAIT = 15.0  # seconds; a longer Retry-After wins
LONGEST_WAIT = 3600.0  # seconds; a provider cannot park a run for longer


def after_failure(policy: Policy, step: Step, state: StepState) -> Event:
    """At most retries + 1 tries; a rate-limited step gets one more, once, and each rate-limited retry waits."""
    assert state.failure is not None
    limited = state.failure.get("kind") == "rate_limited"
    budget = step.spec.get("retries", 0) + 1 + policy.spare_tries
    extra = state.tries >= budget
    if extra and (not limited or state.spared):
        return Event(e.STEP_GAVE_UP, step.id, _told(state.failure))
    data: dict[str, Any] = {"number": state.number + 1, "kind": step.kind}
    if limited:
        data["delay"] = min(max(RATE_LIMIT_WAIT, state.failure.get("retry_after") or 0), LONGEST_WAIT)
    if extra:
        data["extra"] = True
    return Event(e.STEP_SCHEDULED, step.id, data)


def _told(failure: dict[str, Any]) -> dict[str, Any]:
    return {name: failure[name] for name in ("msg", "kind", "hint") if failure.get(name)}
