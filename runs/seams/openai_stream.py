"""One streamed answer of a chat model, taken in piece by piece; whatever shape a piece has, it raises nothing but Unusable."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from runs.seams.answers import MSG_CHARS, Unusable
from runs.seams.base import Say

COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")
NAME_CHARS = 200


@dataclass(slots=True)
class Heard:
    """What was heard so far. `finish` is why the model stopped; "" means that it never said so."""

    text: str = ""
    refusal: str = ""
    finish: str = ""
    id: str = ""
    model: str = ""
    usage: dict[str, int] = field(default_factory=dict)

    def take(self, event: Any) -> str:
        """Take in one event and give back its text. Raises Unusable."""
        if not isinstance(event, dict):
            raise Unusable("invalid_output", "invalid_event", "the endpoint streamed something that is no event")
        self.id = named(event, "id") or self.id
        self.model = named(event, "model") or self.model
        self.usage = counts(event.get("usage")) or self.usage
        choices = event.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else {}
        if not isinstance(choice, dict):
            raise Unusable("invalid_output", "invalid_event", "the endpoint streamed a choice that is no object")
        self.finish = named(choice, "finish_reason") or self.finish
        return self._piece(choice.get("delta") or {})

    def _piece(self, delta: Any) -> str:
        content = delta.get("content") if isinstance(delta, dict) else delta
        if content is not None and not isinstance(content, str):
            raise Unusable("invalid_output", "invalid_event", "the endpoint streamed an answer that is no text")
        if isinstance(delta, dict) and isinstance(delta.get("refusal"), str):
            self.refusal += delta["refusal"][:MSG_CHARS]
        return content or ""


def listen(events: Iterable[Any], *, limit: int, say: Say) -> Heard:
    """The whole answer, of at most `limit` bytes. Raises Unusable."""
    heard, pieces, size = Heard(), [], 0
    for event in events:
        piece = heard.take(event)
        if not piece:
            continue
        size += len(piece.encode("utf-8", "replace"))
        if size > limit:
            raise Unusable("output_too_large", "output_exceeded", f"the answer passed {limit} bytes and was stopped")
        pieces.append(piece)
        say(piece)
    heard.text = "".join(pieces)
    return heard


def refuse_bad_finish(heard: Heard) -> None:
    """Only a model that came to its own end has answered. Raises Unusable."""
    if heard.refusal:
        raise Unusable("performer_failed", "refusal", f"the model refused: {heard.refusal}"[:MSG_CHARS])
    match heard.finish:
        case "":
            if heard.text:
                raise Unusable("unreachable", "cut", "the answer ended before the model said that it was finished")
            raise Unusable("empty_result", "empty", "the endpoint ended its answer without a word of the model")
        case "length":
            raise Unusable("output_too_large", "length", "the model reached its limit of tokens before it was finished")
        case "content_filter":
            raise Unusable("performer_failed", "content_filter", "the endpoint's content filter stopped the answer")
        case "tool_calls" | "function_call":
            raise Unusable("invalid_output", "tool_calls", "the model asked for a tool instead of answering")
    if not heard.text.strip():
        raise Unusable("empty_result", "empty", "the model answered nothing")
    if "\0" in heard.text or any("\ud800" <= letter <= "\udfff" for letter in heard.text):
        raise Unusable("invalid_output", "invalid_text", "the answer holds NUL or half of a character")


def counts(usage: Any) -> dict[str, int]:
    """The numbers of tokens that an endpoint reports."""
    given: Mapping[str, Any] = usage if isinstance(usage, dict) else {}
    return {
        name: given[name] for name in COUNTS if isinstance(given.get(name), int) and not isinstance(given[name], bool) and given[name] >= 0
    }


def added(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    """What two answers cost together."""
    return {name: one.get(name, 0) + other.get(name, 0) for name in COUNTS if name in one or name in other}


def named(found: Mapping[str, Any], name: str) -> str:
    """A short text, or ""."""
    value = found.get(name)
    return value[:NAME_CHARS] if isinstance(value, str) else ""
