"""The pages in a real browser keep to the content security policy."""

import re

import pytest
from django.contrib.auth.models import User


@pytest.fixture
def complaints(page):
    """What the browser's console says of broken rules and scripts."""
    found: list[str] = []
    page.on("console", lambda message: found.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: found.append(str(error)))
    return found


def test_the_admin_works_under_its_policy(page, complaints, live_server_url, sign_in):
    sign_in(User.objects.create_superuser("root"))
    page.goto(live_server_url + "/admin/")
    page.get_by_role("link", name=re.compile("Users")).first.click()
    page.locator("#result_list").get_by_role("link", name="root").click()
    page.get_by_label("First name").fill("Ruth")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("was changed successfully").wait_for()
    assert complaints == []
