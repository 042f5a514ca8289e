"""The scanner under conditions: it looks at each character once, and every refusal names a column."""

from collections.abc import Iterator, Sequence
from math import isinf
from typing import NoReturn
from unicodedata import normalize

from hermes_workflow.core.text import hides_something, shorten

_SPACE = " \t\r\n"
_DIGITS = "0123456789"
_OPERATOR_CHARS = "=!<>"
_WORDS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
_ESCAPES = {'"': '"', "'": "'", "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_LITERALS = "a number, \"text\", 'text', true, false or null"


class Scanner:
    """A text and a position in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def fail(self, msg: str, at: int | None = None) -> NoReturn:
        """Refuse the text at `at`, or where the scanner stands."""
        raise ValueError(f"column {(self.at if at is None else at) + 1}: {msg}")

    @property
    def char(self) -> str:
        """The next character; empty at the end."""
        return self.text[self.at : self.at + 1]

    def run(self, chars: str) -> str:
        """Take the longest stretch made of `chars`."""
        text, start, end = self.text, self.at, len(self.text)
        at = start
        while at < end and text[at] in chars:
            at += 1
        self.at = at
        return text[start:at]

    def spaces(self) -> None:
        """Take white space."""
        self.run(_SPACE)

    def expect(self, word: str, msg: str) -> None:
        """Take exactly `word`."""
        if not self.text.startswith(word, self.at):
            self.fail(msg)
        self.at += len(word)

    def end(self) -> None:
        """Nothing may follow."""
        if self.char:
            self.fail(f"one comparison only, nothing may follow the literal; got {shorten(self.text[self.at :])}")

    def node(self) -> str:
        """Take a node id in NFC. It may hold anything but a dot, so it ends at the next one."""
        start, end = self.at, self.text.find(".", self.at)
        node = self.text[start:] if end < 0 else self.text[start:end]
        if not node.strip():
            self.fail("the id of a node comes after out.", start)
        if end < 0:
            self.fail("a dot and a path come after the node: out.<node>.<path>", start + len(node.split()[0]))
        if hides_something(node):
            self.fail("the id of a node holds no control or invisible character", start)
        self.at = end
        return normalize("NFC", node)

    def path(self, depth: int) -> Iterator[str]:
        """Take the segments of a path, each with the dot before it; at most `depth`."""
        count = 0
        while self.char == ".":
            count += 1
            if count > depth:
                self.fail(f"a path has at most {depth} segments")
            self.at += 1
            yield self._segment()

    def _segment(self) -> str:
        text, start, end = self.text, self.at, len(self.text)
        at = start
        while at < end and _in_segment(text[at]):
            at += 1
        self.at = at
        if at == start:
            self.fail("a path segment is letters, digits, _ - $ @")
        return text[start:at]

    def operator(self, known: Sequence[str]) -> str:
        """Take a comparison operator."""
        start = self.at
        word = self.run(_OPERATOR_CHARS) or self._word()
        if word not in known:
            what = f"unknown operator {shorten(word)}" if word else "an operator is missing"
            self.fail(f"{what}; use one of {' '.join(known)}", start)
        return word

    def _word(self) -> str:
        text, start, end = self.text, self.at, len(self.text)
        at = start
        while at < end and (text[at].isalnum() or text[at] == "_"):
            at += 1
        self.at = at
        return text[start:at]

    def literal(self) -> str | int | float | bool | None:
        """Take a JSON scalar, a text in single quotes, True, False or None."""
        char = self.char
        if char in ('"', "'") and char:
            return self._quoted(char)
        if char and char in "-" + _DIGITS:
            return self._number()
        start = self.at
        word = self._word()
        if word in _WORDS:
            return _WORDS[word]
        what = f"{shorten(word or char)} is not a literal" if char else "a literal is missing"
        return self.fail(f"{what}; use {_LITERALS}", start)

    def _number(self) -> int | float:
        start = self.at
        self.at += self.char == "-"
        whole = self.run(_DIGITS)
        if not whole or (len(whole) > 1 and whole[0] == "0"):
            self.fail("not a number: it starts with a digit, and with 0 only before a point", start)
        fraction = self._part(".", "")
        exponent = self._part("eE", "+-")
        digits = self.text[start : self.at]
        if not fraction and not exponent:
            return int(digits)
        number = float(digits)
        if isinf(number):
            self.fail("the number is out of range", start)
        return number

    def _part(self, mark: str, signs: str) -> bool:
        """Take a fraction or an exponent if one follows."""
        if not self.char or self.char not in mark:
            return False
        self.at += 1
        if self.char and self.char in signs:
            self.at += 1
        if not self.run(_DIGITS):
            self.fail("a digit is missing in the number")
        return True

    def _quoted(self, quote: str) -> str:
        opened = self.at
        self.at += 1
        pieces: list[str] = []
        while (char := self.char) != quote:
            if not char:
                self.fail(f"the text that starts at column {opened + 1} is not closed", opened)
            if char < " ":
                self.fail("a control character in a text is written as an escape, and NUL is refused")
            self.at += 1
            pieces.append(self._escape() if char == "\\" else char)
        self.at += 1
        text = "".join(pieces)
        if any("\ud800" <= char <= "\udfff" for char in text):
            self.fail("half of a surrogate pair is not text", opened)
        return text

    def _escape(self) -> str:
        char = self.char
        self.at += 1
        if char == "u":
            return self._unicode()
        if char not in _ESCAPES or not char:
            self.fail("unknown escape; use \\\" \\' \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX", self.at - 1)
        return _ESCAPES[char]

    def _unicode(self) -> str:
        code = self._hex4()
        if 0xD800 <= code < 0xDC00 and self.text.startswith("\\u", self.at):
            self.at += 2
            low = self._hex4()
            if not 0xDC00 <= low <= 0xDFFF:
                self.fail("half of a surrogate pair is not text", self.at - 12)
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
        if code == 0:
            self.fail("NUL is refused", self.at - 6)
        return chr(code)

    def _hex4(self) -> int:
        start = self.at
        digits = self.text[start : start + 4]
        if len(digits) < 4 or any(char not in "0123456789abcdefABCDEF" for char in digits):
            self.fail("\\u takes four hexadecimal digits", start)
        self.at += 4
        return int(digits, 16)


def _in_segment(char: str) -> bool:
    # Keys come in every script, so marks and symbols beyond ASCII are let in.
    return char.isalnum() or char in "_-$@" or (char > "\x7f" and char.isprintable())
