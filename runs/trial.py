"""One real call of a profile's performer, to see what comes back: there is no run, and nothing is recorded."""

import logging
import secrets
import time
from dataclasses import dataclass

from hermes_workflow.core.failures import hint_for
from hermes_workflow.models import Profile
from runs import assignments, engine
from runs.assignments import PERFORMERS, Unperformed
from runs.performers import Performing
from runs.seams.base import Again, Assignment, Failed, Performed, Stoppable

logger = logging.getLogger(__name__)

SECONDS = 30.0
PROMPT = "Answer with one short sentence that says you are ready. We guarantee a reply by 1 March 2027."


@dataclass(frozen=True, slots=True)
class Tried:
    """What came back, and how long that took."""

    outcome: Performed | Failed | Unperformed
    seconds: float


def try_out(profile: Profile, *, prompt: str = PROMPT, seconds: float = SECONDS) -> Tried:
    """Call the performer once, for `seconds` at most."""
    assert engine.outside_transactions(), "a seam is never called inside a transaction"
    found = Performing.of(profile)
    began = time.monotonic()
    if found.performer == Profile.Performer.NONE:
        return Tried(Unperformed(f"profile {found.profile} has no performer"), 0.0)
    outcome = assignments.refused(found, "") or _called(found, prompt, until=began + seconds)
    return Tried(outcome, time.monotonic() - began)


def _called(found: Performing, prompt: str, *, until: float) -> Performed | Failed:
    performer, ref = PERFORMERS[found.performer], ""
    name = secrets.token_hex(8)
    try:
        while (left := until - time.monotonic()) > 0:
            given = _assignment(found, prompt, name, seconds=left, ref=ref)
            outcome = performer.perform(given, cancelled=lambda: time.monotonic() >= until)
            if not isinstance(outcome, Again):
                return outcome
            ref = outcome.ref
            time.sleep(max(0.0, min(outcome.after, until - time.monotonic())))
        if ref and isinstance(performer, Stoppable):
            performer.stop(found.settings, ref)
        return Failed("timeout", "the performer is still at work and was told to stop", hint_for("timeout"))
    except Exception as error:
        logger.exception("the performer of profile %s failed its test", found.profile)
        return Failed("internal", f"{type(error).__name__}: {error}"[:500], hint_for("internal"))


def _assignment(found: Performing, prompt: str, name: str, *, seconds: float, ref: str) -> Assignment:
    return Assignment(
        run_id=f"test-{name}",
        node_id="test",
        number=1,
        prompt=prompt,
        input={"text": prompt},
        profile=found.profile,
        model=found.model,
        correlation_id=f"workflow:test-{name}:test",
        idempotency_key=f"workflow:test-{name}:test:1",
        timeout_seconds=seconds,
        ref=ref,
        settings=found.settings,
    )
