"""A click or key that comes once too often does not answer the next gate, which stands where the one before stood."""

from typing import Any

import pytest

from runs.models import Gate
from tests.acceptance.test_story import SOON_MS, start, work

pytestmark = pytest.mark.django_db(transaction=True)

READY = 'button[name="answer"]:not([aria-disabled])'


def two_gates(olga: Any) -> None:
    """Two runs of one design that ask the same question."""
    for text in ("The fee is guaranteed.", "Uptime is guaranteed."):
        work(start(olga, text))


@pytest.mark.parametrize("size", [{"width": 1280}, {"width": 390, "height": 780, "has_touch": True}])
def test_a_second_click_is_not_an_answer_to_the_next_gate(seat, people, size):
    olga, ann = seat(people["olga"]), seat(people["ann"], **size)
    two_gates(olga)
    ann.goto(f"/inbox/{Gate.objects.earliest('pk').pk}/")
    approve = ann.page.get_by_role("button", name="approve").bounding_box()
    x, y = approve["x"] + approve["width"] / 2, approve["y"] + approve["height"] / 2
    ann.page.mouse.click(x, y)
    ann.page.get_by_text("This is another gate.").wait_for(timeout=SOON_MS)
    assert ann.page.locator("#gate-question").evaluate("node => node === document.activeElement")
    ann.page.mouse.click(x, y)
    ann.page.locator(READY).first.wait_for()
    toast, bar = ann.page.locator(".toast").bounding_box(), ann.page.locator(".answer-bar").bounding_box()
    assert toast["y"] + toast["height"] <= bar["y"] or toast["x"] + toast["width"] <= bar["x"]
    assert Gate.objects.filter(status="open").count() == 1
    ann.page.get_by_role("button", name="approve").click()
    ann.page.get_by_text("approve recorded").nth(1).wait_for(timeout=SOON_MS)
    assert Gate.objects.filter(status="open").count() == 0


def test_keys_pressed_twice_are_not_an_answer_to_the_next_gate(seat, people):
    olga, ann = seat(people["olga"]), seat(people["ann"])
    two_gates(olga)
    ann.goto("/inbox/")
    for key in ("1", "Enter"):
        ann.page.keyboard.press(key)
    ann.page.get_by_text("This is another gate.").wait_for(timeout=SOON_MS)
    for key in ("1", "Enter", "Enter"):
        ann.page.keyboard.press(key)
    ann.page.locator(READY).first.wait_for()
    assert Gate.objects.filter(status="open").count() == 1
    assert ann.page.locator('button[name="answer"][aria-pressed="true"]').count() == 0


def test_a_gate_that_is_opened_from_the_list_takes_an_answer_at_once(seat, people):
    olga, ann = seat(people["olga"]), seat(people["ann"])
    two_gates(olga)
    ann.goto("/inbox/")
    last = Gate.objects.latest("pk")
    ann.page.locator(f"#gate-row-{last.pk} a").click()
    ann.page.locator(f'form[data-gate-id="{last.pk}"]').wait_for()
    assert ann.page.locator(READY).count() > 0
    assert not ann.page.get_by_text("This is another gate.").is_visible()
