"""The main job in two browsers: a run is started on a text, parks, is answered in the inbox, and both pages follow by themselves."""

import json
import os
import re
from typing import Any

import pytest

from approvals.services import answer_gate
from hermes_workflow.models import Profile
from runs import worker
from runs.models import Gate, Notice, Run

# Two seconds is the promise; a machine with more to do than it has processors may take longer, which says nothing about us.
SOON_MS = 2000 if os.getloadavg()[0] <= 1.5 * (os.cpu_count() or 1) else 10_000
CONTRACT = "The supplier guarantees uptime of 100 %. The fee is EUR 29 per seat.\u200b Payment is due on 15 December 2026."

pytestmark = pytest.mark.django_db(transaction=True)


def start(olga: Any, text: str = CONTRACT, design: str = "contract-check") -> str:
    """Start a run on a pasted text, from the page of its design."""
    olga.goto(f"/designs/{design}/")
    olga.page.get_by_label("Text to work on").fill(text)
    olga.page.get_by_role("button", name="Start run").click()
    olga.page.wait_for_url(re.compile(r"/runs/[a-f0-9]{32}/"))
    olga.page.evaluate("window.stayed = true")
    return str(olga.page.url.rstrip("/").rpartition("/")[2])


def work(run_id: str) -> None:
    """What the workers do meanwhile."""
    worker.drain(run_id=run_id)


def ready(ann: Any) -> None:
    """Wait until the gate that is shown takes answers."""
    ann.page.locator('button[name="answer"]:not([aria-disabled])').first.wait_for()


def test_from_a_pasted_text_to_a_receipt(seat, people):
    olga, ann = seat(people["olga"]), seat(people["ann"])
    ann.goto("/inbox/")
    assert ann.page.get_by_text("Nothing waits for you").first.is_visible()

    run_id = start(olga)
    work(run_id)

    row = ann.page.locator(".gate-row", has_text="risky wording")
    row.wait_for(timeout=SOON_MS)
    assert ann.page.locator("#inbox-badge-top").inner_text().startswith("1")
    olga.page.get_by_text("Needs approval").first.wait_for(timeout=SOON_MS)
    assert ann.stayed()
    assert olga.stayed()

    row.locator("a").click()
    ann.page.wait_for_url(re.compile(r"/inbox/\d+/"))
    detail = ann.page.locator("#gate-detail")
    detail.get_by_text("Agent output, not verified").wait_for()
    assert "guarantees" in detail.inner_text()
    assert "U+200B" in detail.inner_text()
    assert "What your answer does" in detail.inner_text()
    detail.get_by_placeholder("Add a comment").fill("Checked with legal.")
    detail.get_by_role("button", name="approve").click()

    ann.page.get_by_text("approve recorded").wait_for(timeout=SOON_MS)
    olga.page.get_by_text("ann answered approve:").wait_for(timeout=SOON_MS)
    work(run_id)
    olga.page.locator(".chip-done").wait_for(timeout=SOON_MS)
    assert olga.stayed()
    assert ann.stayed()

    olga.page.get_by_text("Checked with legal.").first.wait_for()
    olga.page.get_by_role("tab", name="Outputs").click()
    assert "guarantees" in olga.page.locator("#panel-outputs").inner_text()
    olga.page.get_by_role("tab", name="History").click()
    assert "run.completed" in olga.page.locator("#panel-history").inner_text()
    olga.page.get_by_role("tab", name="Receipt").click()
    with olga.page.expect_download() as waiting:
        olga.page.get_by_role("link", name="Download JSON").click()
    receipt = json.loads(waiting.value.path().read_text())
    assert receipt["gates"][0]["decisions"][0]["by"] == "ann"
    assert Notice.objects.get().user == people["olga"].user
    assert olga.page.locator("#bell-badge").inner_text() == "1"
    olga.page.locator("#bell summary").click()
    olga.page.get_by_text("Mark all read").click()
    olga.page.locator("#bell-badge", has_text=re.compile("^$")).wait_for(state="attached", timeout=SOON_MS)


def test_an_uploaded_file_is_what_the_run_works_on(seat, people, tmp_path):
    file = tmp_path / "contract.txt"
    file.write_text(CONTRACT)
    olga = seat(people["olga"])
    olga.goto("/designs/contract-check/")
    olga.page.get_by_label("Text file").set_input_files(file)
    olga.page.get_by_role("button", name="Start run").click()
    olga.page.wait_for_url(re.compile(r"/runs/[a-f0-9]{32}/"))
    olga.page.get_by_text("Input: contract.txt").wait_for()
    run = Run.objects.get()
    work(run.pk)
    olga.page.get_by_text("Needs approval").first.wait_for(timeout=SOON_MS)


def test_an_open_page_asks_for_nothing_while_nothing_happens(seat, people):
    olga = seat(people["olga"])
    run_id = start(olga)
    work(run_id)
    olga.page.get_by_text("Needs approval").first.wait_for(timeout=SOON_MS)
    olga.page.wait_for_timeout(1000)
    before = len(olga.requests)
    olga.page.wait_for_timeout(2500)
    assert len(olga.requests) == before


def test_what_was_typed_and_armed_survives_news_from_others(seat, people):
    olga, ann = seat(people["olga"]), seat(people["ann"])
    first = start(olga)
    work(first)
    ann.goto("/inbox/")
    comment = ann.page.get_by_placeholder("Add a comment")
    comment.fill("Half a thought")
    comment.blur()
    ann.page.keyboard.press("2")
    second = start(olga)
    work(second)
    ann.page.locator(".gate-row").nth(1).wait_for(timeout=SOON_MS)
    assert comment.input_value() == "Half a thought"
    assert ann.page.locator('button[name="answer"][aria-pressed="true"]').get_attribute("value") == "send back"
    assert ann.stayed()


def test_who_is_beaten_to_it_sees_the_winner_and_keeps_the_comment(seat, people):
    olga, ann = seat(people["olga"]), seat(people["ann"])
    run_id = start(olga)
    work(run_id)
    ann.goto("/inbox/")
    ann.page.get_by_placeholder("Add a comment").fill("My reasons")
    answer_gate(principal=people["ben"], gate_id=Gate.objects.get(run_id=run_id).pk, answer="reject", channel="web")
    ann.page.get_by_text("Answered by ben: reject").first.wait_for(timeout=SOON_MS)
    ann.page.locator("#gate-detail", has_text="Your comment was not sent.").get_by_text("My reasons").wait_for()
    ann.page.evaluate("document.body.dispatchEvent(new CustomEvent('hermes:inbox'))")
    ann.page.wait_for_timeout(1000)
    assert ann.page.locator("[data-kept-comment]").get_by_text("My reasons").is_visible()
    assert ann.page.locator(".gate-row.is-answered").count() == 1
    assert ann.page.locator('button[name="answer"]').count() == 0
    olga.page.locator(".chip-failed").wait_for(timeout=SOON_MS)


def test_triage_with_the_keyboard_alone(seat, people):
    olga, ann = seat(people["olga"]), seat(people["ann"])
    for _ in range(2):
        work(start(olga))
    ann.goto("/inbox/")
    keys = ann.page.keyboard
    keys.press("j")
    keys.press("Enter")
    ann.page.wait_for_url(re.compile(r"/inbox/\d+/"))
    keys.press("1")
    keys.press("Escape")
    assert ann.page.locator('button[aria-pressed="true"][name="answer"]').count() == 0
    keys.press("c")
    keys.type("by keyboard")
    keys.press("Escape")
    keys.press("1")
    keys.press("Enter")
    ann.page.get_by_text("approve recorded").first.wait_for(timeout=SOON_MS)
    ready(ann)
    keys.press("1")
    keys.press("Enter")
    ann.page.locator("#inbox-badge-top", has_text=re.compile("^$")).wait_for(state="attached", timeout=SOON_MS)
    assert Gate.objects.filter(status="open").count() == 0
    keys.press("g")
    keys.press("r")
    ann.page.wait_for_url(re.compile(r"/runs/"))
    keys.press("?")
    assert ann.page.get_by_role("dialog", name="Keyboard shortcuts").is_visible()


def test_a_failed_run_is_retried_from_its_page(seat, people):
    olga = seat(people["olga"])
    Profile.objects.filter(name="default").update(settings={"argv": ["/nowhere/performer"]})
    run_id = start(olga)
    work(run_id)
    olga.page.locator(".chip-failed").wait_for(timeout=SOON_MS)
    assert olga.page.get_by_text("performer_missing").first.is_visible()
    olga.page.get_by_role("button", name="Retry").first.click()
    olga.page.get_by_text("The run goes on").wait_for()
    assert Run.objects.get().status == "running"


def test_a_run_is_cancelled_with_a_reason(seat, people):
    olga = seat(people["olga"])
    run_id = start(olga)
    work(run_id)
    olga.goto(f"/runs/{run_id}/")
    olga.page.get_by_role("button", name="Cancel run").first.click()
    olga.page.get_by_label("Reason").fill("Sent twice")
    olga.page.get_by_role("dialog").get_by_role("button", name="Cancel run").click()
    olga.page.locator(".chip-cancelled").wait_for()
    olga.goto("/runs/")
    olga.page.get_by_text("Sent twice").wait_for()


def test_without_javascript_the_whole_job_can_be_done(seat, people):
    olga, ann = seat(people["olga"], java_script_enabled=False), seat(people["ann"], java_script_enabled=False)
    olga.page.goto(olga.url + "/designs/contract-check/")
    olga.page.get_by_label("Text to work on").fill(CONTRACT)
    olga.page.get_by_role("button", name="Start run").click()
    run_id = Run.objects.get().pk
    work(run_id)
    ann.page.goto(ann.url + "/inbox/")
    ann.page.get_by_placeholder("Add a comment").fill("Plain")
    ann.page.get_by_role("button", name="approve").click()
    ann.page.get_by_text("approve recorded").wait_for()
    work(run_id)
    assert Run.objects.get().status == "done"
