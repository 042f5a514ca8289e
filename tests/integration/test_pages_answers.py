"""Answering on pages: with and without JavaScript, once, bound to what was shown, refused in place."""

import json

import pytest
from django.test import Client
from django.urls import reverse

from approvals.models import Decision
from approvals.services import answer_gate
from hermes_workflow.rights import OPERATOR, VIEWER
from runs.models import Gate, Run
from tests import builders as b
from tests.fakes import text
from tests.integration.approvals_builders import closed_profile, parked, reviewer
from tests.pages import browser, part

pytestmark = pytest.mark.django_db(transaction=True)

HTMX = part("gate-detail")


def send(client: Client, gate: Gate, answer: str = "approve", *, htmx: bool = False, **more: str):
    form = {"answer": answer, "digest": gate.digest, "idempotency_key": "k1", "comment": "", **more}
    return client.post(reverse("answer", args=[gate.pk]), form, headers=HTMX if htmx else {})


def test_an_answer_without_javascript_is_recorded_and_leads_on_to_the_next_gate():
    first, second = parked(), parked(name="other")
    response = send(browser(reviewer("ann")), first, comment="Fine.\r\nReally.")
    assert response.headers["Location"] == reverse("gate", args=[second.pk])
    decision = Decision.objects.get()
    assert (decision.answer, decision.comment, decision.channel, decision.digest_seen) == ("approve", "Fine.\nReally.", "web", first.digest)
    assert Run.objects.get(pk=first.run_id).status == "done"


def test_the_last_answer_leads_to_the_empty_inbox_which_says_what_was_recorded():
    response = browser(reviewer("ann")).post(
        reverse("answer", args=[(gate := parked()).pk]), {"answer": "approve", "digest": gate.digest}, follow=True
    )
    assert "approve recorded for flow." in response.text
    assert "Nothing waits for you" in response.text


def test_an_answer_with_htmx_brings_the_next_gate_and_tells_the_page():
    first, second = parked(), parked(name="other")
    response = send(browser(reviewer("ann")), first, htmx=True)
    assert f'data-gate-id="{second.pk}"' in response.text
    assert response.headers["HX-Push-Url"] == reverse("gate", args=[second.pk])
    assert json.loads(response.headers["HX-Trigger"])["hermes:answered"]["href"] == reverse("run", args=[first.run_id])
    assert "<html" not in response.text


def test_the_same_form_sent_twice_is_one_decision_and_no_error():
    gate, client = parked(), browser(reviewer("ann"))
    assert send(client, gate).status_code == send(client, gate).status_code == 302
    assert Decision.objects.count() == 1


@pytest.mark.parametrize("htmx", [True, False])
def test_who_comes_second_sees_the_winner_and_keeps_the_comment(htmx):
    gate, client = parked(), browser(reviewer("ann"))
    answer_gate(principal=reviewer("ben"), gate_id=gate.pk, answer="reject", channel="web")
    response = send(client, gate, htmx=htmx, comment="I had a reason")
    assert response.status_code == 409
    assert 'data-problem="lost"' in response.text
    assert "Answered by ben: reject" in response.text
    assert "in the inbox" in response.text
    assert htmx or "I had a reason" in response.text
    assert Decision.objects.count() == 1


@pytest.mark.parametrize("htmx", [True, False])
def test_a_stale_digest_is_refused_and_shown_again(htmx):
    gate = parked()
    response = send(browser(reviewer("ann")), gate, htmx=htmx, digest="sha256:" + "0" * 64)
    assert response.status_code == 409
    assert 'data-problem="stale"' in response.text
    assert reverse("gate", args=[gate.pk]) in response.text
    assert not Decision.objects.exists()


@pytest.mark.parametrize(
    ("form", "status"),
    [
        ({"answer": "maybe"}, 400),
        ({"answer": "Approve"}, 400),
        ({"answer": ""}, 400),
        ({"comment": "x" * 2001}, 400),
        ({"idempotency_key": "k" * 256}, 400),
    ],
)
@pytest.mark.parametrize("htmx", [True, False])
def test_a_hostile_form_is_refused_in_place_and_changes_nothing(form, status, htmx):
    gate = parked()
    response = send(browser(reviewer("ann")), gate, htmx=htmx, **form)
    assert response.status_code == status
    assert 'data-problem="refused"' in response.text
    assert Gate.objects.get(pk=gate.pk).status == "open"


def test_following_the_address_of_an_answer_changes_nothing():
    gate, client = parked(), browser(reviewer("ann"))
    for method in (client.get, client.head):
        assert method(reverse("answer", args=[gate.pk])).headers["Location"] == reverse("gate", args=[gate.pk])
        assert method(reverse("gate", args=[gate.pk])).status_code == 200
    assert Gate.objects.get(pk=gate.pk).status == "open"


def test_an_answer_without_the_token_of_the_form_is_refused():
    gate = parked()
    assert send(browser(reviewer("ann"), enforce_csrf_checks=True), gate).status_code == 403
    assert not Decision.objects.exists()


@pytest.mark.parametrize("role", [VIEWER, OPERATOR])
def test_who_may_only_look_sees_why_and_has_no_buttons(role):
    gate, client = parked(), browser(b.person("vic", role))
    page = client.get(reverse("gate", args=[gate.pk]))
    assert "needs the role reviewer or admin" in page.text
    assert 'name="answer"' not in page.text
    assert send(client, gate).status_code == 403


def test_a_foreign_gate_is_not_there():
    secret = closed_profile(reviewer("ann"))
    run_id = b.begun(b.saved(b.approval("review"), name="covert", profile=secret.name))
    gate, client = Gate.objects.get(run_id=run_id), browser(reviewer("eve"))
    assert client.get(reverse("gate", args=[gate.pk])).status_code == 404
    assert client.get(reverse("run", args=[run_id])).status_code == 404
    assert send(client, gate).status_code == 404
    assert "covert" not in client.get(reverse("inbox"), {"show": "everyone"}).text


def test_a_gate_is_answered_in_place_on_its_run():
    gate, client = parked(), browser(reviewer("ann"))
    assert 'name="answer" value="approve"' in client.get(reverse("run", args=[gate.run_id])).text
    address = reverse("run-answer", args=[gate.run_id, gate.pk])
    form = {"answer": "approve", "digest": gate.digest}
    response = client.post(address, form, headers=part("run-page"))
    assert 'id="run-page"' in response.text
    assert "Done" in response.text
    assert client.post(address, form).status_code == 409
    assert client.post(reverse("run-answer", args=["0" * 32, gate.pk]), form).status_code == 404


def test_a_step_for_the_chat_agent_is_performed_from_the_page():
    b.profile(performer="none")
    run_id = b.started(b.agent("draft"), b.condition("good", 'out.draft.mood == "fine"'), b.output("out"))
    gate, client = Gate.objects.get(run_id=run_id), browser(reviewer("ann"))
    shown = client.get(reverse("gate", args=[gate.pk])).text
    assert "do draft" in shown
    form = {"digest": gate.digest, "as": "structured"}
    broken = client.post(reverse("answer", args=[gate.pk]), {**form, "result": '{"mood": NaN}'})
    assert broken.status_code == 400
    assert "{&quot;mood&quot;: NaN}" in broken.text
    assert client.post(reverse("answer", args=[gate.pk]), {**form, "result": '{"mood": "fine"}'}).status_code == 302
    assert b.document(run_id)["outputs"]["draft"] == {"mood": "fine"}
    assert b.document(run_id)["status"] == "done"


def test_what_an_agent_wrote_is_shown_in_its_box_and_cannot_act(performer):
    performer.does("draft", text("# Hi\n<script>alert(1)</script> ![x](https://evil.example/x.png)\u200b"))
    run_id = b.started(b.agent("draft"), b.approval("review"), b.output("out"))
    b.work(run_id)
    shown = browser(reviewer("ann")).get(reverse("gate", args=[Gate.objects.get(run_id=run_id).pk])).text
    assert "<script>alert" not in shown
    assert "<img" not in shown
    assert "U+200B" in shown
    assert shown.index('class="agent-box"') < shown.index("Hi</h3>")


def test_who_performs_a_step_sees_the_prompt_and_the_schema_on_both_pages():
    b.profile(performer="none")
    run_id = b.started(b.agent("draft", schema={"type": "object", "required": ["mood"]}), b.output("out"))
    gate, client = Gate.objects.get(run_id=run_id), browser(reviewer("ann"))
    for address in (reverse("gate", args=[gate.pk]), reverse("run", args=[run_id])):
        page = client.get(address).text
        assert "What the agent is asked" in page
        assert "&quot;required&quot;" in page
        assert page.index("Send as structured") < page.index("Send as text")
        assert "anyone who may perform steps of profile default" in page
