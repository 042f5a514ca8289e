"""The status page: each part that works, is missing or is silent, in words, and cheap to look at."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from hermes_workflow import services
from hermes_workflow.installation import create_profiles
from hermes_workflow.models import Channel, Profile, Schedule
from hermes_workflow.rights import ADMIN, DESIGNER, OPERATOR, REVIEWER, VIEWER
from runs import health
from runs.models import Attempt, Beacon
from tests import builders as b

pytestmark = pytest.mark.django_db


def client(*roles):
    signed_in = Client()
    signed_in.force_login(b.person("-".join(roles), *roles).user)
    return signed_in


def rows(path="/status/"):
    answer = client(ADMIN).get(path)
    assert answer.status_code == 200
    found = {part.name: (part.state, part.says) for part in answer.context["parts"]}
    for _, _, more, _ in answer.context["groups"]:
        found |= {row.name: (row.state, row.says) for row in more}
    return found


def test_a_machine_at_work_is_well():
    health.sign(health.PULSE)
    health.sign(health.WORKERS)
    found = rows()
    assert [found[name][0] for name in ("Database", "Workers", "Pulse", "Steps")] == ["ok"] * 4
    assert found["Redis"][0] in ("absent", "ok")
    assert "data-silent" not in client(ADMIN).get("/runs/").content.decode()


def test_silence_is_said_on_the_page_and_to_admins_where_runs_and_schedules_are(performer):
    health.sign(health.PULSE, timezone.now() - timedelta(minutes=5))
    Beacon.objects.filter(name=health.WORKERS).delete()
    found = rows()
    assert (found["Pulse"][0], found["Workers"][0]) == ("bad", "bad")
    for path in ("/runs/", "/schedules/"):
        page = client(ADMIN).get(path).content.decode()
        assert 'data-silent="Pulse"' in page
        assert 'data-silent="Workers"' in page
        assert "data-silent" not in client(OPERATOR).get(path).content.decode()


def test_the_page_is_for_admins():
    for role in (DESIGNER, OPERATOR, REVIEWER, VIEWER):
        assert client(role).get("/status/").status_code == 403
    assert Client().get("/status/").status_code == 302
    assert client(ADMIN).post("/status/").status_code == 405


def test_what_is_set_up_says_what_it_lacks(performer, monkeypatch):
    create_profiles()
    b.profile("remote", performer="openai", settings={"base_url": "https://x/v1", "api_key_env": "STATUS_TEST_KEY"})
    b.profile("lost", performer="telepathy")
    Channel.objects.create(platform="telegram", url="tgram://{env:STATUS_TEST_BOT}/{chat_id}/")
    Channel.objects.create(platform="old", url="tgram://{env:STATUS_TEST_BOT}/{chat_id}/", enabled=False)
    document = b.design(b.trigger(hook="orders"), b.approval("review"))
    design = services.save_design(principal=b.person("dora", DESIGNER), name="flow", document=document).design
    Schedule.objects.create(design=design, cron="0 6 * * 1-5", problem="its owner may not start it")
    found = rows()
    assert found["remote"] == ("bad", "not set in this web process: STATUS_TEST_KEY")
    assert found["lost"] == ("bad", "the performer telepathy is not known here: its steps fail")
    assert (found["none"][0], found["demo"][0]) == ("absent", "ok")
    assert found["telegram"] == ("bad", "not set in this web process: STATUS_TEST_BOT")
    assert found["old"][0] == "absent"
    assert found["orders"] == ("bad", "HERMES_HOOK_ORDERS is not set in this web process")
    assert found["flow"] == ("bad", "its owner may not start it")
    for name in ("STATUS_TEST_KEY", "STATUS_TEST_BOT", "HERMES_HOOK_ORDERS"):
        monkeypatch.setenv(name, "a-very-secret-value")
    found = rows()
    assert [found[name][0] for name in ("remote", "telegram", "orders")] == ["ok"] * 3
    assert "a-very-secret-value" not in client(ADMIN).get("/status/").content.decode()


def test_without_anything_set_up_the_page_says_what_that_means():
    assert not Profile.objects.exists()
    page = client(ADMIN).get("/status/").content.decode()
    assert "every agent step fails" in page
    assert "recorded as not sent" in page


def test_waiting_steps_are_counted_up_to_a_bound(performer, monkeypatch):
    run_id = b.started(b.agent("draft"))
    assert Attempt.objects.get(run_id=run_id).status == "ready"
    assert rows()["Steps"] == ("ok", "1 step waits for a worker")


def test_looking_costs_little(performer, django_assert_max_num_queries):
    b.saved(b.approval("review"))
    admin = client(ADMIN)
    with django_assert_max_num_queries(25):
        admin.get("/status/")
