"""The outputs of a run's page: an agent's words stand in its box alone, what the server knows stands outside."""

import re

import pytest

from approvals.services import answer_gate
from runs.models import Gate
from tests import builders as b
from tests.fakes import structured
from tests.integration.approvals_builders import reviewer
from tests.pages import browser

pytestmark = pytest.mark.django_db(transaction=True)


def boxes(page: str) -> dict[str, str]:
    """The class of each output's outermost box."""
    return {
        name: look
        for look, name in re.findall(r'<section class="(agent-box|card)" aria-labelledby="output-\d+">.*?<h2[^>]*>([^<]+)', page, re.DOTALL)
    }


def test_only_what_an_agent_said_is_in_an_agent_box(performer):
    performer.does("draft", structured({"risks": 2}))
    run_id = b.started(b.agent("draft"), b.condition("risky", "out.draft.risks > 0"), b.approval("review"), b.output("out"))
    b.work(run_id)
    ann = reviewer("ann")
    answer_gate(principal=ann, gate_id=Gate.objects.get().pk, answer="approve", comment="Fine by me.")
    page = browser(ann).get(f"/runs/{run_id}/").text
    found = boxes(page)
    assert found["draft"] == "agent-box"
    assert {key: look for key, look in found.items() if key != "draft"} == {"risky": "card", "review": "card", "out": "card"}


def test_an_output_holds_an_agents_words_in_a_box_of_their_own(performer):
    performer.does("draft", structured({"risks": 2}))
    run_id = b.started(b.agent("draft"), b.output("out"))
    b.work(run_id)
    page = browser(reviewer("ann")).get(f"/runs/{run_id}/").text
    out = page[page.index('region" aria-label="Output of out"') :]
    assert out.index('class="agent-box"') < out.index("From <code>draft</code>, not verified") < out.index("risks")


def test_the_answer_panel_of_a_run_shows_what_the_agent_found(performer):
    performer.does("draft", structured({"risks": 2, "summary": "Two <b>risks</b> were found."}))
    run_id = b.started(b.agent("draft"), b.approval("review"), b.output("out"))
    b.work(run_id)
    page = browser(reviewer("ann")).get(f"/runs/{run_id}/").text
    panel = page[page.index('id="answer"') : page.index('id="run-answer"')]
    assert (
        panel.index("Agent output, not verified") < panel.index("Two &lt;b&gt;risks&lt;/b&gt; were found.") < panel.index("Read all of it")
    )
