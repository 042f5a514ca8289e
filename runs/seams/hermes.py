"""Performing a step with a Hermes Agent: a run over there, started once under the step's key and looked after in short visits."""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hermes_workflow.core.errors import Malformed
from hermes_workflow.core.failures import hint_for
from runs.seams import hermes_answers, http_faults, redaction
from runs.seams.answers import Unusable
from runs.seams.base import Again, Assignment, Failed, Outcome, Say, unheard
from runs.seams.hermes_agent import DENY, EVENTS, HermesAgent
from runs.seams.hermes_calls import Calls, question
from runs.seams.hermes_events import listen
from runs.seams.hermes_ref import Ref

logger = logging.getLogger(__name__)

AT_WORK = frozenset({"queued", "started", "running", "stopping"})
LISTEN_SECONDS = 60.0  # at a time: a question that was asked before we listened would be waited for
SLOW_POLL = 15.0  # seconds between two visits of a run that has been at work for long
SLOWER_WITH = 20  # an older run is visited after this fraction of its age
DEFINITE = frozenset({"auth", "rate_limited", "model_unknown", "context_overflow", "cancelled_by_owner", "output_too_large"})
NOT_STARTED = frozenset({"connect", "address"})


class HermesPerformer:
    """Each claim is one visit: start the run, or look how far it is. In between no worker is held, for hours if need be."""

    keeps_transcript = True

    def perform(self, assignment: Assignment, *, cancelled: Callable[[], bool], say: Say = unheard) -> Outcome:
        """The agent's answer, why there is none, or when to look again."""
        try:
            agent = HermesAgent.read(assignment.settings)
        except Malformed as error:
            return Failed("performer_missing", error.msg, hint_for("performer_missing"))
        if agent.missing():
            msg = f"the environment variable {agent.api_key_env}, which holds the key of the Hermes Agent, is not set"
            return Failed("auth", msg, hint_for("auth"))
        ref = Ref.read(assignment.ref) or Ref("", time.time() + assignment.timeout_seconds)
        return Visit(agent, assignment, ref, cancelled, say).outcome()

    def stop(self, settings: Mapping[str, Any], ref: str) -> bool:
        """Tell the agent to stop the run; True as well when there is none, or no agent, to be told."""
        known = Ref.read(ref)
        try:
            agent = HermesAgent.read(settings)
        except Malformed:
            return True
        return not (known and known.run_id) or (not agent.missing() and Calls(agent).stop(known.run_id))


@dataclass(slots=True)
class Visit:
    """One look at one step's run; `run` is the document that was read last."""

    agent: HermesAgent
    assignment: Assignment
    ref: Ref
    cancelled: Callable[[], bool]
    say: Say
    run: dict[str, Any] = field(default_factory=dict)

    @property
    def calls(self) -> Calls:
        """The agent, spoken to for this step."""
        return Calls(self.agent, self.assignment.correlation_id)

    def outcome(self) -> Outcome:
        """What the visit found."""
        try:
            return self.follow() if self.ref.run_id else self.begin()
        except Unusable as unusable:
            return self.failed(unusable)

    def begin(self) -> Outcome:
        """Start the run. While it is in doubt whether that worked, the same key is sent again: it starts nothing twice."""
        if self.cancelled():
            raise Unusable("cancelled_by_owner", "cancelled", "the work is no longer wanted")
        body = question(self.assignment, self.agent, hermes_answers.asked(self.assignment))
        try:
            run_id = self.calls.start(body, self.assignment.idempotency_key)
        except Unusable as unusable:
            if unusable.code == "http_409":
                unusable.msg = f"the Hermes Agent did other work under the key of this step: {unusable.msg}"
            if not doubtful(unusable) or unusable.code in NOT_STARTED or unusable.code.startswith(("http_3", "http_4")):
                raise
            return self.troubled(unusable)
        return self.later(self.ref.named(run_id), self.agent.poll_seconds)

    def follow(self) -> Outcome:
        """Look how far the run is, and listen to it for a while if the profile wants that."""
        try:
            self.read()
            if self.agent.mode == EVENTS and self.run.get("status") in AT_WORK and self.left > 0:
                listen(self.calls, self.ref.run_id, min(LISTEN_SECONDS, self.left), self.cancelled, self.say, self.answer)
                self.read()
        except Unusable as unusable:
            if unusable.code == "http_404":
                raise Unusable("performer_failed", "unknown_run", f"the Hermes Agent does not know the run {self.ref.run_id}") from None
            if unusable.kind == "rate_limited" and self.left > 0:
                return self.later(self.ref, max(unusable.retry_after or 0.0, self.agent.poll_seconds))
            if not doubtful(unusable):
                raise
            return self.troubled(unusable)
        return self.told(self.run)

    def read(self) -> None:
        """The run as it stands. Raises Unusable."""
        self.run = self.calls.read(self.ref.run_id, self.cancelled)

    @property
    def left(self) -> float:
        """Seconds until the step's deadline."""
        return self.ref.deadline - time.time()

    def told(self, run: dict[str, Any]) -> Outcome:
        """What the run's status means."""
        match run.get("status"):
            case "completed":
                return hermes_answers.performed(run, self.assignment, self.agent.output_bytes)
            case "failed":
                raise hermes_answers.refusal(run)
            case "cancelled":
                raise Unusable("performer_failed", "cancelled_there", "the run was cancelled at the Hermes Agent")
            case "interrupted":
                raise Unusable("performer_failed", "interrupted", "the Hermes Agent was restarted during the run")
            case "waiting_for_approval" if self.left > 0:
                return self.asked(run.get("approval"))
            case "waiting_for_approval":
                return self.overdue()
            case status if status in AT_WORK:
                return self.later(self.ref.well(), self.pace()) if self.left > 0 else self.overdue()
        return self.troubled(Unusable("invalid_output", "status", "the Hermes Agent's run has no status that is known here"))

    def asked(self, approval: Any) -> Outcome:
        """A question about a tool is answered for this one time, as the profile says, and never for the session or for ever."""
        try:
            self.answer(approval if isinstance(approval, dict) else {})
        except Unusable as unusable:
            if not doubtful(unusable):
                raise
            return self.troubled(unusable)
        return self.later(self.ref.well(), self.agent.poll_seconds)

    def answer(self, approval: Mapping[str, Any]) -> None:
        """Send the answer. Raises Unusable."""
        offered = approval.get("choices")
        allowed = self.agent.tool_approvals
        choice = allowed if not isinstance(offered, list) or allowed in offered else DENY
        request_id = approval.get("request_id")
        named = {"request_id": request_id} if isinstance(request_id, str) and request_id else {}
        self.calls.approve(self.ref.run_id, {"choice": choice, **named})
        logger.info("a tool of %s was answered with %s", self.assignment.correlation_id, choice)

    def overdue(self) -> Outcome:
        """The step's time is over: have the run stopped, insisting for a while where the agent does not hear."""
        if not self.calls.stop(self.ref.run_id) and -self.left < self.agent.patience_seconds:
            return self.later(self.ref, self.agent.poll_seconds)
        seconds = self.assignment.timeout_seconds
        raise Unusable("timeout", "timeout", f"the Hermes Agent took longer than {seconds:g} seconds and was told to stop")

    def troubled(self, unusable: Unusable) -> Outcome:
        """Not an answer, but perhaps the next one is: ask again, unless this has gone on for too long."""
        ref = self.ref.in_trouble(time.time())
        if time.time() < min(ref.troubled + self.agent.patience_seconds, ref.deadline):
            return self.later(ref, max(unusable.retry_after or 0.0, self.agent.poll_seconds))
        if ref.run_id:
            self.calls.stop(ref.run_id)
        raise unusable

    def pace(self) -> float:
        """Seconds to the next visit: the older the run, the more."""
        age = self.assignment.timeout_seconds - self.left
        return max(self.agent.poll_seconds, min(SLOW_POLL, age / SLOWER_WITH))

    def later(self, ref: Ref, after: float) -> Again:
        """Look again, and not much after the deadline."""
        return Again(max(0.0, min(after, max(self.left, self.agent.poll_seconds))), str(ref))

    def failed(self, unusable: Unusable) -> Failed:
        """The failure as it is recorded and shown: never the key, the prompt or a header."""
        asked = [text for text in (self.assignment.prompt, self.assignment.rendered) if len(text) >= redaction.SHORTEST_TEXT]
        found = http_faults.failed(unusable, hidden=[self.agent.key, *asked], host=self.agent.host, run=self.ref.run_id)
        session = hermes_answers.session_of(self.run) or self.ref.run_id
        return replace(found, usage=hermes_answers.usage_of(self.run), session=session)


def doubtful(unusable: Unusable) -> bool:
    """Whether asking again may bring another answer."""
    return unusable.kind not in DEFINITE
