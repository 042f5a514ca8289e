"""Tokens: made by people who signed in, shown once, never lending more than their scopes."""

import base64
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from hermes_workflow.models import Token
from tests import builders
from tests.api import Api, error_of
from tests.builders import approval

pytestmark = pytest.mark.django_db


def by_password(name: str, *roles: str, staff: bool = False) -> Api:
    """A client that sends its password."""
    user = User.objects.create_superuser(name, password="pw") if staff else builders.person(name, *roles).user
    user.set_password("pw")
    user.save()
    return Api(authorization="Basic " + base64.b64encode(f"{name}:pw".encode()).decode())


def test_a_password_makes_a_token_and_opens_nothing_else() -> None:
    ann = by_password("ann", "viewer")
    made = ann.post("/api/tokens/", {"name": "laptop"}, status=201)
    assert made.keys() >= {"token", "expiry", "id", "name", "user", "scopes", "bot"}
    ann.get("/api/runs/", status=401)
    assert Api(secret=made["token"]).get("/api/runs/")["results"] == []
    row = Token.objects.get()
    assert made["token"] not in (row.digest, row.token_key)
    (listed,) = ann.get("/api/tokens/")["results"]
    assert (listed["id"], "token" in listed) == (made["id"], False)


def test_a_session_makes_a_token_with_its_csrf_token() -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(builders.person("ann", "viewer").user)
    assert client.post("/api/tokens/", {"name": "x"}, content_type="application/json").status_code == 403
    client.cookies["hermes-csrf"] = "a" * 32
    answer = client.post("/api/tokens/", {"name": "x"}, content_type="application/json", headers={"x-csrftoken": "a" * 32})
    assert answer.status_code == 201


def test_a_token_lives_as_long_as_asked() -> None:
    made = by_password("ann", "viewer").post("/api/tokens/", {"name": "x", "expires_in": 3600}, status=201)
    expiry = parse_datetime(made["expiry"])
    assert expiry is not None
    assert timedelta(minutes=59) < expiry - timezone.now() <= timedelta(hours=1)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "name"),
        ({"name": ""}, "name"),
        ({"name": "  "}, "name"),
        ({"name": "a\u202eb"}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"name": 5}, "name"),
        ({"name": "x", "expires_in": 0}, "expires_in"),
        ({"name": "x", "expires_in": True}, "expires_in"),
        ({"name": "x", "expires_in": 1e9}, "expires_in"),
        ({"name": "x", "expires_in": 10**12}, "expires_in"),
        ({"name": "x", "scopes": ["all"]}, "scopes"),
        ({"name": "x", "scopes": "read"}, "scopes"),
        ({"name": "x", "bot": "yes"}, "bot"),
        ({"name": "x", "user": "bob"}, "user"),
        ({"name": "x", "expiry": None, "digest": "x"}, "expiry"),
    ],
)
def test_a_token_takes_nothing_of_another_type(body: Any, field: str) -> None:
    assert error_of(by_password("ann", "viewer").post("/api/tokens/", body, status=400)).startswith(field)
    assert Token.objects.count() == 0


def test_a_token_never_makes_tokens_and_revokes_none_but_itself() -> None:
    ann = by_password("ann", "viewer")
    first, second = (ann.post("/api/tokens/", {"name": name}, status=201) for name in ("one", "two"))
    api = Api(secret=first["token"])
    assert "never makes" in error_of(api.post("/api/tokens/", {"name": "three"}, status=403))
    api.delete(f"/api/tokens/{second['id']}/", status=403)
    api.delete(f"/api/tokens/{first['id']}/")
    api.get("/api/runs/", status=401)
    ann.delete(f"/api/tokens/{second['id']}/")
    ann.delete(f"/api/tokens/{second['id']}/", status=404)


def test_nobody_sees_or_revokes_another_person_s_token() -> None:
    made = by_password("ann", "viewer").post("/api/tokens/", {"name": "x"}, status=201)
    root = by_password("root", staff=True)
    assert root.get("/api/tokens/")["results"] == []
    root.delete(f"/api/tokens/{made['id']}/", status=404)


def test_only_an_admin_makes_a_bot_which_gets_a_user_of_its_own() -> None:
    builders.saved(approval("review"))
    by_password("ann", "designer", "operator", "reviewer").post("/api/tokens/", {"name": "chat", "bot": True}, status=403)
    root = by_password("boss", staff=True)
    made = root.post("/api/tokens/", {"name": "Chat bridge", "bot": True, "scopes": ["start"]}, status=201)
    assert (made["user"], made["scopes"], made["bot"]) == ("bot-chat-bridge", ["read", "start"], True)
    user = User.objects.get(username="bot-chat-bridge")
    assert (user.has_usable_password(), [group.name for group in user.groups.all()]) == (False, ["bot"])
    bot = Api(secret=made["token"])
    run = bot.post("/api/designs/flow/run/", {}, status=201)
    assert run["started_by"] == "bot-chat-bridge"
    bot.post(f"/api/gates/{run['pending']['gate_id']}/answer/", {"answer": "approve"}, status=403)
    bot.post(f"/api/runs/{run['run_id']}/cancel/", {}, status=403)
    root.delete(f"/api/tokens/{made['id']}/")
    bot.get("/api/runs/", status=401)


def test_a_bot_is_never_made_of_a_person() -> None:
    builders.person("ann", "viewer")
    answer = by_password("boss", staff=True).post("/api/tokens/", {"name": "x", "bot": True, "user": "ann"}, status=409)
    assert "is a person" in error_of(answer)
    assert Token.objects.count() == 0


def test_scopes_narrow_what_a_person_s_token_may() -> None:
    builders.saved(approval("review"))
    ann = by_password("ann", "operator", "reviewer")
    made = ann.post("/api/tokens/", {"name": "x", "scopes": ["start"]}, status=201)
    api = Api(secret=made["token"])
    run = api.post("/api/designs/flow/run/", {}, status=201)
    api.post(f"/api/gates/{run['pending']['gate_id']}/answer/", {"answer": "approve"}, status=403)
    api.post(f"/api/runs/{run['run_id']}/retry/", {}, status=403)


def test_a_token_that_only_reads_stops_nothing_not_even_its_person_s_own_run() -> None:
    builders.saved(approval("review"))
    ann = by_password("ann", "designer")
    made = ann.post("/api/tokens/", {"name": "x", "scopes": ["read"]}, status=201)
    person = Api(builders.person("ann"))
    cancel = "/api/runs/{}/cancel/".format(person.post("/api/designs/flow/run/", {}, status=201)["run_id"])
    Api(secret=made["token"]).post(cancel, {}, status=403)
    builders.person("ann").user.groups.clear()
    builders.person("ann", "viewer")
    person.post(cancel, {}, status=403)
    builders.person("ann", "designer")
    assert person.post(cancel, {})["status"] == "cancelled"


def test_a_relay_needs_the_person_s_confirmed_account() -> None:
    builders.saved(approval("review"))
    made = by_password("boss", staff=True).post("/api/tokens/", {"name": "chat", "bot": True}, status=201)
    bot = Api(secret=made["token"])
    gate = bot.post("/api/designs/flow/run/", {}, status=201)["pending"]
    source = {"channel": "telegram", "external_id": "42", "message_id": "m1"}
    body = {"answer": "approve", "digest": gate["digest"], "source": source}
    refused = bot.post(f"/api/gates/{gate['gate_id']}/answer/", body, status=403)
    assert "/account/link/?code=" in refused["error"]["hint"]
    person = Api(builders.person("ann", "reviewer"))
    assert "only a bot" in error_of(person.post(f"/api/gates/{gate['gate_id']}/answer/", body, status=400))
    wrong = {**body, "source": {**source, "by": "ann"}}
    assert "source.by: " in error_of(bot.post(f"/api/gates/{gate['gate_id']}/answer/", wrong, status=400))
