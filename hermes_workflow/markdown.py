"""What agents wrote, as HTML that can neither run, load, hide nor pretend to be ours."""

import json
import re
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from html import escape
from typing import Any
from urllib.parse import urlsplit

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from hermes_workflow.core.text import visible

LONGEST = 50_000
MOST_BRACKETS = 10_000
MOST_CELLS = 20_000
DEPTH = 8
MOST_ENTRIES = 500
SPAN = frozenset({"text", "start", "end"})
PLACES = frozenset({"start", "end", "score", "category"})
LONGEST_SCALAR = 5_000
PADDING = re.compile(r"[ \t\u00a0\u3000]{100,}")

# Noncharacters that `visible` never leaves in plain text: they carry a mark's number through Markdown and nh3 unharmed.
OPEN, CLOSE = "\ufdd0", "\ufdd1"
CARRIED = re.compile(f"{OPEN}([0-9]+){CLOSE}")
CARRIED_IN_ADDRESS = "%EF%B7%9"

ADDRESS = re.compile(r"https?://", re.IGNORECASE)
LINK = re.compile(r"https://([a-z0-9](?:[a-z0-9.-]{0,252})(?::[0-9]{1,5})?)(?:[/?#]|\Z)", re.IGNORECASE)
HEADINGS = {f"h{level}": f"h{min(level + 2, 6)}" for level in range(1, 7)}
TAGS = set(
    "p br em strong s code pre blockquote ul ol li hr h3 h4 h5 h6 a span table thead tbody tr th td".split()  # noqa: SIM905
)
ATTRIBUTES = {"a": {"href", "target"}, "span": {"class"}, "ol": {"start"}}


class Renderer(RendererHTML):
    """Markdown-it's renderer with our links, images and headings."""

    def link_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        """A link only to https, without a title."""
        href = str(tokens[idx].attrs.get("href", ""))
        env.setdefault("links", []).append(href)
        return f'<a href="{escape(href)}" target="_blank">' if linkable(href) else "<span>"

    def link_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        """After the link's text, where it really goes."""
        href = env["links"].pop()
        found = linkable(href)
        if found:
            return f'</a> <span class="host">({escape(found[1])})</span>'
        return f'</span> <span class="host">(not linked: {escape(place_of(href))})</span>'

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        """Never loaded: the request alone would tell someone that, and what, was read here."""
        return f'<span class="not-loaded">Remote image not loaded: {escape(place_of(str(tokens[idx].attrs.get("src", ""))))}</span>'

    def heading_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        """Two levels down: the page's own headings stay above."""
        return f"<{HEADINGS[tokens[idx].tag]}>"

    def heading_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        """The end of the demoted heading."""
        return f"</{HEADINGS[tokens[idx].tag]}>\n"


class Parser(MarkdownIt):
    """CommonMark with tables and strikethrough; no HTML, and no entities, which could smuggle invisible characters in."""

    def __init__(self) -> None:
        super().__init__("commonmark", {"html": False, "breaks": True, "maxNesting": 20}, renderer_cls=Renderer)
        self.enable(["table", "strikethrough"]).disable(["entity", "html_block", "html_inline"])

    def validateLink(self, url: str) -> bool:
        """Anything but an address of the web stays the text it is."""
        return ADDRESS.match(url) is not None


PARSER = Parser()


def linkable(href: str) -> re.Match[str] | None:
    """A match whose group 1 is the host, for an https address without user, invisible characters or an odd host."""
    return LINK.match(href) if CARRIED_IN_ADDRESS not in href.upper() else None


def place_of(href: str) -> str:
    """Host and path of an address, for reading; never its query, which may be long and say nothing."""
    try:
        parts = urlsplit(href)
    except ValueError:
        return href[:120]
    return f"{parts.netloc}{parts.path}"[:120]


def render_markdown(text: str) -> SafeString:
    """Agent text as safe HTML. At most 50,000 characters are shown, with a note on how many are not."""
    if too_intricate(text[:LONGEST]):
        return mark_safe(f"<p>{render_plain(text)}</p>")  # noqa: S308 - escaped there
    carrier, marks = carry(text[:LONGEST])
    html = nh3.clean(
        PARSER.render(carrier, {}), tags=TAGS, attributes=ATTRIBUTES, url_schemes={"https"}, link_rel="noopener nofollow noreferrer"
    )
    shown = CARRIED.sub(lambda found: mark_html(marks[int(found[1])]), html)
    return mark_safe(shown + shortened_note(len(text) - LONGEST))  # noqa: S308 - cleaned by nh3, marks and notes escaped


def too_intricate(text: str) -> bool:
    """Whether Markdown would take seconds: it reads nested brackets in quadratic time and fills up every row of a table."""
    lines = text.split("\n")
    widest = max(line.count("|") for line in lines)
    return text.count("[") > MOST_BRACKETS or widest * len(lines) > MOST_CELLS


def render_plain(text: str) -> SafeString:
    """Text that is not Markdown, escaped, with its line breaks and with marks for what cannot be seen."""
    carrier, marks = carry(text[:LONGEST], around="\n")
    html = CARRIED.sub(lambda found: mark_html(marks[int(found[1])]), escape(carrier).replace("\n", "<br>"))
    return mark_safe(html + shortened_note(len(text) - LONGEST))  # noqa: S308 - escaped above


def carry(text: str, *, around: str = "\n\n") -> tuple[str, list[str]]:
    """`text` with a numbered placeholder for each invisible thing or long padding, and what the numbers stand for."""
    marks: list[str] = []
    parts: list[str] = []

    def place(mark: str) -> str:
        marks.append(mark)
        return f"{OPEN}{len(marks) - 1}{CLOSE}"

    for segment in visible(text):
        if not segment.mark:
            parts.append(PADDING.sub(lambda found: place(f"{len(found[0]):,} blanks"), segment.text))
        elif segment.text.endswith("blank lines"):
            parts.append(f"{around}{place(segment.text)}{around}")
        else:
            parts.append(place(segment.text))
    return "".join(parts), marks


def mark_html(mark: str) -> str:
    """A mark as the reader sees it."""
    return f'<span class="mark">{escape(mark)}</span>'


def shortened_note(missing: int) -> str:
    """How much is not shown; nothing when all is."""
    return f'<p class="shortened">Shortened: {missing:,} more characters are not shown here.</p>' if missing > 0 else ""


def render_value(value: Any) -> SafeString:
    """Any JSON value: text as Markdown, objects as definition lists, lists as lists or, of like objects, as a table."""
    if isinstance(value, str):
        return render_markdown(value)
    left = iter(range(MOST_ENTRIES))
    html = "".join(pieces(value, DEPTH, left))
    if next(left, None) is None:
        html += '<p class="shortened">Shortened: not every entry is shown here.</p>'
    return mark_safe(html)  # noqa: S308 - every piece is escaped


def pieces(value: Any, depth: int, left: Iterator[int]) -> Iterator[str]:
    """The HTML of a value, in small parts; `left` runs out when enough entries were shown."""
    if not isinstance(value, Mapping | list | tuple) or not value:
        yield scalar(value)
    elif depth == 0:
        yield "<span>…</span>"
    elif isinstance(value, Mapping):
        yield from definitions(value, depth, left)
    elif columns := like_objects(value):
        yield from table(value, columns, left)
    else:
        yield "<ul>"
        for inner, _ in zip(value, left, strict=False):
            yield from ("<li>", *pieces(inner, depth - 1, left), "</li>")
        yield "</ul>"


def definitions(value: Mapping[str, Any], depth: int, left: Iterator[int]) -> Iterator[str]:
    """An object, entry by entry."""
    yield "<dl>"
    for (name, inner), _ in zip(value.items(), left, strict=False):
        yield from ("<dt>", render_plain(str(name)[:200]), "</dt><dd>", *pieces(inner, depth - 1, left), "</dd>")
    yield "</dl>"


def like_objects(rows: Sequence[Any]) -> list[str]:
    """The columns of a table, if every row is an object with the same few scalar entries.

    Where a found piece of text stands, and how it scored, is left to the source: a reader wants the piece and what it means.
    """
    first = rows[0]
    if not isinstance(first, Mapping) or not 1 <= len(first) <= 8:
        return []
    fits = all(isinstance(row, Mapping) and row.keys() == first.keys() and not any(map(nested, row.values())) for row in rows)
    return [name for name in first if not (first.keys() >= SPAN and name in PLACES)] if fits else []


def nested(value: Any) -> bool:
    """Whether a value holds others."""
    return isinstance(value, Mapping | list | tuple)


def table(rows: Sequence[Mapping[str, Any]], columns: list[str], left: Iterator[int]) -> Iterator[str]:
    """Like objects below each other."""
    yield from ("<table><thead><tr>", *(f'<th scope="col">{render_plain(name[:200])}</th>' for name in columns), "</tr></thead><tbody>")
    for row, _ in zip(rows, left, strict=False):
        yield from ("<tr>", *(f"<td>{scalar(row[name])}</td>" for name in columns), "</tr>")
    yield "</tbody></table>"


def scalar(value: Any) -> str:
    """One value without others in it; text at most 5,000 characters long."""
    if isinstance(value, str):
        return render_plain(value[:LONGEST_SCALAR]) + ("…" if len(value) > LONGEST_SCALAR else "")
    return f"<code>{escape(json.dumps(value, default=str)[:200])}</code>"
