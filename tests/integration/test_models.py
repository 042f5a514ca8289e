"""The model catalogue: what an admin listed, what an endpoint lists, and what is said when neither can be had."""

import time

import pytest
from werkzeug import Response

from hermes_workflow.installation import create_profiles, create_roles
from hermes_workflow.models import Profile
from hermes_workflow.rights import VIEWER
from runs import catalogue
from tests import builders as b
from tests.api import Api, error_of

pytestmark = pytest.mark.django_db

LIST = {"object": "list", "data": [{"id": "large"}, {"id": "small"}, {"no": "id"}, {"id": 7}, {"id": "x" * 200}]}


@pytest.fixture
def viewer():
    return Api(b.person("vera", VIEWER))


def endpoint(server, **more):
    settings = {"base_url": server.url_for("/v1"), "api_key_env": "MODELS_TEST_KEY"}
    return b.profile("remote", performer="openai", settings=settings, model="mini", allow_model_override=True, **more)


def models(api, query="?profile=remote"):
    answer = api.get(f"/api/models/{query}")
    assert answer["ok"] is True
    return [found["model"] for found in answer["models"]], answer["absent"]


def test_a_fresh_installation_offers_the_demo(viewer):
    create_roles()
    create_profiles()
    found = viewer.get("/api/models/?profile=demo")
    assert found == {"ok": True, "models": [{"provider": "demo", "profile": "demo", "model": "demo", "default": True}], "absent": None}
    everything = viewer.get("/api/models/")["models"]
    assert {"provider": "demo", "profile": "demo", "model": "demo", "default": True} in everything
    (demo,) = [profile for profile in viewer.get("/api/profiles/")["results"] if profile["name"] == "demo"]
    assert (demo["model"], demo["models"], demo["allow_model_override"]) == ("demo", ["demo"], False)


def test_a_step_may_name_the_demo_model_of_a_fresh_installation():
    create_roles()
    create_profiles()
    assert b.ran(b.agent("draft", model="demo"), input={"text": "We guarantee it."})["status"] == "done"


def test_a_catalogue_is_listed_with_the_profile_s_own_model_first(viewer):
    b.profile("mill", model="small", catalogue=["large", "small"], allow_model_override=True)
    assert models(viewer, "?profile=mill") == (["small", "large"], None)
    assert viewer.get("/api/profiles/")["results"][0]["models"] == ["small", "large"]


def test_without_trust_only_the_profile_s_own_model_is_offered(viewer):
    b.profile("mill", model="small", catalogue=["large"])
    assert models(viewer, "?profile=mill") == (["small"], None)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"performer": "none"}, "has no performer"),
        ({"performer": "subprocess"}, "names no model"),
        ({"performer": "subprocess", "allow_model_override": True}, "has no catalogue"),
        ({"performer": "telepathy", "allow_model_override": True}, "has no catalogue"),
    ],
)
def test_what_offers_no_models_says_why(viewer, given, said):
    b.profile("mill", **given)
    found, absent = models(viewer, "?profile=mill")
    assert found == []
    assert said in absent


def test_an_endpoint_is_asked_once_a_minute(viewer, httpserver, monkeypatch):
    monkeypatch.setenv("MODELS_TEST_KEY", "key-of-the-endpoint")
    httpserver.expect_request("/v1/models", headers={"Authorization": "Bearer key-of-the-endpoint"}).respond_with_json(LIST)
    endpoint(httpserver)
    for _ in range(3):
        assert models(viewer) == (["mini", "large", "small"], None)
    assert len(httpserver.log) == 1
    Profile.objects.filter(name="remote").update(settings={"base_url": httpserver.url_for("/v2")})
    assert models(viewer)[0] == ["mini"]
    assert len(httpserver.log) == 2


def test_a_hermes_agent_is_asked_at_its_own_profile(viewer, httpserver, monkeypatch):
    monkeypatch.setenv("MODELS_TEST_KEY", "key-of-the-endpoint")
    httpserver.expect_request("/p/writer/v1/models").respond_with_json({"data": [{"id": "hermes-agent"}]})
    settings = {"base_url": httpserver.url_for("").rstrip("/"), "api_key_env": "MODELS_TEST_KEY", "profile": "writer"}
    b.profile("remote", performer="hermes", settings=settings, allow_model_override=True)
    assert models(viewer) == (["hermes-agent"], None)


def test_a_listed_profile_asks_no_endpoint(viewer, httpserver):
    endpoint(httpserver)
    assert viewer.get("/api/profiles/")["results"][0]["models"] == ["mini"]
    assert httpserver.log == []


@pytest.mark.parametrize(
    "response",
    [
        Response("no", 401),
        Response("", 404),
        Response("down", 500),
        Response("slow", 429, headers={"Retry-After": "5"}),
        Response("", 302, headers={"Location": "http://127.0.0.1:1/"}),
        Response("{", 200),
        Response("[]", 200),
        Response('{"data": 7}', 200),
        Response("x" * (2 * catalogue.BODY_LIMIT), 200),
        Response(b"\xff", 200),
        Response("[" * 100_000, 200),
    ],
    ids=lambda response: f"{response.status_code}-{len(response.data)}",
)
def test_an_endpoint_that_misbehaves_is_absent_with_the_reason(viewer, httpserver, monkeypatch, response):
    monkeypatch.setenv("MODELS_TEST_KEY", "key-of-the-endpoint")
    httpserver.expect_request("/v1/models").respond_with_response(response)
    endpoint(httpserver)
    found, absent = models(viewer)
    assert found == ["mini"]
    assert "lists no models" in absent
    assert "key-of-the-endpoint" not in absent


def test_an_endpoint_that_is_not_there_or_hangs_holds_nobody_up(viewer, httpserver, monkeypatch):
    monkeypatch.setenv("MODELS_TEST_KEY", "key-of-the-endpoint")
    monkeypatch.setattr(catalogue, "SECONDS", 0.3)
    httpserver.expect_request("/v1/models").respond_with_handler(lambda request: time.sleep(2) or Response("{}"))
    profile = endpoint(httpserver)
    began = time.monotonic()
    assert "lists no models" in (models(viewer)[1] or "")
    assert time.monotonic() - began < 1.5
    profile.settings = {"base_url": "http://127.0.0.1:1"}
    profile.save()
    assert "lists no models" in (models(viewer)[1] or "")


def test_a_missing_key_is_named_and_nobody_is_asked(viewer, httpserver, monkeypatch):
    monkeypatch.delenv("MODELS_TEST_KEY", raising=False)
    endpoint(httpserver)
    assert models(viewer) == (["mini"], "the environment variable MODELS_TEST_KEY is not set for this web process")
    Profile.objects.update(settings={"nonsense": True})
    assert "unknown setting" in (models(viewer)[1] or "")
    assert httpserver.log == []


def test_foreign_and_unknown_profiles_are_not_found(viewer):
    b.profile("secret", is_open=False, model="x")
    unknown = viewer.get("/api/models/?profile=nowhere", status=404)
    assert viewer.get("/api/models/?profile=secret", status=404) == unknown
    assert viewer.get("/api/models/")["models"] == []
    error_of(viewer.get("/api/models/?profil=x", status=400))
