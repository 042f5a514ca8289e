"""A reply to a gate as it came in: its shape is checked before anything is looked at, its fingerprint makes repeating it harmless."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from approvals.sources import Source
from hermes_workflow.core.documents import LIMIT, canonical, check_value
from hermes_workflow.core.documents import digest as digest_of
from hermes_workflow.core.errors import AnswerNotOffered, Malformed, TooLarge
from hermes_workflow.core.text import kind_of, shorten
from runs.models import Gate
from runs.seams.answers import Unusable, check_schema

UNSET: Any = object()
COMMENT_LIMIT, KEY_LIMIT, DIGEST_LIMIT = 2000, 255, 71


@dataclass(frozen=True, slots=True)
class Reply:
    """Everything a caller may say to a gate; UNSET is what was left out, for null is a value."""

    answer: Any = UNSET
    structured: Any = UNSET
    output: Any = UNSET
    comment: Any = ""
    digest: Any = None
    source: Source | None = None
    key: Any = None
    resume: Any = True
    channel: str = "api"

    def check(self) -> None:
        """Raises Malformed naming the field."""
        _text("comment", self.comment, COMMENT_LIMIT)
        _text("digest", self.digest, DIGEST_LIMIT, optional=True)
        _text("Idempotency-Key", self.key, KEY_LIMIT, optional=True)
        if self.key is not None and not self.key:
            raise Malformed("Idempotency-Key: must not be empty")
        if not isinstance(self.resume, bool):
            raise Malformed("resume: must be true or false")
        if self.source is not None:
            self.source.check()
        check_value({name: value for name, value in self.values.items() if name != "answer"})

    @property
    def values(self) -> dict[str, Any]:
        """What was given of answer, structured and output."""
        given = {"answer": self.answer, "structured": self.structured, "output": self.output}
        return {name: value for name, value in given.items() if value is not UNSET}

    def fingerprint(self, run_id: str, node_id: str) -> str:
        """Equal for two requests that say the same thing to the same place."""
        source = asdict(self.source) if self.source else None
        said = {"comment": self.comment, "digest": self.digest, "source": source, **self.values}
        return digest_of({"run": run_id, "node": node_id, **said})

    def option(self, gate: Gate) -> str:
        """The option that is chosen, exactly as it is offered. Raises Malformed, AnswerNotOffered."""
        extra = sorted(self.values.keys() - {"answer"})
        if extra:
            raise Malformed(f"{extra[0]}: an approval takes an answer, one of {' or '.join(gate.options)}")
        if self.answer is UNSET:
            raise Malformed(f"answer: is required, one of {' or '.join(gate.options)}", options=gate.options)
        if not isinstance(self.answer, str):
            raise Malformed(f"answer: must be a string, got {kind_of(self.answer)}", options=gate.options)
        if self.answer not in gate.options:
            offered = " or ".join(gate.options)
            raise AnswerNotOffered(f"answer: must be exactly {offered}, got {shorten(self.answer)}", options=gate.options)
        return self.answer

    def value(self, schema: Mapping[str, Any] | None) -> tuple[Any, bool]:
        """What an agent step gives, and whether it is structured. Raises Malformed, TooLarge."""
        if len(self.values) != 1:
            raise Malformed("respond with exactly one of structured and output")
        (name, value) = next(iter(self.values.items()))
        if name == "answer":
            _text("answer", value, LIMIT)
        check_value(value)
        if len(canonical(value).encode()) > LIMIT:
            raise TooLarge(f"{name}: at most {LIMIT:,} bytes")
        try:
            check_schema(value, schema)
        except Unusable as error:
            raise Malformed(f"{name}: {error.msg}") from None
        return value, name == "structured" or not isinstance(value, str)


def _text(name: str, value: Any, limit: int, *, optional: bool = False) -> None:
    if optional and value is None:
        return
    if not isinstance(value, str):
        raise Malformed(f"{name}: must be a string, got {kind_of(value)}")
    if len(value) > limit:
        raise Malformed(f"{name}: at most {limit:,} characters, got {len(value):,}")
    check_value({name: value})
