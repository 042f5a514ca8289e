"""The calls of a Hermes Agent's run API, each short, each answered with a document or a reason why there is none."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx2

from hermes_workflow.core.documents import read_json
from hermes_workflow.core.errors import HermesError
from runs.seams import http, http_faults
from runs.seams.answers import MSG_CHARS, Unusable
from runs.seams.base import Assignment
from runs.seams.hermes_agent import HermesAgent
from runs.seams.hermes_ref import RUN_ID

CALL_SECONDS = 20.0
AROUND_OUTPUT = 262_144  # bytes of an answer besides the output
GONE = frozenset({404, 409, 410})


def never() -> bool:
    """Not cancelled: a call that changes something is brought to its end."""
    return False


@dataclass(frozen=True, slots=True)
class Calls:
    """An agent's run API, spoken to for one step."""

    agent: HermesAgent
    correlation_id: str = ""

    def start(self, body: Mapping[str, Any], idempotency_key: str) -> str:
        """Start a run, or find the one that this key started before; its id. Raises Unusable."""
        document = self._document("POST", "", json=dict(body), headers={"Idempotency-Key": http.header_text(idempotency_key)})
        run_id = document.get("run_id")
        if not isinstance(run_id, str) or not RUN_ID.fullmatch(run_id):
            raise Unusable("invalid_output", "no_run_id", "the Hermes Agent did not say which run it started")
        return run_id

    def read(self, run_id: str, cancelled: Callable[[], bool]) -> dict[str, Any]:
        """The run as it stands. Raises Unusable."""
        return self._document("GET", f"/{run_id}", cancelled=cancelled)

    def approve(self, run_id: str, body: Mapping[str, Any]) -> None:
        """Answer a question about a tool; one that is answered already is none. Raises Unusable."""
        reply, _ = self._reply("POST", f"/{run_id}/approval", json=dict(body))
        if reply.status not in GONE:
            self._accepted(reply)

    def stop(self, run_id: str) -> bool:
        """Ask it to stop. Whether it heard that, or has nothing to stop."""
        try:
            reply, _ = self._reply("POST", f"/{run_id}/stop", json={})
        except Unusable:
            return False
        return 200 <= reply.status < 300 or reply.status in GONE

    def headers(self) -> dict[str, str]:
        """Who asks, for which step."""
        return {"Authorization": f"Bearer {self.agent.key}", "X-Hermes-Session-Key": http.header_text(self.correlation_id or "workflow")}

    def _document(self, method: str, path: str, **more: Any) -> dict[str, Any]:
        reply, leash = self._reply(method, path, **more)
        self._accepted(reply)
        try:
            found = read_json(reply.body, limit=leash.body)
        except HermesError as error:
            raise Unusable("invalid_output", "invalid_json", f"the Hermes Agent's answer is not JSON: {error.msg}"[:MSG_CHARS]) from error
        if not isinstance(found, dict):
            raise Unusable("invalid_output", "invalid_response", "the Hermes Agent's answer is not a JSON object")
        return found

    def _accepted(self, reply: http.Reply) -> None:
        if not 200 <= reply.status < 300:
            raise http_faults.of_status(reply.status, reply.headers, reply.body)

    def _reply(
        self, method: str, path: str, *, cancelled: Callable[[], bool] = never, headers: Mapping[str, str] | None = None, **more: Any
    ) -> tuple[http.Reply, http.Leash]:
        leash = http.Leash.of(CALL_SECONDS, cancelled=cancelled, body=self.agent.output_bytes + AROUND_OUTPUT)
        leash.line = leash.body
        try:
            with http.client(leash, headers={**self.headers(), **(headers or {})}) as caller:
                return http.exchange(caller, method, f"{self.agent.runs_url}{path}", **more), leash
        except (http.LetGo, httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise http_faults.of_call(error, leash) from error


def question(assignment: Assignment, agent: HermesAgent, asked: str) -> dict[str, Any]:
    """The body that starts a run: the same for every try under one key, or the agent sees a conflict."""
    body: dict[str, Any] = {"input": asked}
    if instructions := "\n\n".join(filter(None, (agent.instructions, assignment.system))):
        body["instructions"] = instructions
    if assignment.model:
        body["model"] = assignment.model
    return body
