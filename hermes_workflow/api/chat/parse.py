"""A typed command as data. Pure; every character is looked at once, and nothing that is typed is evaluated."""

import re
from dataclasses import dataclass, field
from typing import Any

from hermes_workflow.core.documents import read_json
from hermes_workflow.core.errors import Malformed
from hermes_workflow.core.text import hides_something, shorten

START = re.compile(r"\s*/workflow(?:@\w{1,64})?(?=\s|\Z)", re.IGNORECASE)
WORD = re.compile(r"[^\s]++")
SPACE = re.compile(r"\s*+")
QUOTES = {'"': '"', "'": "'", "“": "”", "„": "“", "«": "»"}  # telephones write their own
CONFIRM = ("--confirm", "—confirm", "–confirm")
LONGEST_WORD = 255

USAGE = {
    "list": "/workflow list",
    "run": "/workflow run [--confirm] <name> [text or JSON]",
    "retry": "/workflow run [--confirm] retry <run>",
    "runs": "/workflow runs",
    "status": "/workflow status <run>",
    "answer": "/workflow answer <run> <option> [#code] [comment]",
    "link": "/workflow link [code]",
    "help": "/workflow help",
}


@dataclass(frozen=True, slots=True)
class Command:
    """What to do: one verb of USAGE, its words in order, and what else it takes."""

    verb: str
    words: tuple[str, ...] = ()
    confirm: bool = False
    code: str = ""
    comment: str = ""
    input: dict[str, Any] = field(default_factory=dict)


class Words:
    """A cursor over the text, one word further with each call."""

    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.at = at
        self._skip()

    def next(self) -> str:
        """The next word, empty at the end; quotes hold several together. Raises Malformed."""
        if self.at == len(self.text):
            return ""
        closing = QUOTES.get(self.text[self.at])
        word = self._quoted(closing) if closing else self._plain()
        if len(word) > LONGEST_WORD or hides_something(word):
            raise Malformed(f"text: a word must be at most {LONGEST_WORD} visible characters, got {shorten(word)}")
        self._skip()
        return word

    def peek(self) -> str:
        """The next plain word, left where it is."""
        found = WORD.match(self.text, self.at)
        return found.group() if found else ""

    def rest(self) -> str:
        """Everything that is left, as it was typed."""
        return self.text[self.at :].rstrip()

    def _plain(self) -> str:
        found = WORD.match(self.text, self.at)
        assert found
        self.at = found.end()
        return found.group()

    def _quoted(self, closing: str) -> str:
        end = self.text.find(closing, self.at + 1)
        after = self.text[end + 1 : end + 2]
        if end < 0 or (after and not after.isspace()):
            raise Malformed(f"text: the quote at character {self.at + 1} is not closed at the end of a word")
        word, self.at = self.text[self.at + 1 : end], end + 1
        return word

    def _skip(self) -> None:
        found = SPACE.match(self.text, self.at)
        assert found
        self.at = found.end()


def parse(text: str) -> Command:
    """The command that was typed. Raises Malformed saying how it is written."""
    start = START.match(text)
    if start is None:
        raise Malformed("text: a command starts with /workflow", hint="/workflow help lists what there is")
    words = Words(text, start.end())
    verb = words.next().lower() or "help"
    if verb == "run":
        return _run(words)
    if verb == "answer":
        return _answer(words)
    if verb not in USAGE or verb == "retry":
        raise Malformed(f"text: there is no command {shorten(verb)}", hint=f"there are {', '.join(v for v in USAGE if v != 'retry')}")
    return _short(verb, words)


def _short(verb: str, words: Words) -> Command:
    """The verbs that take one word or none."""
    word = words.next() if verb in ("status", "link") else ""
    if words.rest() or (verb == "status" and not word):
        raise _usage(verb)
    return Command(verb, (word,) if word else ())


def _run(words: Words) -> Command:
    name = words.next()
    confirm = name in CONFIRM
    if confirm:
        name = words.next()
    if not name:
        raise _usage("run")
    if name.lower() != "retry":
        return Command("run", (name,), confirm=confirm, input=_input(words.rest()))
    run = words.next()
    if not run or words.rest():
        raise _usage("retry")
    return Command("retry", (run,), confirm=confirm)


def _answer(words: Words) -> Command:
    run, option = words.next(), words.next()
    if not run or not option:
        raise _usage("answer")
    code = words.next()[1:] if words.peek().startswith("#") else ""
    return Command("answer", (run, option), code=code, comment=words.rest())


def _input(text: str) -> dict[str, Any]:
    """JSON where it looks like an object, else the text itself."""
    if not text:
        return {}
    if not text.startswith("{"):
        return {"text": text}
    found: Any = read_json(text)
    if not isinstance(found, dict):
        raise Malformed("text: the input must be a JSON object or plain text")
    return found


def _usage(verb: str) -> Malformed:
    return Malformed(f"text: write {USAGE[verb]}")
