"""The history of a run in plain sentences, before its raw events."""

import pytest

from hermes_workflow.core import events as e
from hermes_workflow.rights import OPERATOR
from runs.models import Event, Run
from runs.telling import HOW, TELLERS, told
from tests import builders as b
from tests.fakes import failed, structured
from tests.integration.approvals_builders import reviewer
from tests.pages import browser

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_history_says_who_did_what(performer):
    performer.does("draft", failed("auth", "the key is wrong"), structured({"risks": 2}))
    run_id = b.started(b.agent("draft"), b.condition("risky", "out.draft.risks > 0"), b.approval("review"), b.output("out"))
    b.work(run_id)
    olga = browser(b.person("olga", OPERATOR))
    olga.post(f"/runs/{run_id}/retry/", {"version": "pinned"})
    b.work(run_id)
    b.vote(run_id, "review", "approve", by="rita", comment="<b>fine</b>")
    page = browser(reviewer("ann")).get(f"/runs/{run_id}/").text
    for said in [
        "root started the run from api, version 1",
        "Attempt 1 of draft failed: the key is wrong",
        "The run failed at draft: the key is wrong",
        "olga retried the run at draft",
        "risky is true",
        "review waits to be answered",
        "rita answered approve at review: “&lt;b&gt;fine&lt;/b&gt;”",
    ]:
        assert f'<td class="main">{said}' in page, said


def test_every_event_has_its_sentence():
    names = {value for name, value in vars(e).items() if name.isupper() and isinstance(value, str)}
    assert names == HOW.keys() | TELLERS.keys()


@pytest.mark.parametrize("type_", sorted([*HOW, *TELLERS, "of.tomorrow"]))
def test_an_event_that_says_little_is_told_too(type_):
    assert told(Event(type=type_, key="draft", data={}), Run(origin="api"))


def test_cancelling_can_be_thought_better_of():
    run_id = b.started(b.approval("review"))
    page = browser(b.person("olga", OPERATOR)).get(f"/runs/{run_id}/").text
    assert '<button class="btn" type="button" data-close-dialog>Keep running</button>' in page
