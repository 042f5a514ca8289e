"""An admin sets up who performs, in a real browser: the fields of the chosen performer, a real call, the status of everything."""

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth.models import User

from hermes_workflow.installation import create_profiles, create_roles
from hermes_workflow.models import Profile

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def admin(page: Any, live_server_url: str, sign_in: Any) -> Any:
    create_roles()
    create_profiles()
    sign_in(User.objects.create_superuser("admin"))
    return page


def test_the_chosen_performer_has_its_fields_and_a_call_shows_its_answer(admin, live_server_url):
    profile = Profile.objects.get(name="demo")
    admin.goto(f"{live_server_url}/admin/hermes_workflow/profile/{profile.pk}/change/")
    assert admin.locator("[name=subprocess_argv]").is_visible()
    assert not admin.locator("[name=openai_base_url]").is_visible()
    for performer, field in (("openai", "openai_base_url"), ("hermes", "hermes_base_url"), ("subprocess", "subprocess_argv")):
        admin.locator("select[name=performer]").select_option(performer)
        shown = [name for name in ("subprocess_argv", "openai_base_url", "hermes_base_url") if admin.locator(f"[name={name}]").is_visible()]
        assert shown == [field]
    admin.get_by_role("link", name="Test").click()
    admin.get_by_role("button", name="Make one call").click()
    admin.locator('[data-outcome="ok"]').wait_for()
    assert "absolute_promise" in admin.locator(".agent-box").inner_text()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_status_page_is_clean(admin, live_server_url, theme, width):
    admin.set_viewport_size({"width": width, "height": 844})
    admin.emulate_media(color_scheme=theme)
    for path in ("/status/", "/runs/"):
        admin.goto(f"{live_server_url}{path}")
        assert admin.locator("h1").count() == 1
        assert admin.evaluate("document.documentElement.scrollWidth <= innerWidth")
        found = Axe().run(admin, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"]}).response["violations"]
        assert [(rule["id"], node["html"][:160]) for rule in found for node in rule["nodes"]] == []
