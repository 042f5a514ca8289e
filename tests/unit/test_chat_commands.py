"""Reading what was typed in a chat: pure, strict, and linear."""

import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_workflow.api.chat.parse import Command, parse
from hermes_workflow.api.chat.texts import quoted
from hermes_workflow.core.errors import HermesError, Malformed


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("/workflow", Command("help")),
        ("/workflow help", Command("help")),
        ("  /workflow@hermes_bot LIST ", Command("list")),
        ("/workflow runs", Command("runs")),
        ("/workflow run letter", Command("run", ("letter",))),
        ('/workflow run "letter" Dear  Sir,\n\nhello ', Command("run", ("letter",), input={"text": "Dear  Sir,\n\nhello"})),
        ('/workflow run letter {"a": [1, 0]}', Command("run", ("letter",), input={"a": [1, 0]})),
        ("/workflow run letter '{'", Command("run", ("letter",), input={"text": "'{'"})),
        ("/workflow run --confirm letter", Command("run", ("letter",), confirm=True)),
        ("/workflow run —confirm retry abcdef", Command("retry", ("abcdef",), confirm=True)),
        ("/workflow run retry abcdef", Command("retry", ("abcdef",))),
        ("/workflow run Retry abcdef", Command("retry", ("abcdef",))),
        ("/workflow status abcdef", Command("status", ("abcdef",))),
        ("/workflow answer abcdef approve", Command("answer", ("abcdef", "approve"))),
        (
            "/workflow answer abcdef “send it” #3fa9c1 looks “good”",
            Command("answer", ("abcdef", "send it"), code="3fa9c1", comment="looks “good”"),
        ),
        ("/workflow answer abcdef approve fine #3", Command("answer", ("abcdef", "approve"), comment="fine #3")),
        ("/workflow answer abcdef '#1' #3fa9c1", Command("answer", ("abcdef", "#1"), code="3fa9c1")),
        ("/workflow link", Command("link")),
        ("/workflow link ABCD-EFGH", Command("link", ("ABCD-EFGH",))),
    ],
)
def test_a_command_is_read(text, command):
    assert parse(text) == command


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "starts with /workflow"),
        ("list", "starts with /workflow"),
        ("/workflows list", "starts with /workflow"),
        ("/workflow-run", "starts with /workflow"),
        ("/workflow delete letter", "no command"),
        ("/workflow retry abcdef", "no command"),
        ("/workflow run", "write /workflow run"),
        ("/workflow run --confirm", "write /workflow run"),
        ("/workflow run retry", "retry <run>"),
        ("/workflow run retry a b", "retry <run>"),
        ("/workflow status", "status <run>"),
        ("/workflow status a b", "status <run>"),
        ("/workflow list all", "write /workflow list"),
        ("/workflow answer abcdef", "answer <run> <option>"),
        ("/workflow link a b", "link [code]"),
        ('/workflow run "letter', "not closed"),
        ('/workflow run "let"ter', "not closed"),
        ("/workflow run le\u202etter", "visible"),
        ("/workflow run " + "x" * 256, "at most 255"),
        ('/workflow run letter {"a": 1, "a": 2}', "duplicate key"),
        ("/workflow run letter {'a': 1}", "JSON"),
        ('/workflow run letter {"a": NaN}', "NaN"),
    ],
)
def test_what_is_no_command_is_refused_saying_how_it_is_written(text, says):
    with pytest.raises(Malformed) as refused:
        parse(text)
    assert says in refused.value.msg


@given(st.text(alphabet="/workflow run answer\"“”'#@{}: \n\t\x00ab1", max_size=200))
def test_any_text_is_read_or_refused(text):
    for given_text in (text, f"/workflow {text}"):
        with suppress(Malformed):
            assert parse(given_text).verb


@pytest.mark.parametrize("flood", [" ", '"', '" ', "a ", "#", "{", "\\", '{"', "“", "--confirm "])
@pytest.mark.parametrize("start", ["/workflow run letter ", "/workflow answer ", "/workflow ", ""])
def test_reading_takes_time_in_proportion(start, flood):
    text = start + flood * (200_000 // len(flood))
    began = time.perf_counter()
    with suppress(HermesError):
        parse(text)
    assert time.perf_counter() - began < 1


def test_foreign_words_are_marked_on_every_line_and_cut_visibly():
    assert quoted("a\n/workflow answer x\u202e", 100) == "> a\n> /workflow answer x[U+202E]"
    assert quoted("ab" * 50, 10) == "> ababababab\n> […]"
    assert quoted({"a": 1}, 100) == '> {\n>   "a": 1\n> }'
    assert quoted("", 10) == ">"
