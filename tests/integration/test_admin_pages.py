"""The admin beside the editor: who comes in, what is looked at, what actions do."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from axes.models import AccessAttempt
from django.contrib import admin as django_admin
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django_q.models import Failure, OrmQ, Schedule, Success
from knox.crypto import hash_token

from approvals.models import ChatIdentity, Decision
from hermes_workflow import timetable, uploads
from hermes_workflow.installation import create_roles
from hermes_workflow.models import Channel, DesignVersion, Hook, Plan, Profile, Token
from hermes_workflow.rights import ADMIN, DESIGNER, REVIEWER, Principal
from runs.models import Delivery, Event, Run
from tests import builders as b

pytestmark = pytest.mark.django_db

HISTORY = ("runs.run", "runs.event", "runs.attempt", "runs.gate", "runs.delivery", "approvals.decision", "hermes_workflow.attachment")


@pytest.fixture
def root():
    return User.objects.create_superuser("superuser", password="a good password")


@pytest.fixture
def client(root):
    signed_in = Client()
    signed_in.force_login(root)
    return signed_in


@pytest.fixture
def filled(root, performer):
    """At least one row of everything that the admin shows."""
    create_roles()
    run_id = b.started(b.agent("draft"), b.approval("review"))
    b.work(run_id)
    run = Run.objects.get(pk=run_id)
    now = timezone.now()
    gate = run.gates.get()
    Decision.objects.create(
        gate=gate, answer="approve", comment="<b>\u202efine", by=root, channel="web", body_digest="", digest_seen=gate.digest, at=now
    )
    Delivery.objects.create(run=run, key="tell", number=1, target="user:ann", ok=False, detail="no", at=now)
    ChatIdentity.objects.create(user=root, channel="chat", external_id="U1", confirmed_at=now)
    uploads.keep(principal=Principal(root), upload=uploads.read_upload("a.txt", b"text"))
    Token.objects.create(root, name="mine")
    timetable.create(principal=Principal(root), design=run.design, cron="@daily")
    Hook.objects.create(design=run.design, node_id="start", slug="orders", owner=root, secret_env="HERMES_HOOK_ORDERS")
    Channel.objects.create(platform="telegram", url="tgram://{env:TELEGRAM_TOKEN}/{chat_id}/", chats=["-1001"])
    AccessAttempt.objects.create(username="eve", ip_address="10.0.0.9", failures_since_start=5)
    Failure.objects.create(id="1" * 32, name="ring", func="runs.tasks.drain", started=now, stopped=now, success=False, result="no")
    return run


def models():
    return [model._meta.label_lower for model in django_admin.site._registry]


def path(label, page="changelist", *args):
    return reverse(f"admin:{label.replace('.', '_')}_{page}", args=args)


@pytest.mark.parametrize("label", models())
def test_every_list_and_row_can_be_looked_at(client, filled, label):
    model = next(model for model in django_admin.site._registry if model._meta.label_lower == label)
    assert client.get(path(label), {"q": "a"}).status_code == 200
    row = model._default_manager.first()
    assert row is not None
    assert client.get(path(label, "change", row.pk)).status_code == 200


@pytest.mark.parametrize("label", HISTORY)
def test_history_is_not_edited(client, filled, label):
    model = next(model for model in django_admin.site._registry if model._meta.label_lower == label)
    row = model._default_manager.first()
    before = list(model._default_manager.values())
    assert client.get(path(label, "add")).status_code == 403
    assert client.post(path(label, "add"), {"name": "x"}).status_code == 403
    assert client.post(path(label, "change", row.pk), {"status": "done"}).status_code == 403
    assert client.post(path(label, "delete", row.pk), {"post": "yes"}).status_code == 403
    client.post(path(label), {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"})
    assert list(model._default_manager.values()) == before


@pytest.mark.parametrize("model", [Plan, DesignVersion, Schedule, OrmQ, Success])
def test_what_nobody_needs_is_not_listed(model):
    assert not django_admin.site.is_registered(model)


def test_what_others_wrote_is_shown_with_nothing_invisible(client, filled):
    page = client.get(path("approvals.decision", "change", Decision.objects.get().pk)).content.decode()
    assert "&lt;b&gt;" in page
    assert "U+202E" in page
    assert "\u202e" not in page.partition("hermes-value")[2]


@pytest.mark.parametrize("pk", ["9223372036854775808", "-1", "abc", "1_2F3", "99999999999999999999999999"])
def test_an_address_that_can_be_no_row_is_no_error_of_ours(client, filled, pk):
    for label in (*HISTORY, "hermes_workflow.design", "auth.user"):
        assert client.get(f"/admin/{label.replace('.', '/')}/{pk}/change/").status_code in (302, 404)


def test_nobody_is_signed_in_by_the_admin_itself(client):
    assert Client().get("/admin/", follow=True).redirect_chain[-1][0].startswith("/login/?next=/admin/")
    assert client.get("/admin/login/").url == "/admin/"


def test_times_are_written_as_on_the_site_and_no_list_is_named_twice(client, filled):
    Run.objects.filter(pk=filled.pk).update(created_at=datetime(2026, 3, 9, 15, 4, tzinfo=UTC))
    page = client.get(path("runs.run")).content.decode()
    assert "9 Mar 2026, 15:04" in page
    assert "Operation" in page


def test_a_reviewer_is_turned_away_without_a_traceback_in_the_log(filled, caplog):
    signed_in = Client()
    signed_in.force_login(b.person("rita", REVIEWER).user)
    answer = signed_in.get("/admin/", follow=True)
    assert answer.status_code == 403
    records = [record for record in caplog.records if record.name == "django.request"]
    assert len(records) == 1
    assert records[0].exc_info is None


def test_an_admin_without_django_permissions_has_the_admin(filled):
    signed_in = Client()
    signed_in.force_login(b.person("ada", ADMIN).user)
    assert all(signed_in.get(path(label)).status_code == 200 for label in models())


def test_a_designer_has_designs_alone(filled):
    signed_in = Client()
    signed_in.force_login(b.person("dora", DESIGNER).user)
    found = {label: signed_in.get(path(label)).status_code for label in models()}
    assert {label for label, status in found.items() if status == 200} == {"hermes_workflow.design"}
    assert signed_in.get("/admin/hermes_workflow/token/add/").status_code == 403


def user_form(**more):
    return {
        "username": "ann", "first_name": "", "last_name": "", "email": "", "is_active": "on",
        "date_joined_0": "2026-01-01", "date_joined_1": "00:00:00", **more,
    }  # fmt: skip


def test_a_user_gets_a_password_and_roles(client):
    create_roles()
    password = "long and unusual 7"
    added = client.post(
        path("auth.user", "add"), {"username": "ann", "usable_password": "true", "password1": password, "password2": password}
    )
    ann = User.objects.get(username="ann")
    assert added.url == path("auth.user", "change", ann.pk)
    client.post(path("auth.user", "change", ann.pk), user_form(groups=[Group.objects.get(name=DESIGNER).pk]))
    ann.refresh_from_db()
    assert ann.check_password(password)
    assert ann.is_staff
    assert not ann.is_superuser
    client.post(path("auth.user", "change", ann.pk), user_form(groups=[]))
    ann.refresh_from_db()
    assert not ann.is_staff


def test_an_admin_makes_no_superuser_and_does_not_touch_one(root):
    create_roles()
    ada, ann = b.person("ada", ADMIN).user, b.person("ann").user
    signed_in = Client()
    signed_in.force_login(ada)
    for user in (ada, ann):
        answer = signed_in.post(path("auth.user", "change", user.pk), user_form(username=user.username, is_superuser="on"))
        assert answer.status_code == 302
        user.refresh_from_db()
        assert not user.is_superuser
        assert user.is_active
    assert signed_in.post(path("auth.user", "change", root.pk), user_form(username="taken")).status_code == 403
    assert signed_in.post(f"/admin/auth/user/{root.pk}/password/", {"password1": "x", "password2": "x"}).status_code == 403
    assert User.objects.get(pk=root.pk).username == "superuser"


def test_a_role_keeps_its_name_and_stays(client):
    create_roles()
    role = Group.objects.get(name="reviewer")
    client.post(path("auth.group", "change", role.pk), {"name": "judges"})
    assert client.post(path("auth.group", "delete", role.pk), {"post": "yes"}).status_code == 403
    assert Group.objects.get(pk=role.pk).name == "reviewer"
    assert "Answers gates" in client.get(path("auth.group")).content.decode()


def test_a_profile_that_designs_use_is_not_deleted(client):
    b.saved(b.agent("draft"))
    profile = Profile.objects.get(name="default")
    client.post(path("hermes_workflow.profile", "delete", profile.pk), {"post": "yes"})
    assert Profile.objects.filter(pk=profile.pk).exists()


def test_a_bot_token_is_shown_once_and_revoked(client):
    create_roles()
    page = client.post(path("hermes_workflow.token", "add"), {"name": "relay bot", "scopes": ["read", "relay"], "days": "30"})
    token = Token.objects.get()
    secret = page.content.decode().partition('<p class="e-secret"><code>')[2].partition("<")[0]
    assert hash_token(secret) == token.digest
    assert (token.bot, token.scopes) == (True, ["read", "relay"])
    assert secret not in client.get(path("hermes_workflow.token")).content.decode()
    assert client.post(path("hermes_workflow.token", "delete", token.pk), {"post": "yes"}).status_code == 302
    assert not Token.objects.exists()


def test_a_bot_token_in_the_name_of_a_person_is_refused(client):
    b.person("ann")
    answer = client.post(path("hermes_workflow.token", "add"), {"name": "x", "user": "ann"})
    assert answer.status_code == 409
    assert b"data-defect" in answer.content
    assert not Token.objects.exists()


def act(client, action, *runs, **more):
    return client.post(path("runs.run"), {"action": action, "_selected_action": list(runs), **more}, follow=True)


def said(answer):
    return [str(message) for message in answer.context["messages"]]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("label", ["runs.gate", "runs.run"])
def test_no_gate_is_shown_open_after_its_deadline(client, performer, label):
    run_id = b.started(b.approval("review", timeout_minutes=5))
    gate = Run.objects.get(pk=run_id).gates.get()
    with time_machine.travel(timezone.now() + timedelta(minutes=6)):
        signed_in = Client()
        signed_in.force_login(User.objects.get(username="superuser"))
        assert signed_in.get(path(label, "change", gate.pk if label == "runs.gate" else run_id)).status_code == 200
    gate.refresh_from_db()
    assert gate.status == "expired"


@pytest.mark.django_db(transaction=True)
def test_runs_are_cancelled_and_retried_each_in_its_own_turn(client, performer):
    waiting, done = b.started(b.approval("review")), b.started(b.output("tell"), name="other")
    answer = act(client, "cancel", waiting, done)
    assert sorted(said(answer)) == sorted([f"{waiting[:8]}: cancelled", f"{done[:8]}: the run has already ended: done"])
    assert Run.objects.get(pk=waiting).status == "cancelled"
    assert said(act(client, "retry", waiting)) == [f"{waiting[:8]}: the run is cancelled; only a failed run is retried"]


def test_a_purge_is_asked_for_and_takes_ended_runs_alone(client, performer):
    waiting, done = b.started(b.approval("review")), b.started(b.output("tell"), name="other")
    asked = act(client, "purge", waiting, done)
    assert b"for good" in asked.content
    assert Run.objects.count() == 2
    act(client, "purge", waiting, done, confirmed="yes")
    assert [run.pk for run in Run.objects.all()] == [waiting]
    assert not Event.objects.filter(run_id=done).exists()


def test_an_admin_who_is_no_superuser_does_not_purge(performer):
    done = b.started(b.output("tell"))
    signed_in = Client()
    signed_in.force_login(b.person("ada", ADMIN).user)
    act(signed_in, "purge", done, confirmed="yes")
    assert Run.objects.filter(pk=done).exists()
