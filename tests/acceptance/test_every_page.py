"""Every page, in both themes, on a desk and on a phone: nothing for axe to find, nothing that scrolls sideways."""

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from approvals.links import link_code
from hermes_workflow import timetable
from hermes_workflow.models import Schedule
from hermes_workflow.rights import Principal
from hermes_workflow.selectors import design_for
from runs import services, worker
from runs.models import Gate, Notice, Session
from tests.acceptance.conftest import Watched

pytestmark = pytest.mark.django_db(transaction=True)

RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"], "resultTypes": ["violations"]}
TEXT = "The supplier guarantees uptime of 100 %. The fee is EUR 29 per seat, due on 15 December 2026."
LONG = "averyveryveryverylongwordwithoutanyplacetobreakit" * 3


def begin(who: Principal, design: str, **given: Any) -> str:
    run, _ = services.start_run(principal=who, design=design_for(who, design), origin="web", **given)
    worker.drain(run_id=run.pk)
    return run.pk


def scheduled(who: Principal, problem: str) -> Schedule:
    """A paused schedule, and one that was set aside."""
    design = design_for(who, "contract-check")
    timetable.create(principal=who, design=design, cron="0 6 * * MON-FRI", timezone="Europe/Berlin")
    timetable.create(principal=who, design=design, cron="*/20 9-17 1,15 JAN,SEP-DEC MON-FRI", timezone="America/New_York", enabled=False)
    broken = timetable.create(principal=who, design=design, cron="@daily", input={"text": problem})
    Schedule.objects.filter(pk=broken.pk).update(problem=f"its runs would send to telegram:{problem}")
    return broken


@pytest.fixture
def lived_in(people: dict[str, Principal]) -> list[str]:
    """A site where things have happened; the addresses of its pages."""
    olga = people["olga"]
    parked = begin(olga, "contract-check", input={"text": f"{TEXT} {LONG}"})
    done = begin(olga, "contract-check", input={"text": "Plain words."})
    failed = begin(olga, "contract-check")
    asked = begin(olga, "meeting-notes", input={"text": TEXT}, perform="caller")
    Notice.objects.update(user=people["ann"].user)
    gates = {gate.run_id: gate.pk for gate in Gate.objects.all()}
    return [
        "/inbox/",
        "/inbox/?show=everyone",
        "/inbox/?show=answered",
        f"/inbox/{gates[parked]}/",
        f"/inbox/{gates[asked]}/",
        "/runs/",
        "/runs/?status=cancelled",
        "/sessions/",
        "/sessions/?profile=nobody",
        f"/sessions/{Session.objects.earliest('id').pk}/",
        *(f"/runs/{run_id}/" for run_id in (parked, done, failed, asked)),
        "/designs/",
        "/designs/contract-check/",
        "/schedules/",
        f"/schedules/{scheduled(people['dan'], LONG).pk}/",
        "/account/",
        "/account/password/",
        f"/account/link/?code={link_code('telegram', 'tg-7')}",
        "/notices/",
        "/status/",
        "/search/?q=contract",
        "/search/?q=nothing-at-all",
        "/no-such-page/",
        "/inbox/999999/",
    ]


def violations(one: Watched) -> list[str]:
    found = Axe().run(one.page, options=RULES).response["violations"]
    return [f"{rule['id']}: {node['html'][:160]}" for rule in found for node in rule["nodes"]]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_and_nothing_scrolls_sideways(seat, people, lived_in, theme, width):
    wrong = []
    for who in ("ann", "olga") if width == 1280 else ("ann",):
        one = seat(people[who], width=width, height=844, color_scheme=theme)
        for path in lived_in:
            one.goto(path)
            one.page.wait_for_timeout(50)
            wrong += [f"{who} {path} {line}" for line in violations(one)]
            if one.page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                wrong.append(f"{who} {path} scrolls sideways")
            if one.page.locator("h1").count() != 1:
                wrong.append(f"{who} {path} has {one.page.locator('h1').count()} h1")
        one.complaints = [line for line in one.complaints if "404 (Not Found)" not in line and "403 (Forbidden)" not in line]
    assert wrong == []


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (390, "dark")])
def test_a_designer_schedules_with_the_next_times_in_view(seat, people, width, theme):
    dan = seat(people["dan"], width=width, height=844, color_scheme=theme)
    dan.goto("/schedules/new/?design=contract-check")
    dan.page.get_by_label("Cron").fill("61 * * * *")
    dan.page.get_by_text("The minute must be 0-59").wait_for()
    dan.page.get_by_label("Cron").fill("15 4 * * *")
    dan.page.get_by_text("At 04:15 every day").wait_for()
    assert dan.page.locator("#next-times li").count() == 5
    assert violations(dan) == []
    dan.page.get_by_role("button", name="Make schedule").click()
    dan.page.wait_for_url("**/schedules/*/")
    assert violations(dan) == []
    dan.page.get_by_role("button", name="Pause").click()
    dan.page.get_by_text("Nothing starts until somebody resumes it").wait_for()
    dan.page.get_by_role("button", name="Delete").click()
    assert violations(dan) == []
    dan.page.get_by_role("button", name="Delete schedule").click()
    dan.page.get_by_text("Nothing starts by itself").wait_for()
    assert violations(dan) == []
    assert dan.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_sign_in_page_is_as_clean(browser, installed, theme):
    context = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme=theme)
    one = Watched(context.new_page(), installed)
    one.goto("/login/")
    assert violations(one) == []
    context.close()


def test_tabs_and_dialogs_are_clean_too(seat, people, lived_in):
    olga = seat(people["olga"])
    olga.goto(next(path for path in lived_in if path.startswith("/runs/") and "?" not in path and path != "/runs/"))
    for tab in ("Outputs", "History", "Receipt"):
        olga.page.get_by_role("tab", name=tab).click()
        assert violations(olga) == []
    olga.page.get_by_role("button", name="Cancel run").first.click()
    assert violations(olga) == []
    olga.page.keyboard.press("Escape")
    olga.page.locator("#bell summary").click()
    olga.page.get_by_text("Nothing yet").wait_for()
    assert violations(olga) == []


def test_on_a_phone_the_list_and_the_gate_are_two_pages_with_large_targets(seat, people, lived_in):
    ann = seat(people["ann"], width=390, height=844, has_touch=True)
    ann.goto("/inbox/")
    assert not ann.page.locator("#gate-detail").is_visible()
    ann.page.locator(".gate-row a").first.click()
    ann.page.wait_for_url("**/inbox/*/")
    assert not ann.page.locator(".split-list").is_visible()
    for option in ann.page.locator('button[name="answer"]').all():
        assert (option.bounding_box() or {})["height"] >= 44
    ann.page.get_by_role("button", name="Add a comment").click()
    ann.page.locator("#gate-answer-comment").fill("From my phone")
    ann.page.get_by_role("button", name="approve").click()
    ann.page.get_by_text("approve recorded").wait_for()
    assert lived_in
