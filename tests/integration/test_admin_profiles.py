"""Profiles in the admin: typed settings for each performer, secrets by their names alone, and one real call to try it out."""

import dataclasses
import json
import sys

import pytest
from django.test import Client
from django.urls import reverse

from hermes_workflow.admin.performer_settings import READERS, SETTINGS
from hermes_workflow.installation import create_profiles
from hermes_workflow.models import Profile
from hermes_workflow.rights import ADMIN, DESIGNER
from runs import trial
from runs.models import Run, Session
from tests import builders as b

pytestmark = pytest.mark.django_db

ADD = "/admin/hermes_workflow/profile/add/"


@pytest.fixture
def client():
    signed_in = Client()
    signed_in.force_login(b.person("ada", ADMIN).user)
    return signed_in


def form(**more):
    return {"name": "mill", "title": "", "performer": "subprocess", "subprocess_argv": "/bin/cat", "model": "", "catalogue": "", **more}


def refusals(answer):
    assert answer.status_code == 200
    return answer.context["adminform"].form.errors


def change(profile):
    return reverse("admin:hermes_workflow_profile_change", args=[profile.pk])


def test_a_profile_with_a_program_is_saved(client):
    given = form(
        subprocess_argv="/bin/sh\r\n-c\r\n\"printf 'a\\nb'\"\r\n\r\n",
        subprocess_model_argv="--model\n{model}",
        subprocess_env="CLAUDE_KEY_NAME\nLANG",
        subprocess_stdout_bytes="4096",
        subprocess_grace_seconds="1.5",
        model="small",
        catalogue="small\r\nlarge\r\n\r\nlarge ",
        allow_model_override="on",
        timeout_minutes="90",
    )
    assert client.post(ADD, given).status_code == 302
    profile = Profile.objects.get(name="mill")
    assert profile.settings == {
        "argv": ["/bin/sh", "-c", "printf 'a\nb'"],
        "model_argv": ["--model", "{model}"],
        "env": ["CLAUDE_KEY_NAME", "LANG"],
        "stdout_bytes": 4096,
        "grace_seconds": 1.5,
    }
    assert (profile.model, profile.catalogue, profile.timeout_minutes) == ("small", ["small", "large"], 90)


def test_saving_a_page_as_it_is_changes_nothing(client):
    create_profiles()
    for profile in Profile.objects.all():
        shown = client.get(change(profile)).context["adminform"].form
        given = {name: shown[name].value() for name in shown.fields if shown[name].value() not in (None, False, [])}
        assert client.post(change(profile), given).status_code == 302
        again = Profile.objects.get(pk=profile.pk)
        for column in ("settings", "catalogue", "performer", "model", "is_open", "timeout_minutes", "allow_model_override"):
            assert getattr(again, column) == getattr(profile, column), (profile.name, column)


def test_a_stored_setting_without_a_field_stays(client, monkeypatch):
    monkeypatch.setitem(READERS, "subprocess", lambda settings: None)
    profile = b.profile("mill", performer="subprocess", settings={"argv": ["/bin/cat"], "nice": 3})
    client.post(change(profile), form(subprocess_argv="/bin/true"))
    assert Profile.objects.get().settings == {"argv": ["/bin/true"], "nice": 3}


def test_settings_of_another_performer_are_dropped(client):
    profile = b.profile("mill", performer="subprocess", settings={"argv": ["/bin/cat"]})
    client.post(change(profile), form(performer="none"))
    assert Profile.objects.get().settings == {}


@pytest.mark.parametrize(
    ("field", "text", "said"),
    [
        ("subprocess_argv", "", "argv of the performer is missing"),
        ("subprocess_argv", '"unclosed', "JSON"),
        ("subprocess_stdout_bytes", "-1", "stdout_bytes of the performer must be"),
        ("subprocess_stdout_bytes", "NaN", "must be a number"),
        ("subprocess_grace_seconds", "9", "grace_seconds of the performer must be"),
        ("subprocess_env", "two words", "must be the name of an environment variable"),
        ("subprocess_env", "A=b", "must be the name of an environment variable"),
        ("subprocess_env", "DATABASE_URL", "belongs to this site"),
        ("timeout_minutes", "0", "must be from 1 to 4320"),
        ("timeout_minutes", "4321", "must be from 1 to 4320"),
        ("catalogue", "m" * 129, "at most 200 models"),
        ("catalogue", "\n".join(map(str, range(201))), "at most 200 models"),
        ("performer", "telepathy", "not one of the available choices"),
        ("name", "-x", "must be 1 to 64"),
    ],
)
def test_what_cannot_be_is_refused_at_its_field_and_kept_as_typed(client, field, text, said):
    answer = client.post(ADD, form(**{field: text}))
    errors = refusals(answer)
    assert list(errors) == [field]
    assert said in errors[field][0]
    assert not Profile.objects.exists()


FULL = {
    "subprocess": {
        "template": "claude-code",
        "argv": ["/opt/claude code", " spaced ", '"quoted"', "a\nb"],
        "args": ["--permission-mode", "plan"],
        "workdir": "/srv/checkout",
        "model_argv": ["--model", "{model}"],
        "env": ["EXAMPLE_API_KEY"],
        "stdout_bytes": 4096,
        "stderr_bytes": 2048,
        "grace_seconds": 1.5,
    },
    "openai": {
        "base_url": "https://models.example/v1",
        "api_key_env": "EXAMPLE_API_KEY",
        "system": "Be brief.\nBe kind.",
        "structured": "json_object",
        "temperature": 0.5,
        "max_tokens": 100,
        "max_completion_tokens": 90,
        "headers": {"X-Team": "EXAMPLE_TEAM", "X-Org": "EXAMPLE_ORG"},
        "output_bytes": 4096,
    },
    "hermes": {
        "base_url": "http://127.0.0.1:8642",
        "api_key_env": "EXAMPLE_API_KEY",
        "profile": "writer",
        "instructions": "Be brief.",
        "tool_approvals": "once",
        "mode": "events",
        "poll_seconds": 5,
        "patience_seconds": 30.5,
        "output_bytes": 4096,
    },
}


@pytest.mark.parametrize("performer", FULL)
def test_every_setting_of_a_performer_is_shown_and_read_back_the_same(client, performer):
    assert set(FULL[performer]) == {setting.key for setting in SETTINGS[performer]}
    profile = b.profile("mill", performer=performer, settings=FULL[performer])
    shown = client.get(change(profile)).context["adminform"].form
    given = {name: shown[name].value() for name in shown.fields if shown[name].value() not in (None, False, [])}
    profile.settings = {}
    profile.save()
    assert client.post(change(profile), given).status_code == 302
    assert Profile.objects.get().settings == FULL[performer]


@pytest.mark.parametrize("performer", SETTINGS)
def test_the_form_asks_for_exactly_what_the_performer_reads(performer):
    known = READERS[performer].__self__
    assert {setting.key for setting in SETTINGS[performer]} == {field.name for field in dataclasses.fields(known)}


@pytest.mark.parametrize(
    ("performer", "key", "text", "said"),
    [
        ("subprocess", "args", "--fast", "go with a template"),
        ("subprocess", "template", "emacs", "one of those offered"),
        ("subprocess", "workdir", "relative", "workdir of the performer"),
        ("openai", "base_url", "ftp://x", "must be an address"),
        ("openai", "base_url", "https://me:pw@x/v1", "without a password"),
        ("openai", "headers", "no colon", "each line must be"),
        ("openai", "headers", "X-Key: sk-proj-abcdefghijklmnop1234", "looks like a secret"),
        ("openai", "headers", "Authorization: SOME_KEY", "cannot hold"),
        ("openai", "api_key_env", "sk-proj-abcdefghijklmnop1234", "looks like a secret"),
        ("openai", "api_key_env", "HERMES_SECRET_KEY", "belongs to this site"),
        ("openai", "structured", "yaml", "one of those offered"),
        ("openai", "temperature", "3", "from 0 to 2"),
        ("openai", "max_tokens", "1.5", "whole number"),
        ("hermes", "api_key_env", "", "api_key_env of the performer is missing"),
        ("hermes", "tool_approvals", "always", "one of those offered"),
        ("hermes", "profile", "../x", "profile of the performer"),
        ("hermes", "poll_seconds", "0", "above 0"),
    ],
)
def test_a_wrong_setting_is_refused_at_its_field(client, performer, key, text, said):
    remote = {"base_url": "https://models.example/v1", "api_key_env": "EXAMPLE_API_KEY"}
    good = {"argv": "/bin/cat"} if performer == "subprocess" else remote
    given = {f"{performer}_{name}": value for name, value in {**good, key: text}.items()}
    errors = refusals(client.post(ADD, {"name": "mill", "performer": performer, **given}))
    assert list(errors) == [f"{performer}_{key}"]
    assert said in str(errors)


PASTED = [
    "sk-proj-abcdefghijklmnop1234",
    "ghp_abcdefghijklmnopqrstuvwxyz012345",
    "AKIAIOSFODNN7EXAMPLE",
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9",
    "0a1b2c3d4e5f60718293a4b5c6d7e8f9",
    "Tr0ub4dor_And_3verything_Else",
]


@pytest.mark.parametrize("secret", PASTED)
def test_a_pasted_secret_is_refused_and_not_repeated_by_the_refusal(client, secret):
    errors = refusals(client.post(ADD, form(subprocess_env=f"LANG\n{secret}")))
    assert "looks like a secret" in errors["subprocess_env"][0]
    assert secret not in str(errors)


def test_the_value_of_a_secret_variable_of_this_process_is_known_however_it_looks(client, monkeypatch):
    monkeypatch.setenv("PROVIDER_API_KEY", "swordfish")
    assert "looks like a secret" in refusals(client.post(ADD, form(subprocess_env="swordfish")))["subprocess_env"][0]


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "LANG", "http_proxy", "AZURE_OPENAI_KEY_2_EUROPE_WEST", "K8S_TOKEN", "_x"])
def test_names_are_names(client, name):
    assert client.post(ADD, form(subprocess_env=name)).status_code == 302


def test_the_page_says_which_variables_are_set_here_and_never_their_values(client, monkeypatch):
    monkeypatch.setenv("SET_API_KEY", "very-secret-value")
    profile = b.profile("mill", performer="subprocess", settings={"argv": ["/bin/cat"], "env": ["SET_API_KEY", "UNSET_API_KEY"]})
    for address in (change(profile), "/admin/hermes_workflow/profile/"):
        page = client.get(address).content.decode()
        assert "SET_API_KEY: set" in page
        assert "UNSET_API_KEY: not set" in page
        assert "very-secret-value" not in page


def program(code):
    return b.profile("mill", performer="subprocess", settings={"argv": [sys.executable, "-c", code]})


def tried(client, profile, **more):
    answer = client.post(f"/admin/hermes_workflow/profile/{profile.pk}/test/", {"prompt": "Say hello", **more})
    return answer.context["tried"], answer.content.decode()


def test_the_test_button_makes_one_real_call_and_records_nothing(client):
    profile = program("import json,sys; r=json.load(sys.stdin); print(json.dumps({'output': r['prompt'][::-1] + '\\u202e<b>'}))")
    page = client.get(f"/admin/hermes_workflow/profile/{profile.pk}/test/")
    assert page.status_code == 200
    found, text = tried(client, profile)
    assert found.outcome.value == "olleh yaS\u202e<b>"
    assert "olleh yaS[U+202E" in text
    assert "&lt;b&gt;" in text
    assert 'data-outcome="ok"' in text
    assert not Run.objects.exists()
    assert not Session.objects.exists()


def test_a_failed_call_shows_its_kind_its_hint_and_diagnostics_without_secrets(client, monkeypatch):
    monkeypatch.setenv("MILL_TOKEN", "hunter2hunter2")
    profile = program("import os,sys; print('bearer hunter2hunter2', file=sys.stderr); sys.exit(3)")
    found, text = tried(client, profile)
    assert found.outcome.kind == "performer_failed"
    assert found.outcome.hint in text.replace("&#x27;", "'")
    assert "exit_code" in text
    assert "hunter2" not in text


def test_a_call_that_takes_too_long_is_ended(monkeypatch):
    profile = program("import time; time.sleep(60)")
    found = trial.try_out(profile, seconds=0.5)
    assert found.outcome.kind == "timeout"
    assert found.seconds < 10


@pytest.mark.parametrize(
    ("given", "performer", "kind"),
    [
        ({}, "subprocess", "performer_missing"),
        ({"argv": ["/no/such"]}, "subprocess", "performer_missing"),
        ({}, "telepathy", "performer_missing"),
    ],
)
def test_what_is_not_there_is_said(client, given, performer, kind):
    found, text = tried(client, b.profile("mill", performer=performer, settings=given))
    assert found.outcome.kind == kind
    assert kind in text


def test_without_a_performer_the_test_says_that_steps_park(client):
    found, text = tried(client, b.profile("mill", performer="none"))
    assert "Nobody performs here" in text
    assert found.seconds == 0


@pytest.mark.parametrize("prompt", ["", "x" * 4001])
def test_a_test_without_a_prompt_calls_nobody(client, prompt):
    found, _ = tried(client, program("raise SystemExit(1)"), prompt=prompt)
    assert found is None


def test_only_admins_try_profiles_out_and_only_with_the_form_s_own_token(client):
    profile = program("raise SystemExit(1)")
    address = f"/admin/hermes_workflow/profile/{profile.pk}/test/"
    designer = Client()
    designer.force_login(b.person("dora", DESIGNER).user)
    assert designer.post(address, {"prompt": "x"}).status_code == 403
    careful = Client(enforce_csrf_checks=True)
    careful.force_login(b.person("ada", ADMIN).user)
    assert careful.post(address, {"prompt": "x"}).status_code == 403
    for pk in ("999999", "abc", "99999999999999999999999"):
        assert client.post(f"/admin/hermes_workflow/profile/{pk}/test/", {"prompt": "x"}).status_code == 404
    assert json.dumps(Profile.objects.get().settings)
