"""Webhooks on pages: what the design's page says of its webhook, what an admin decides, what the editor offers."""

import pytest
from django.test import Client

from hermes_workflow import services
from hermes_workflow.models import Hook
from hermes_workflow.rights import ADMIN, DESIGNER, VIEWER
from tests import builders as b
from tests.integration.admin_forms import Form

pytestmark = pytest.mark.django_db


@pytest.fixture
def hook(performer):
    b.profile()
    document = b.design(b.trigger(hook="orders"), b.approval("review"))
    services.save_design(principal=b.person("dora", DESIGNER), name="flow", document=document)
    return Hook.objects.get()


def client(*roles):
    signed_in = Client()
    signed_in.force_login(b.person("-".join(roles), *roles).user)
    return signed_in


def change(hook, **given):
    return client(ADMIN).post(f"/admin/hermes_workflow/hook/{hook.pk}/change/", given)


def test_the_design_s_page_says_where_to_call_and_what_is_missing(hook, monkeypatch):
    page = client(VIEWER).get("/designs/flow/").content.decode()
    assert 'data-hook="orders"' in page
    assert "/api/hooks/orders/" in page
    assert "HERMES_HOOK_ORDERS is not set in this web process" in page
    monkeypatch.setenv("HERMES_HOOK_ORDERS", "the-secret-value")
    page = client(VIEWER).get("/designs/flow/").content.decode()
    assert "A call starts nothing now" not in page
    assert "the-secret-value" not in page
    hook.owner.groups.clear()
    assert "may not start this design" in client(VIEWER).get("/designs/flow/").content.decode()
    Hook.objects.update(owner=None)
    assert "belong to nobody" in client(VIEWER).get("/designs/flow/").content.decode()
    Hook.objects.update(enabled=False)
    assert "switched off" in client(VIEWER).get("/designs/flow/").content.decode()


def test_an_admin_switches_it_off_lets_it_send_and_names_another_secret(hook):
    assert change(hook, may_send="on", owner=hook.owner_id, secret_env="OTHER_SECRET").status_code == 302
    hook.refresh_from_db()
    assert (hook.enabled, hook.may_send, hook.secret_env, hook.slug) == (False, True, "OTHER_SECRET", "orders")


@pytest.mark.parametrize("name", ["", "two words", "sk-proj-abcdefghijklmnop1234", "HERMES_SECRET_KEY"])
def test_a_secret_is_named_and_never_given(hook, name):
    answer = change(hook, enabled="on", owner=hook.owner_id, secret_env=name)
    assert list(answer.context["adminform"].form.errors) == ["secret_env"]


def test_runs_are_given_only_to_somebody_who_may_start_the_design(hook):
    viewer = b.person("vera", VIEWER).user
    assert list(change(hook, enabled="on", owner=viewer.pk, secret_env="X").context["adminform"].form.errors) == ["owner"]
    hook.owner.groups.clear()
    assert change(hook, owner=hook.owner_id, secret_env="X").status_code == 302
    assert not Hook.objects.get().enabled


def test_a_webhook_is_neither_made_nor_removed_by_hand_nor_seen_by_designers(hook):
    assert client(ADMIN).get("/admin/hermes_workflow/hook/add/").status_code == 403
    assert client(ADMIN).post(f"/admin/hermes_workflow/hook/{hook.pk}/delete/", {"post": "yes"}).status_code == 403
    assert client(DESIGNER).get("/admin/hermes_workflow/hook/").status_code == 403


def test_the_editor_offers_the_models_of_one_s_profiles_and_says_when_a_slug_is_taken(hook):
    b.profile("mill", model="small", catalogue=["large"], allow_model_override=True)
    b.profile("secret", model="of-others-only", is_open=False)
    editor = client(DESIGNER)
    page = editor.get("/admin/hermes_workflow/design/add/").content.decode()
    assert '<option value="large">mill</option>' in page
    assert "of-others-only" not in page
    form = Form()
    form.feed(page)
    fields = {**form.fields, "name": ["second"], "n0-hook": ["orders"], "action": ["save"]}
    answer = editor.post("/admin/hermes_workflow/design/add/", fields)
    assert answer.status_code == 422
    again = Form()
    again.feed(answer.content.decode())
    assert ("start", "hook") in again.defects
