"""The run page shows what is known of an attempt: where it ran, how it ended, what the performer printed."""

import re
import sys

import pytest

from tests import builders as b
from tests.integration.approvals_builders import reviewer
from tests.pages import browser

pytestmark = pytest.mark.django_db(transaction=True)


def page_of(code: str, **more: object) -> str:
    """The page of a run whose one agent step was performed by the Python program `code`."""
    b.profile(performer="subprocess", settings={"argv": [sys.executable, "-I", "-S", "-c", code]})
    run_id = b.started(b.agent("draft", **more))
    b.work(run_id)
    return browser(reviewer("ann")).get(f"/runs/{run_id}/").text


def facts_in(page: str) -> dict[str, str]:
    """The facts of the first attempt, tags left out."""
    shown = page.partition('<ul class="attempts">')[2].partition("</dl>")[0]
    return {label: re.sub(r"<[^>]+>", "", value) for label, value in re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", shown)}


def test_a_failed_attempt_shows_its_exit_code_and_what_it_printed():
    page = page_of("import sys; print('half <b>done</b>'); print('no such\\u202e file', file=sys.stderr); sys.exit(3)")
    facts = facts_in(page)
    assert (facts["Exit code"], facts["Profile"], facts["Reason"]) == ("3", "default", "nonzero_exit")
    assert facts["Worker"]
    assert facts["Began"]
    assert facts["Ended"]
    printed = page.partition("Printed by the performer, not verified")[2]
    assert "half &lt;b&gt;done&lt;/b&gt;" in printed
    assert "no such[U+202E] file" in printed
    assert re.search(r'<details class="step-more"[^>]* open>', page)


def test_an_answer_that_does_not_fit_is_shown_as_the_agent_gave_it():
    page = page_of('print(\'{"structured": {"risks": "many"}}\')', schema={"properties": {"risks": {"type": "integer"}}})
    assert "invalid_output" in page
    assert "{&quot;structured&quot;: {&quot;risks&quot;: &quot;many&quot;}}" in page.partition("Printed by the performer")[2]


def test_an_attempt_that_went_well_shows_where_it_ran_and_prints_nothing():
    page = page_of('print(\'{"output": "fine"}\')')
    assert facts_in(page)["Profile"] == "default"
    assert "Exit code" not in page
    assert "Printed by the performer" not in page


def test_an_attempt_without_a_transcript_shows_what_the_server_knows(performer):
    run_id = b.started(b.agent("draft"))
    b.work(run_id)
    assert set(facts_in(browser(reviewer("ann")).get(f"/runs/{run_id}/").text)) == {"Worker", "Ended"}
