"""What the demo performer finds, and that every item stands where it says."""

import json
import subprocess
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_workflow.performers import demo_argv
from hermes_workflow.performers.amounts import amounts
from hermes_workflow.performers.dates import dates
from hermes_workflow.performers.demo import analyse, answer, text_of
from hermes_workflow.performers.risks import LABELS, WORDING, risks
from hermes_workflow.performers.sentences import sentences

CONTRACT = """# Master agreement

Acme Ltd. and Dr. Smith's company agree on 15. December 2026 that the service starts. The monthly fee is EUR 1,240.00, due by 12/15/2026.
- The contract renews automatically for twelve months.
- We guarantee zero downtime for all customers!
Liability is uncapped. The weather was nice. It rained, too.
"""
PIECES = st.sampled_from(
    [
        "EUR 29",
        "3,5 Mio. €",
        "Dec 15, 2026",
        "2026-12-15",
        "zero\ndowntime",
        "guarantee",
        "İ",
        "𝔘",
        "e\u0301",
        "\u200b",
        "Dr. ",
        ". ",
        "\n\n- ",
        "\r\n",
        "。",
        "€",
    ]
)
TEXTS = st.lists(st.text(max_size=20) | PIECES, max_size=30).map("".join)


def found(finder, text):
    return [item["text"] for item in finder(text)]


@given(TEXTS)
@settings(deadline=None)
def test_every_item_is_exactly_the_text_between_its_ends(text):
    result = analyse(text)
    for name in ("sentences", "dates", "amounts", "risks"):
        for item in result[name]:
            assert text[item["start"] : item["end"]] == item["text"] != ""
        assert [item["start"] for item in result[name]] == sorted(item["start"] for item in result[name])
        assert result["counts"][name] == len(result[name])


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("2026-12-15", "2026-12-15"),
        ("2026-12-15T10:00:00Z", "2026-12-15"),
        ("15 December 2026", "2026-12-15"),
        ("15. Dezember 2026", "2026-12-15"),
        ("15th of December, 2026", "2026-12-15"),
        ("Dec 15, 2026", "2026-12-15"),
        ("December 15th 2026", "2026-12-15"),
        ("15.12.2026", "2026-12-15"),
        ("12/15/2026", "2026-12-15"),
        ("15/12/26", "2026-12-15"),
        ("March 2026", "2026-03"),
        ("3 March", None),
        ("03/04/2026", None),
    ],
)
def test_a_date_is_read_as_people_write_it(text, iso):
    assert [(item["text"], item["iso"]) for item in dates(f"It ends on {text}, they said.")] == [(text, iso)]


@pytest.mark.parametrize("text", ["2026-13-01", "30/02/2026", "version 1.12.2026.4", "you may 2", "12345678", "0.5.2026.1", "1/2/3/4"])
def test_what_only_looks_like_a_date_is_none(text):
    assert found(dates, text) == []


@pytest.mark.parametrize(
    ("text", "value", "currency"),
    [
        ("EUR 29", 29, "EUR"),
        ("$1,240.00", 1240, "USD"),
        ("3,5 Mio. €", 3_500_000, "EUR"),
        ("12.000,50 EUR", 12000.5, "EUR"),
        ("US$ 3.5bn", 3_500_000_000, "USD"),
        ("USD 5k", 5000, "USD"),
        ("1.240 €", 1240, "EUR"),
        ("29.95€", 29.95, "EUR"),
        ("CHF 1'250.–", 1250, "CHF"),
        ("20 000 euros", 20000, "EUR"),
    ],
)
def test_an_amount_has_a_value_and_a_currency(text, value, currency):
    assert [(i["text"], i["value"], i["currency"]) for i in amounts(f"We pay {text} a month.")] == [(text, value, currency)]


def test_percentages_and_bare_numbers_are_no_amounts():
    assert found(amounts, "5 %, 12.5%, 1,240 pieces, EUROPE 29, 7 eurostars") == []


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("Guaranteed", "absolute_promise"),
        ("zero downtime", "availability"),
        ("liability is uncapped", "liability"),
        ("all customers", "scope"),
        ("renews automatically", "renewal"),
        ("exclusivity", "exclusivity"),
        ("liquidated damages", "penalty"),
        ("at its sole  discretion", "discretion"),
        ("unbegrenzte Haftung", "liability"),
        ("zero\n  downtime", "availability"),
    ],
)
def test_risky_wording_is_named_with_its_category(text, category):
    (item,) = risks(f"They offer {text} here.")
    assert (item["category"], item["label"]) == (category, LABELS[category])
    assert item["text"] in text


def test_every_category_has_a_label():
    assert WORDING.keys() == LABELS.keys()


@pytest.mark.parametrize("text", ["a plain sentence", "zerodowntime", "exclusively2", "unguaranteed", "hall customers"])
def test_a_word_inside_another_is_no_risk(text):
    assert found(risks, text) == []


def test_sentences_end_where_people_end_them():
    assert [CONTRACT[start:end] for start, end in sentences(CONTRACT)] == [
        "Master agreement",
        "Acme Ltd. and Dr. Smith's company agree on 15. December 2026 that the service starts.",
        "The monthly fee is EUR 1,240.00, due by 12/15/2026.",
        "The contract renews automatically for twelve months.",
        "We guarantee zero downtime for all customers!",
        "Liability is uncapped.",
        "The weather was nice.",
        "It rained, too.",
    ]


def test_the_key_sentences_are_those_that_matter():
    result = analyse(CONTRACT)
    assert "The weather was nice." not in [item["text"] for item in result["sentences"]]
    assert result["summary"].startswith("Acme Ltd. and Dr. Smith's company")
    assert result["counts"] == {"sentences": len(result["sentences"]), "dates": 2, "amounts": 1, "risks": 5}


def test_a_very_long_sentence_is_shortened_at_a_word():
    (item,) = analyse("word " * 500)["sentences"]
    assert len(item["text"]) <= 400
    assert item["text"].endswith("word")


def test_long_lists_are_shortened_but_counted():
    result = analyse("EUR 29, " * 1000)
    assert len(result["amounts"]) == 500
    assert result["counts"]["amounts"] == 1000


@pytest.mark.parametrize("piece", [CONTRACT, "1 111", "a. ", "\n", " ", "zero\n ", "'.\")", "- ", "May ", "EUR ", "\n\r "])
def test_a_long_text_of_anything_is_read_in_linear_time(piece):
    began = time.process_time()
    analyse(piece * (300_000 // len(piece)))
    assert time.process_time() - began < 4


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        ({"input": {"text": "mine"}, "context": {"draft": "theirs"}}, "mine"),
        ({"input": {"text": "  "}, "context": {"draft": "theirs"}}, "theirs"),
        ({"context": {"draft": {"summary": "short", "counts": {}}, "more": ["a", {"b": "c"}]}}, "short\n\na\n\nc"),
        ({"input": {"message": "hello"}, "context": {}}, "hello"),
        ({"input": {"text": 5}}, ""),
        ({"input": None, "context": []}, ""),
    ],
)
def test_the_text_is_the_input_or_else_what_came_before(request_, text):
    assert text_of(request_) == text


def test_an_empty_text_is_a_failure_with_a_reason():
    assert answer({"input": {"text": " \n"}})["error"]["kind"] == "empty_result"


def test_the_prompt_decides_nothing_and_is_repeated():
    one, two = (answer({"input": {"text": CONTRACT}, "prompt": prompt}) for prompt in ("Find risks\x00", "Write a poem"))
    assert one["structured"] == two["structured"]
    assert one["provenance"]["notes"] == "asked: Find risks"


@pytest.mark.parametrize("argv", [[sys.executable, "-m", "hermes_workflow.performers.demo"], demo_argv()])
@pytest.mark.parametrize(("stdin", "code"), [('{"input": {"text": "EUR 29"}}', 0), ("{}", 1), ("[]", 2), ("nonsense", 2)])
def test_the_program_exits_with_0_only_when_it_answered(argv, stdin, code):
    done = subprocess.run(argv, input=stdin.encode(), capture_output=True, timeout=30, check=False)
    assert done.returncode == code
    assert bool(done.stderr) == (code != 0)
    if code == 0:
        assert json.loads(done.stdout)["structured"]["counts"]["amounts"] == 1


def test_the_program_starts_without_django():
    code = "import sys, hermes_workflow.performers.demo; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=30, check=True, text=True).stdout.split()
    assert not {"django", "jsonschema", "rest_framework"} & set(modules)
