"""What untrusted text looks like once it can hide nothing."""

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_workflow.core.text import MAX_MARKS, Segment, hides_something, shorten, visible
from tests.unit.hostile import entries


def shown(text):
    return "".join(f"[{segment.text}]" if segment.mark else segment.text for segment in visible(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain\ttext\n\nünïcode 日本", "plain\ttext\n\nünïcode 日本"),
        ("a\u200b\u200d\ufeffb", "a[U+200B][U+200D][U+FEFF]b"),
        ("ok\U000e0041\U000e0070", "ok[U+E0041][U+E0070]"),
        ("pay \u202e001\u202c", "pay [U+202E]001[U+202C]"),
        ("a\x00b\x7f\x9f", "a[U+0000]b[U+007F][U+009F]"),
        ("one\r\ntwo\rthree", "one\ntwo[U+000D]three"),
        ("\x1b[31mred\x1b[0m", "[ESC[31m]red[ESC[0m]"),
        ("\x1b]8;;https://evil.test\x07link\x1b]8;;\x1b\\ \x1b[2J", "[ESC]8;;https://evil.test]link[ESC]8;;] [ESC[2J]"),
        ("\x1b]never closed", "[U+001B]]never closed"),
        ("✅\ufe0f fine \ufe0f", "✅\ufe0f fine [U+FE0F]"),
        ("\ud800", "[U+D800]"),
        ("", ""),
    ],
)
def test_what_cannot_be_seen_is_marked(text, expected):
    assert shown(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\n\n\n\nb", "a\n\n\n\nb"),
        ("a\n\n\n\n\nb", "a\n[4 blank lines]\nb"),
        ("\n" * 5000 + "rm -rf /", "[5,000 blank lines]\nrm -rf /"),
        ("a" + "\n \t" * 5000, "a\n[5,000 blank lines]"),
    ],
)
def test_long_runs_of_blank_lines_are_counted_not_shown(text, expected):
    assert shown(text) == expected


def test_plain_text_is_one_segment():
    assert visible("one\ntwo") == [Segment("one\ntwo")]


def test_a_flood_of_marks_is_cut_and_counted():
    segments = visible("\u200b" * 10_000 + "end")
    assert len(segments) == MAX_MARKS + 2
    assert segments[-2:] == [Segment("end"), Segment("8,000 more invisible characters removed", mark=True)]


@pytest.mark.parametrize("entry", entries("agent-output", "agent_output"), ids=lambda entry: entry["id"])
def test_hostile_output_shows_nothing_invisible(entry):
    assert not any(hides_something(segment.text.replace("\n", "").replace("\t", "")) for segment in visible(entry["value"]))


@given(st.text())
def test_any_text_is_shown_without_anything_hidden(text):
    for segment in visible(text):
        assert segment.text
        assert not hides_something(segment.text.replace("\n", "").replace("\t", ""))


def test_every_control_and_format_character_that_is_not_drawn_is_known():
    drawn = {"ARABIC", "SYRIAC", "KAITHI", "EGYPTIAN"}
    for code in range(0x110000):
        char = chr(code)
        if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") and not hides_something(char):
            assert unicodedata.name(char).split()[0] in drawn


@pytest.mark.parametrize("text", ["\x1b]" * 50_000, "\x1b[0" * 50_000, "\x1b[" + "0" * 100_000, "\u202e" * 100_000, " \n" * 100_000])
def test_hostile_text_is_shown_within_a_second(text):
    started = time.perf_counter()
    visible(text)
    assert time.perf_counter() - started < 1


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Agent", "'Agent'"),
        ("it's\n\u200b\\", "'it\\'s\\n\\u200b\\\\'"),
        (True, "true"),
        (None, "null"),
        (2.5, "2.5"),
        (-1, "-1"),
        ({"a": 1}, "object"),
        ([1], "list"),
        ((1,), "tuple"),
        (10**400, "a number of about 401 digits"),
    ],
)
def test_an_echo_is_quoted_escaped_and_short(value, expected):
    assert shorten(value) == expected


@given(st.text(min_size=0, max_size=300), st.integers(min_value=8, max_value=100))
def test_an_echo_never_exceeds_its_limit(text, limit):
    echo = shorten(text, limit)
    assert len(echo) <= limit
    assert not hides_something(echo)
