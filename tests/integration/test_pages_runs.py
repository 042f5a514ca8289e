"""The pages of runs: the list and its pages, one run told whole, retry and cancel."""

import re

import pytest
from django.urls import reverse

from hermes_workflow.rights import OPERATOR, VIEWER
from runs.models import Run
from tests import builders as b
from tests.fakes import failed, structured, text
from tests.integration.approvals_builders import parked, reviewer
from tests.pages import browser, part

pytestmark = pytest.mark.django_db(transaction=True)


def operator():
    return browser(b.person("olga", OPERATOR))


def test_the_list_is_newest_first_and_filters_by_status_name_and_origin():
    done, waiting = b.started(b.output("out"), name="quick"), parked().run_id
    client = browser(reviewer("ann"))
    page = client.get("/runs/").text
    assert page.index(waiting) < page.index(done)
    for query, shown, hidden in [
        ("status=done", done, waiting),
        ("name=flow", waiting, done),
        ("origin=api&status=awaiting_approval", waiting, done),
    ]:
        page = client.get(f"/runs/?{query}").text
        assert f'data-run-id="{shown}"' in page
        assert f'data-run-id="{hidden}"' not in page
    assert "No run is like this" in client.get("/runs/?origin=chat").text


def test_pages_of_the_list_follow_each_other_both_ways(monkeypatch):
    monkeypatch.setattr("runs.listing.SIZE", 2)
    design = b.saved(b.output("out"))
    ids = [b.begun(design) for _ in range(5)][::-1]
    client = browser(reviewer("ann"))

    def shown(query: str) -> list[str]:
        page = client.get(f"/runs/{query}").text
        return [run_id for run_id in ids if f'data-run-id="{run_id}"' in page]

    assert shown("") == ids[:2]
    assert shown(f"?before={ids[1]}") == ids[2:4]
    assert shown(f"?before={ids[3]}") == ids[4:]
    assert shown(f"?after={ids[2]}") == ids[:2]


def test_a_refetch_holds_the_order_and_says_how_many_runs_are_new():
    design = b.saved(b.output("out"))
    first = b.begun(design)
    client = browser(reviewer("ann"))
    assert f"top={first}" in client.get("/runs/").text
    newer = [b.begun(design), b.begun(design)]
    page = client.get("/runs/", {"top": first}, headers=part("runs-list")).text
    assert "2 new" in page
    assert not any(f'data-run-id="{run_id}"' in page for run_id in newer)
    assert "<html" not in page


def test_the_list_says_where_each_run_is_and_offers_what_the_person_may_do(performer):
    performer.does("draft", failed("auth", "the key is wrong"))
    broken = b.started(b.agent("draft"), name="broken")
    b.work(broken)
    gate = parked()
    page = operator().get("/runs/").text
    assert "at draft: the key is wrong" in page
    assert reverse("run-retry", args=[broken]) in page
    assert "Any reviewer of default, at review" in page
    assert reverse("gate", args=[gate.pk]) not in page
    assert reverse("gate", args=[gate.pk]) in browser(reviewer("ann")).get("/runs/").text
    assert reverse("run-retry", args=[broken]) not in browser(b.person("vic", VIEWER)).get("/runs/").text


def test_the_list_asks_the_database_a_bounded_number_of_times(django_assert_max_num_queries):
    client = browser(reviewer("ann"))
    for number in range(6):
        parked(name=f"flow-{number}")
    with django_assert_max_num_queries(30):
        client.get("/runs/")


def test_a_run_is_told_step_by_step(performer):
    performer.does("draft", failed("rate_limited", "slow down"), structured({"risks": 2}))
    run_id = b.started(b.agent("draft"), b.condition("risky", "out.draft.risks > 0"), b.approval("review"), b.output("out"))
    b.work(run_id)
    Run.objects.get(pk=run_id).attempts.update(ready_at=Run.objects.get(pk=run_id).created_at)
    b.work(run_id)
    page = browser(reviewer("ann")).get(f"/runs/{run_id}/").text
    for said in [
        "2 attempts",
        "rate_limited",
        "slow down",
        "out.draft.risks &gt; 0 is true",
        "Asks any reviewer of default",
        "Waiting for an answer from any reviewer of default.",
        "There is no deadline",
        "1 step to come",
        "gate.opened",
        "&quot;risks&quot;: 2",
    ]:
        assert said in page, said
    assert 'class="g-node g-waiting" data-node-id="review"' in page
    assert f"/ws/runs/{run_id}/?seq={b.document(run_id)['seq']}" in page


@pytest.mark.parametrize("prefix", [6, 8, 31])
def test_the_beginning_of_an_id_leads_to_the_run(prefix):
    run_id = b.started(b.output("out"))
    assert browser(reviewer("ann")).get(f"/runs/{run_id[:prefix]}/").headers["Location"] == f"/runs/{run_id}/"


def test_a_failed_run_is_retried_pinned_or_with_the_current_version(performer):
    performer.does("draft", failed("auth"), failed("auth"), text("fine"))
    run_id = b.started(b.agent("draft"), b.output("out"))
    b.work(run_id)
    client = operator()
    assert client.post(f"/runs/{run_id}/retry/", {"version": "pinned"}).status_code == 302
    b.work(run_id)
    b.saved(b.agent("draft"), b.output("out"), b.output("more"))
    assert "Retry with v2" in client.get(f"/runs/{run_id}/").text
    assert client.post(f"/runs/{run_id}/retry/", {"version": "current"}).status_code == 302
    b.work(run_id)
    assert (b.document(run_id)["status"], b.document(run_id)["version"]) == ("done", 2)


@pytest.mark.parametrize("version", ["newest", "", "1"])
def test_a_retry_that_makes_no_sense_is_refused_in_place(version):
    run_id = b.started(b.approval("review"))
    response = operator().post(f"/runs/{run_id}/retry/", {"version": version})
    assert response.status_code == 400
    assert "Not done." in response.text


def test_a_running_gate_is_not_retried_and_the_page_says_why():
    run_id = parked().run_id
    response = operator().post(f"/runs/{run_id}/retry/", {"version": "pinned"})
    assert response.status_code == 409
    assert "answer it" in response.text


def test_only_who_may_stops_a_run():
    run_id = parked().run_id
    assert browser(reviewer("ann")).post(f"/runs/{run_id}/cancel/").status_code == 403
    assert operator().post(f"/runs/{run_id}/cancel/", {"reason": "x" * 501}).status_code == 400
    assert operator().post(f"/runs/{run_id}/cancel/", {"reason": "Twice"}).status_code == 302
    page = operator().get("/runs/").text
    assert "By olga: “Twice”" in page


def test_a_cancelled_run_says_who_stopped_it_when_and_why():
    run_id = parked().run_id
    operator().post(f"/runs/{run_id}/cancel/", {"reason": "Sent <twice>"})
    page = operator().get(f"/runs/{run_id}/").text
    assert re.search(r"<strong>Cancelled by olga at \d\d:\d\d:</strong> Sent &lt;twice&gt;", page)


def test_a_run_cancelled_without_a_reason_says_so():
    run_id = parked().run_id
    operator().post(f"/runs/{run_id}/cancel/")
    assert "No reason was given." in operator().get(f"/runs/{run_id}/").text


@pytest.mark.parametrize("path", ["retry", "cancel"])
def test_what_changes_a_run_takes_only_a_post(path):
    run_id = parked().run_id
    assert operator().get(f"/runs/{run_id}/{path}/").status_code == 405
    assert Run.objects.get(pk=run_id).status == "awaiting_approval"


def test_hostile_outputs_are_shown_and_cannot_act(performer):
    performer.does("draft", structured({"<b>x</b>": "</pre><script>alert(1)</script>", "bidi": "a\u202eb"}))
    run_id = b.started(b.agent("draft"), b.output("out"))
    b.work(run_id)
    page = browser(reviewer("ann")).get(f"/runs/{run_id}/").text
    assert "<script>alert" not in page
    assert "\u202e" not in page
    assert "U+202E" in page


def test_an_output_too_large_for_a_page_is_a_link(performer):
    performer.does("draft", structured({"big": "y" * 70_000}))
    run_id = b.started(b.agent("draft"), b.output("out"))
    b.work(run_id)
    page = browser(reviewer("ann")).get(f"/runs/{run_id}/").text
    assert f'href="/api/runs/{run_id}/outputs/draft/"' in page
    assert "y" * 1000 not in page
