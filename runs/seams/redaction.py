"""What may be shown of a failed performer: the end of its streams and its command, without secrets, prompt or environment."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath

TAIL_BYTES = 4096
SHORTEST_SECRET = 6
SHORTEST_TEXT = 16  # a shorter prompt would also hide common words, our own among them
HIDDEN = "[redacted]"
SECRET_WORDS = (
    r"(?:token|secret|passw(?:or)?d|passphrase|api[_-]?key|access[_-]?key|private[_-]?key|auth(?!or(?!iz))|cookie|credential"
    r"|session[_-]?id)"
)
SECRET_NAME = re.compile(r"token|key|secret|passw(?:or)?d|passphrase|auth(?!or(?!iz))|cookie|credential|dsn", re.IGNORECASE)
USER_NAME = re.compile(r"user(?:name)?\Z", re.IGNORECASE)

# Every pattern starts at a fixed word or at a boundary and repeats within bounds, so that a quarter of a megabyte is read in linear time.
PATTERNS = (
    (re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END|\Z)", re.DOTALL), HIDDEN),
    (re.compile(r"\b(bearer|basic)([ \t]{1,8})[^\s\"',;]{4,}", re.IGNORECASE), rf"\1\2{HIDDEN}"),
    (re.compile(r"\b(?:sk-|ghp_|gho_|github_pat_|xox[abprs]-|glpat-|AKIA|eyJ)[\w.-]{8,}"), HIDDEN),
    (re.compile(r"(?<=://)[^/\s:@]{0,64}:[^/\s@]{1,256}@"), f"{HIDDEN}@"),
    (
        re.compile(
            rf"(?<![\w-])([\w-]{{0,64}}?{SECRET_WORDS}[\w-]{{0,32}}[\"']?[ \t]{{0,4}}[:=][ \t]{{0,4}})"
            r"(\"[^\"\n]*|'[^'\n]*|[^\s\"',;&]+)",
            re.IGNORECASE,
        ),
        rf"\1{HIDDEN}",
    ),
)
CONTROLS = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\n\t"} | {127: "\u2421"}


def is_secret_name(name: str) -> bool:
    """Whether a variable or flag of this name holds something to hide."""
    return bool(SECRET_NAME.search(name)) and not USER_NAME.search(name)


def secret_values(environ: Mapping[str, str]) -> list[str]:
    """The values of an environment that must never be shown."""
    return [value for name, value in environ.items() if is_secret_name(name) and len(value) >= SHORTEST_SECRET]


def redact(text: str, hidden: Iterable[str] = ()) -> str:
    """`text` without the values in `hidden`, also as JSON writes them, and without anything that looks like a secret."""
    spellings = {
        form for value in hidden if value for form in (value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1])
    }
    for value in sorted(spellings, key=len, reverse=True):
        text = text.replace(value, HIDDEN)
    for pattern, instead in PATTERNS:
        text = pattern.sub(instead, text)
    return text


def tail(data: bytes, *, hidden: Iterable[str] = (), cut: bool = False) -> str:
    """The last 4096 bytes of a stream as text. A `cut` stream loses its last word, which may be half of a secret."""
    text = data.decode("utf-8", "replace")
    if cut:
        text = text[: max(text.rfind(" "), text.rfind("\n"), 0)]
    shown = redact(text, hidden).translate(CONTROLS).encode()
    return shown[-TAIL_BYTES:].decode("utf-8", "ignore")


def command(argv: Sequence[str], *, hidden: Iterable[str] = ()) -> list[str]:
    """The command line: the program's bare name, and no value of a flag whose name sounds secret."""
    hidden = list(hidden)
    after = ["", *argv]
    shown = [
        HIDDEN if flag.startswith("-") and "=" not in flag and is_secret_name(flag) else redact(word, hidden)
        for flag, word in zip(after, argv, strict=False)
    ]
    return [PurePath(argv[0]).name, *shown[1:]] if argv else []
