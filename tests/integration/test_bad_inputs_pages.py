"""The hostile inputs at the door of pages: a page that says what is wrong, never a fault, and nothing changed."""

import re
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from approvals.models import Decision
from hermes_workflow.core.text import visible
from hermes_workflow.rights import OPERATOR
from runs.models import Gate, Run
from runs.seams.base import Performed
from tests import builders as b
from tests.bad_inputs import bad_inputs
from tests.integration.approvals_builders import parked, reviewer
from tests.pages import browser

pytestmark = pytest.mark.django_db(transaction=True)

IDS = [one for one in bad_inputs("id", kind="field") if isinstance(one.input, str)]
NAMES = [one for one in bad_inputs("name", kind="field") if isinstance(one.input, str)]
ANSWERS = list(bad_inputs("approval", kind="field"))
OUTPUTS = list(bad_inputs("agent-output", kind="agent_output"))
PATHS = ["//", "/./", "/%2e%2e/", "/inbox/;x", "/inbox/%00", "/inbox/%c0%ae/", "/runs/%ff/", "/designs/%00/", "/designs/../../etc"]
ALIVE = re.compile(
    r"<script(?! type=\"module\"| src=)|<img|<iframe|<form[^>]+evil|href=\"javascript:|onerror=|onload=(?!\w)", re.IGNORECASE
)


def entry(one):
    return one.id


@pytest.mark.parametrize("one", IDS, ids=entry)
@pytest.mark.parametrize("place", ["runs", "inbox"])
def test_an_id_in_an_address_that_is_none_is_not_found(place, one):
    assert browser(reviewer("ann")).get(f"/{place}/{quote(one.value, safe='')}/").status_code in one.status


@pytest.mark.parametrize("one", NAMES, ids=entry)
def test_a_name_in_an_address_that_is_none_is_not_found(one):
    assert browser(reviewer("ann")).get(f"/designs/{quote(one.value, safe='')[:2000]}/").status_code == 404


@pytest.mark.parametrize("one", ANSWERS, ids=entry)
def test_an_answer_that_is_not_an_option_is_refused_in_place(one):
    gate = parked(options=["yes", "no"])
    value = one.value if isinstance(one.value, str) else str(one.value)
    response = browser(reviewer("ann")).post(reverse("answer", args=[gate.pk]), {"answer": value, "digest": gate.digest})
    assert response.status_code in one.status | {400}
    assert "must be exactly yes or no" in response.text
    assert len(response.text) < 100_000
    assert not Decision.objects.exists()


@pytest.mark.parametrize("one", OUTPUTS, ids=entry)
def test_what_an_agent_gave_is_shown_dead_and_nothing_in_it_is_invisible(performer, one):
    value = one.value
    performer.does("draft", Performed(value, structured=not isinstance(value, str)))
    run_id = b.started(b.agent("draft"), b.approval("review"), b.output("out"))
    b.work(run_id)
    client = browser(reviewer("ann"))
    gate = Gate.objects.filter(run_id=run_id).first()
    for path in [f"/runs/{run_id}/", *([f"/inbox/{gate.pk}/"] if gate else [])]:
        response = client.get(path)
        assert response.status_code == 200
        assert ALIVE.search(response.text) is None
        assert [part.text for part in visible(response.text) if part.mark and not part.text.endswith("blank lines")] == []
        assert len(response.text) < 600_000


@pytest.mark.parametrize("path", PATHS)
def test_an_odd_path_is_not_found_or_answered_by_a_page(path):
    assert browser(reviewer("ann")).get(path).status_code in (200, 301, 302, 400, 404)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.svg", b"<svg><script>alert(1)</script></svg>"),
        ("x.png", b"<html>"),
        ("x.zip", b"PK\x03\x04../../evil"),
        ("x.gif", b"GIF89a/*"),
        ("x.txt", b""),
        ("x.txt", b"\x89PNG\r\n\x1a\n"),
    ],
)
def test_a_file_that_is_no_text_is_refused(name, content):
    b.saved(b.output("out"))
    response = browser(b.person("olga", OPERATOR)).post("/designs/flow/run/", {"file": SimpleUploadedFile(name, content)})
    assert response.status_code == 400
    assert "The run was not started." in response.text
    assert not Run.objects.exists()


def test_a_form_of_very_many_fields_is_refused():
    b.saved(b.output("out"))
    client = browser(b.person("olga", OPERATOR))
    assert client.post("/designs/flow/run/", {f"f{number}": "" for number in range(5000)}).status_code in (400, 413)
    assert client.post("/designs/flow/run/", b"x", content_type="multipart/form-data; boundary=" + "b" * 100_000).status_code == 400
    assert client.post("/designs/flow/run/", b"x", content_type="multipart/form-data").status_code == 400


def test_fields_that_a_form_does_not_have_change_nothing():
    gate, ann = parked(), reviewer("ann")
    form = {
        "answer": "approve",
        "digest": gate.digest,
        "is_staff": "1",
        "status": "done",
        "decided_by": "1",
        "channel": "telegram",
        "source": "x",
    }
    assert browser(ann).post(reverse("answer", args=[gate.pk]), form).status_code == 302
    assert Decision.objects.get().channel == "web"
    assert not User.objects.get(pk=ann.id).is_staff


def test_guessing_passwords_is_stopped_with_a_page():
    User.objects.create_user("ann", password="a long word")
    client = Client(raise_request_exception=False)
    for _ in range(6):
        response = client.post("/login/", {"username": "ann", "password": "wrong"})
    assert response.status_code == 429
    assert 'class="error-code">429<' in response.text
    assert client.post("/login/", {"username": "ann", "password": "a long word"}).status_code == 429


def test_a_session_id_from_before_the_sign_in_is_not_kept(settings):
    User.objects.create_user("ann", password="a long word")
    client = Client()
    client.session["x"] = 1
    client.cookies[settings.SESSION_COOKIE_NAME] = "fixed"
    client.post("/login/", {"username": "ann", "password": "a long word"})
    assert client.cookies[settings.SESSION_COOKIE_NAME].value != "fixed"
