"""An admin changes a design in the browser: typed fields, defects at once, saved, started on real input."""

import json
import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth.models import User

from hermes_workflow.installation import create_designs, create_first_admin, create_profiles, create_roles
from hermes_workflow.models import Design, Profile
from runs.models import Run

PHONE = {"width": 390, "height": 844}


@pytest.fixture
def password(live_server_url, tmp_path):
    create_roles()
    create_profiles()
    secret = create_first_admin(tmp_path / "admin-password")
    create_designs()
    return secret


@pytest.fixture
def complaints(page, live_server_url):
    found: list[str] = []
    page.on("console", lambda message: found.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: found.append(str(error)))
    page.on("request", lambda request: None if request.url.startswith((live_server_url, "data:")) else found.append(request.url))
    return found


def sign_in_by_hand(page, live_server_url, password):
    page.goto(live_server_url + "/admin/")
    page.locator("[name=username]").fill("admin")
    page.locator("[name=password]").fill(password)
    page.keyboard.press("Enter")
    page.wait_for_url(live_server_url + "/admin/")


def card(page, name):
    return page.locator(f'.node-card[data-node-id="{name}"]')


def test_an_admin_changes_a_shipped_design_and_starts_it(page, complaints, live_server_url, password):
    sign_in_by_hand(page, live_server_url, password)
    page.get_by_role("link", name="Designs", exact=True).first.click()
    page.locator("#result_list tbody tr").nth(2).wait_for()
    assert page.locator("#result_list tbody tr").count() == 3
    page.get_by_role("link", name="contract-check").click()

    card(page, "extract").get_by_label("Retries").fill("7")
    card(page, "risky").get_by_label("Expression").fill("out.extrct.counts.risks > 0")
    page.locator("#e-summary [data-defect]").nth(1).wait_for()
    assert card(page, "extract").locator("[data-field=retries]").inner_text().startswith("must be a whole number from 0 to 3")
    page.locator(".e-bar").get_by_role("link", name="2 defects").click()
    assert page.evaluate("document.activeElement.id") == "defects"
    assert page.get_by_text("F8 Next defect").is_visible()
    assert "there is no node" in card(page, "risky").locator("[data-field=expression]").inner_text()
    assert card(page, "risky").get_by_label("Expression").input_value() == "out.extrct.counts.risks > 0"

    page.get_by_role("button", name=re.compile("Save version 2")).click()
    page.get_by_role("alert").wait_for()
    assert Design.objects.get(slug="contract-check").versions.count() == 1
    page.keyboard.press("F8")
    assert page.evaluate("document.activeElement.name") == "n1-retries"
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("2")
    card(page, "risky").get_by_role("button", name="out.extract.", exact=True).click()
    assert card(page, "risky").get_by_label("Expression").input_value() == "out.extract. > 0"
    page.keyboard.type("counts.risks")

    card(page, "risky").get_by_text("Add below").click()
    card(page, "risky").get_by_role("button", name="Approval").click()
    card(page, "review").get_by_label("Question").fill("Is this worth a lawyer's time?")
    card(page, "review").get_by_placeholder("Add user:name").fill("group:reviewer")
    page.keyboard.press("Enter")
    card(page, "legal_review").get_by_label("risky", exact=True).uncheck()
    card(page, "legal_review").get_by_label("review", exact=True).check()
    card(page, "about").get_by_role("button", name="Remove").click()
    card(page, "about").wait_for(state="detached")
    page.get_by_label("Note for this version").fill("Ask twice")

    page.get_by_role("button", name="JSON").click()
    document = json.loads(page.get_by_label("Document").input_value())
    assert [node["id"] for node in document["nodes"]][2:5] == ["risky", "review", "legal_review"]
    assert document["nodes"][4]["after"] == ["review"]
    assert document["nodes"][1]["x"] == 280
    page.get_by_role("button", name="Fields").click()

    page.get_by_role("button", name="Save and start").click()
    page.wait_for_url("**/start/")
    saved = Design.objects.get(slug="contract-check").current
    assert (saved.number, saved.note) == (2, "Ask twice")
    assert saved.document["nodes"][3]["assignees"] == ["group:reviewer"]
    page.get_by_label("Text", exact=True).fill("The supplier shall be liable without limit. Payment of EUR 900 is due on 2026-03-01.")
    page.get_by_role("button", name="Start the run").click()
    page.wait_for_url("**/runs/*/")
    assert Run.objects.get().version == saved
    assert [line for line in complaints if "422 (Unprocessable Entity)" not in line] == [], "the refused save is the browser's one remark"


def test_a_new_name_is_shown_at_once_wherever_the_old_one_was(page, complaints, live_server_url, password, sign_in):
    sign_in(User.objects.get(username="admin"))
    design = Design.objects.get(slug="contract-check")
    page.goto(f"{live_server_url}/admin/hermes_workflow/design/{design.pk}/change/")
    for name in ("reading", "finding"):
        page.locator("[name=n1-id]").fill(name)
        page.locator("[name=n1-id]").blur()
        assert card(page, name).get_by_role("heading").inner_text().startswith(name)
        assert card(page, "risky").get_by_label(name, exact=True).is_checked()
        assert card(page, "risky").get_by_label("Expression").input_value().startswith(f"out.{name}.")
        assert card(page, "risky").get_by_role("button", name=f"out.{name}.", exact=True).is_visible()
    page.get_by_role("button", name=re.compile("Save version 2")).click()
    page.get_by_text("version 2 is saved").wait_for()
    nodes = Design.objects.select_related("current").get(slug="contract-check").current.document["nodes"]
    assert nodes[1]["id"] == "finding"
    assert nodes[2]["after"] == ["finding"]
    assert nodes[2]["expression"].startswith("out.finding.")
    assert complaints == []


def test_a_file_is_chosen_on_the_start_page_without_an_error(page, complaints, live_server_url, password, sign_in):
    sign_in(User.objects.get(username="admin"))
    page.goto(f"{live_server_url}/admin/hermes_workflow/design/{Design.objects.get(slug='contract-check').pk}/start/")
    page.get_by_label("Or a text file").set_input_files({"name": "offer.txt", "mimeType": "text/plain", "buffer": b"The fee is EUR 9."})
    page.get_by_role("button", name="Start the run").click()
    page.wait_for_url("**/runs/*/")
    assert complaints == []


def test_the_editor_works_without_scripts(browser, live_server_url, password):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    sign_in_by_hand(page, live_server_url, password)
    page.goto(f"{live_server_url}/admin/hermes_workflow/design/{Design.objects.get(slug='meeting-notes').pk}/change/")
    page.get_by_role("group", name="Add a node at the end").get_by_role("button", name="Agent").click()
    card(page, "work").get_by_role("button", name="Up").click()
    page.get_by_role("button", name=re.compile("Save version 2")).click()
    assert page.locator("#e-summary [data-defect]").count() == 1
    card(page, "work").get_by_label("Prompt").fill("Summarise.")
    page.get_by_role("button", name=re.compile("Save version 2")).click()
    page.get_by_text("version 2 is saved").wait_for()
    context.close()
    assert Design.objects.get(slug="meeting-notes").current.number == 2


@pytest.mark.parametrize("viewport", [PHONE, {"width": 1280, "height": 900}], ids=["phone", "desktop"])
def test_everything_on_the_pages_of_a_design_is_in_a_landmark(page, live_server_url, password, sign_in, viewport):
    sign_in(User.objects.get(username="admin"))
    page.set_viewport_size(viewport)
    one = f"hermes_workflow/design/{Design.objects.get(slug='contract-check').pk}"
    for path in ("hermes_workflow/design/add/", f"{one}/change/", f"{one}/start/", f"{one}/versions/", f"{one}/delete/"):
        page.goto(f"{live_server_url}/admin/{path}", wait_until="load")
        found = Axe().run(page, options={"runOnly": ["region", "landmark-one-main", "landmark-unique"]}).response["violations"]
        assert [(path, rule["id"], node["html"][:200]) for rule in found for node in rule["nodes"]] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [PHONE, {"width": 1280, "height": 900}], ids=["phone", "desktop"])
def test_no_page_of_the_admin_complains_or_scrolls_sideways(page, complaints, live_server_url, password, sign_in, scheme, viewport):
    sign_in(User.objects.get(username="admin"))
    page.set_viewport_size(viewport)
    page.emulate_media(color_scheme=scheme)
    pk = Design.objects.get(slug="contract-check").pk
    one, profile = f"hermes_workflow/design/{pk}", f"hermes_workflow/profile/{Profile.objects.get(name='demo').pk}"
    paths = (
        "", "hermes_workflow/design/", "hermes_workflow/design/add/", f"{one}/change/", f"{one}/versions/", f"{one}/versions/1/",
        f"{one}/start/", f"{one}/delete/", "hermes_workflow/profile/", f"{profile}/change/", f"{profile}/test/",
        "hermes_workflow/hook/", "hermes_workflow/token/add/",
        "auth/user/", "auth/user/add/", "auth/user/1/change/", "auth/group/", "runs/run/", "runs/event/", "approvals/decision/",
    )  # fmt: skip
    for path in paths:
        page.goto(f"{live_server_url}/admin/{path}", wait_until="load")
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= viewport["width"], path
    assert complaints == []
