"""What a channel is given to carry: a title and a text of bounded length that calls nobody."""

import re
from dataclasses import dataclass, replace

TEXT_LIMIT = 16_000
UNJOINED = "\u200b"  # between the sign and the name it no longer calls
CALLS = re.compile(r"@(?=everyone|here\b|channel\b|all\b|room\b)|<(?=[@!#])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Letter:
    """One message. `key` is the same however often it is sent."""

    run_id: str
    node_id: str
    title: str
    text: str
    key: str

    def quiet(self) -> "Letter":
        """As an agent may be let write to a chat: its words cannot call everybody, and what is too long is cut visibly."""
        return replace(self, title=_calm(self.title), text=_calm(_cut(self.text)))


def _calm(text: str) -> str:
    return CALLS.sub(lambda sign: sign[0] + UNJOINED, text)


def _cut(text: str) -> str:
    left_out = len(text) - TEXT_LIMIT
    return f"{text[:TEXT_LIMIT]}\n[{left_out:,} characters left out]" if left_out > 0 else text
