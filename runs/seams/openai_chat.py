"""Performing a step with a chat model behind any OpenAI-compatible endpoint: streamed, bounded, checked, mended once."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from hermes_workflow.core.errors import Malformed
from hermes_workflow.core.failures import hint_for
from runs.seams import http, http_faults, redaction
from runs.seams.answers import MSG_CHARS, Unusable, fitting
from runs.seams.base import Assignment, Failed, Outcome, Performed, Say, unheard
from runs.seams.http import Leash, LetGo
from runs.seams.openai_endpoint import Endpoint
from runs.seams.openai_stream import Heard, added, listen, refuse_bad_finish
from runs.seams.settings import secret

WIRE_PER_BYTE = 100  # a streamed token of four letters travels in some 300 bytes
WIRE_LEAST = 1_048_576


class OpenAIPerformer:
    """Asks the model of the profile or the step, and never a provider; a schema is asked for, checked, and gets one more try."""

    keeps_transcript = True

    def perform(self, assignment: Assignment, *, cancelled: Callable[[], bool], say: Say = unheard) -> Outcome:
        """The model's answer, or why there is none; the connection is closed when we return."""
        try:
            endpoint = Endpoint.read(assignment.settings)
        except Malformed as error:
            return Failed("performer_missing", error.msg, hint_for("performer_missing"))
        if missing := endpoint.missing():
            return Failed("auth", f"the environment variable {missing} is not set for this worker", hint_for("auth"))
        if not assignment.model:
            return Failed("model_unknown", "neither the step nor the profile names a model", hint_for("model_unknown"))
        room = max(WIRE_LEAST, endpoint.output_bytes * WIRE_PER_BYTE)
        leash = Leash.of(assignment.timeout_seconds, cancelled=cancelled, body=room, line=endpoint.output_bytes + WIRE_LEAST)
        return Conversation(endpoint, assignment, leash, say).outcome()


@dataclass(slots=True)
class Conversation:
    """One attempt: what was asked and heard so far."""

    endpoint: Endpoint
    assignment: Assignment
    leash: Leash
    say: Say
    usage: dict[str, int] = field(default_factory=dict)
    said: list[tuple[str, str]] = field(default_factory=list)
    id: str = ""
    model: str = ""
    request_id: str = ""

    def outcome(self) -> Outcome:
        """Whatever came of it."""
        try:
            value, structured = self._value()
        except Unusable as unusable:
            return self._failed(unusable)
        return Performed(
            value,
            structured,
            provenance={name: told for name, told in self._origin().items() if told},
            usage=self.usage,
            session=self.id,
            said=tuple(self.said),
        )

    def _value(self) -> tuple[Any, bool]:
        """The answer, after one repair where the first does not fit the schema. Raises Unusable."""
        asked = self._opening()
        text = self._ask(asked, self.assignment.idempotency_key)
        if self.assignment.schema is None:
            return text, False
        try:
            return fitting(text, self.assignment.schema, self.endpoint.output_bytes), True
        except Unusable as unfit:
            if not unfit.mendable:
                raise
            mending = f"That is no valid answer: {unfit.msg}. Answer again, with the corrected JSON and nothing else."
        self.said = [("assistant", text), ("user", mending)]
        self.say("\n\n")
        again = [*asked, {"role": "assistant", "content": text}, {"role": "user", "content": mending}]
        text = self._ask(again, f"{self.assignment.idempotency_key}:repair")
        try:
            return fitting(text, self.assignment.schema, self.endpoint.output_bytes), True
        except Unusable:
            self.said.append(("assistant", text))
            raise

    def _opening(self) -> list[dict[str, str]]:
        """The messages of the first request."""
        prompt = self.assignment.rendered
        if self.assignment.schema is not None and self.endpoint.structured != "json_schema":
            prompt += f"\n\nAnswer with JSON that fits this JSON Schema, and with nothing else:\n{json.dumps(self.assignment.schema)}"
        system = "\n\n".join(filter(None, (self.endpoint.system, self.assignment.system)))
        return [*([{"role": "system", "content": system}] if system else []), {"role": "user", "content": prompt}]

    def _ask(self, messages: list[dict[str, str]], key: str) -> str:
        """What the model says to that. Raises Unusable."""
        with self._events(self._body(messages), key) as events:
            heard = listen(events, limit=self.endpoint.output_bytes, say=self.say)
        self._remember(heard)
        try:
            refuse_bad_finish(heard)
        except Unusable:
            if heard.text:
                self.said.append(("assistant", heard.text))
            raise
        return heard.text

    def _body(self, messages: list[dict[str, str]]) -> dict[str, Any]:
        streamed = {"stream": True, "stream_options": {"include_usage": True}}
        return {"model": self.assignment.model, "messages": messages, **self.endpoint.options(), **self._format(), **streamed}

    def _format(self) -> dict[str, Any]:
        if self.assignment.schema is None or self.endpoint.structured == "none":
            return {}
        if self.endpoint.structured == "json_object":
            return {"response_format": {"type": "json_object"}}
        described = {"name": "answer", "schema": dict(self.assignment.schema)}
        return {"response_format": {"type": "json_schema", "json_schema": described}}

    @contextmanager
    def _events(self, body: Mapping[str, Any], key: str) -> Iterator[Any]:
        """The events of one streamed answer, closed afterwards whatever happens. Raises Unusable."""
        import openai  # takes half a second, which only those who use it shall wait for

        try:
            with http.client(self.leash) as caller:
                model = openai.OpenAI(
                    base_url=self.endpoint.base_url,
                    api_key=http_key(self.endpoint),
                    max_retries=0,
                    http_client=caller,
                )
                with model.post(
                    "/chat/completions",
                    cast_to=object,
                    body=body,
                    options={"headers": {**headers(self.endpoint), "Idempotency-Key": http.header_text(key)}},
                    stream=True,
                    stream_cls=openai.Stream[object],
                ) as events:
                    self.request_id = events.response.headers.get("x-request-id", "")[:MSG_CHARS]
                    yield events
        except openai.APIStatusError as error:
            self.request_id = error.response.headers.get("x-request-id", "")[:MSG_CHARS]
            raise http_faults.of_status(error.status_code, error.response.headers, content_of(error.response)) from error
        except (openai.APIConnectionError, LetGo) as error:
            raise http_faults.of_call(error.__cause__ or error, self.leash) from error
        except openai.APIError as error:
            raise streamed_error(error) from error
        except (ValueError, RecursionError) as error:  # JSON that is none, bytes that are no UTF-8
            raise Unusable("invalid_output", "invalid_event", "the endpoint streamed something that is no JSON") from error

    def _remember(self, heard: Heard) -> None:
        self.usage = added(self.usage, heard.usage)
        self.id, self.model = heard.id or self.id, heard.model or self.model

    def _origin(self) -> dict[str, str]:
        return {"model": self.model or self.assignment.model, "request_id": self.request_id, "id": self.id}

    def _failed(self, unusable: Unusable) -> Failed:
        """The failure as it is recorded: without key, prompt or headers."""
        private = [text for text in (self.assignment.rendered, self.assignment.prompt) if len(text) >= redaction.SHORTEST_TEXT]
        facts = {"endpoint": self.endpoint.host, "ms": round((time.monotonic() - self.leash.began) * 1000), **self._origin()}
        failed = http_faults.failed(unusable, hidden=[*self.endpoint.secrets(), *private], **facts)
        return Failed(
            failed.kind,
            failed.msg,
            failed.hint,
            failed.retry_after,
            failed.diagnostics,
            usage=self.usage,
            session=self.id,
            said=tuple(self.said),
        )


def http_key(endpoint: Endpoint) -> str:
    """The key; the library insists on one even where the endpoint wants none, and the header is left out then."""
    return secret(endpoint.api_key_env) or "none"


def headers(endpoint: Endpoint) -> dict[str, Any]:
    """The headers of every request; those that the library would take from this machine's environment are left out."""
    from openai import Omit

    kept_back: dict[str, Any] = {"OpenAI-Organization": Omit(), "OpenAI-Project": Omit()}
    if not endpoint.api_key_env:
        kept_back["Authorization"] = Omit()
    return {**kept_back, **{header: secret(name) for header, name in endpoint.headers}}


def content_of(response: Any) -> bytes:
    """The body of a refusal, as far as it was read."""
    try:
        return bytes(response.content)
    except Exception:  # the library's own errors for a body that was cut off
        return b""


def streamed_error(error: Any) -> Unusable:
    """A failure that the endpoint reports in the middle of its answer."""
    said = http_faults.words_in(json.dumps({"error": error.body}, default=str).encode())
    kind, _ = http_faults.kind_of(400, said)
    return Unusable(kind, "streamed_error", f"the endpoint broke off: {said}"[:MSG_CHARS])
