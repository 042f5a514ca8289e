"""Designs, the account, the bell, search and sign-in."""

import re

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import timezone

from approvals.links import link_code
from approvals.models import ChatIdentity
from hermes_workflow.models import Attachment, Preference, Token
from hermes_workflow.rights import OPERATOR, VIEWER
from runs.models import Notice, Run
from tests import builders as b
from tests.integration.approvals_builders import closed_profile, parked, reviewer
from tests.pages import browser

pytestmark = pytest.mark.django_db(transaction=True)


def olga():
    return browser(b.person("olga", OPERATOR))


def test_designs_are_listed_with_their_last_run_and_foreign_ones_are_not_there():
    b.started(b.approval("review"), name="mine")
    b.saved(b.output("out"), name="theirs", profile=closed_profile().name)
    page = olga().get("/designs/").text
    assert "2 nodes, 1 approval" in page
    assert "Needs approval" in page
    assert "theirs" not in page
    assert olga().get("/designs/theirs/").status_code == 404


def test_a_design_is_started_on_a_pasted_text_once_per_form():
    b.saved(b.output("out"))
    client, form = olga(), {"text": "Hello\r\nyou", "idempotency_key": "one"}
    first, second = client.post("/designs/flow/run/", form), client.post("/designs/flow/run/", form)
    assert first.headers["Location"] == second.headers["Location"]
    assert b.document(Run.objects.get().pk)["input"] == {"text": "Hello\nyou"}
    assert Run.objects.get().origin == "web"


def test_a_design_is_started_on_an_uploaded_file_which_is_kept():
    b.saved(b.output("out"))
    assert olga().post("/designs/flow/run/", {"file": SimpleUploadedFile("../a b.txt", b"Hi")}).status_code == 302
    assert b.document(Run.objects.get().pk)["input"] == {"text": "Hi", "filename": "a b.txt"}
    assert bytes(Attachment.objects.get().content) == b"Hi"


@pytest.mark.parametrize(
    ("form", "status"),
    [
        ({"file": ("a.txt", b"\xff\xfe\x00")}, 400),
        ({"file": ("a.txt", b"a\x00b")}, 400),
        ({"file": ("a.txt", b"")}, 400),
        ({"file": ("a.png", b"\x89PNG")}, 400),
        ({"file": ("a.txt", b"x" * (1024 * 1024 + 1))}, 413),
        ({"text": "x" * (1024 * 1024 + 1)}, 413),
        ({"text": "a\x00b"}, 400),
        ({"text": "a", "file": ("a.txt", b"b")}, 400),
        ({"text": "a", "idempotency_key": "k" * 300}, 400),
    ],
)
def test_a_hostile_start_is_refused_in_place(form, status):
    b.saved(b.output("out"))
    sent = {name: SimpleUploadedFile(*value) if isinstance(value, tuple) else value for name, value in form.items()}
    response = olga().post("/designs/flow/run/", sent)
    assert response.status_code == status, response.text[:300]
    assert not Run.objects.exists()


@pytest.mark.parametrize("form", [{}, {"text": ""}, {"text": " \r\n\t"}])
def test_a_start_on_nothing_is_refused_beside_the_field(form):
    b.saved(b.output("out"))
    response = olga().post("/designs/flow/run/", form)
    assert response.status_code == 400
    assert "Text: paste a text, or choose a file below." in response.text
    field = response.text.partition('<textarea id="start-text"')[2].partition("</div>")[0]
    assert 'aria-invalid="true"' in field
    assert "Paste a text, or choose a file below." in field
    assert not Run.objects.exists()


def test_who_may_not_start_has_no_form_and_is_refused():
    b.saved(b.output("out"))
    client = browser(b.person("vic", VIEWER))
    assert "Start a run" not in client.get("/designs/flow/").text
    assert client.post("/designs/flow/run/", {"text": "x"}).status_code == 403
    assert client.post("/designs/flow/run/", {"file": SimpleUploadedFile("a.txt", b"x")}).status_code == 403
    assert not Attachment.objects.exists()
    assert client.get("/designs/flow/run/").headers["Location"] == "/designs/flow/"


def test_a_timezone_is_chosen_from_the_list():
    client = olga()
    assert client.post("/account/timezone/", {"timezone": "Europe/Berlin"}).status_code == 302
    assert Preference.objects.get().timezone == "Europe/Berlin"
    for hostile in ("Mars/Base", "../etc/passwd", "", "x" * 5000, "a\x00"):
        assert client.post("/account/timezone/", {"timezone": hostile}).status_code == 400


def test_a_token_is_shown_once_works_and_is_revoked():
    client = olga()
    page = client.post("/account/tokens/", {"name": "laptop", "days": "30"}).text
    secret = page.partition('<code id="new-token">')[2].partition("</code>")[0]
    assert client.get("/api/runs/", headers={"authorization": f"Token {secret}"}).status_code == 200
    shown = client.get("/account/").text
    assert "laptop" in shown
    assert secret not in shown
    assert client.post(reverse("token-revoke", args=[Token.objects.get().token_key])).status_code == 302
    assert not Token.objects.exists()
    for form in (
        {"name": "", "days": "30"},
        {"name": "x" * 101, "days": "30"},
        {"name": "x", "days": "0"},
        {"name": "x", "days": "9999999"},
    ):
        assert client.post("/account/tokens/", form).status_code == 400


def test_nobody_revokes_a_token_of_somebody_else():
    token, _ = Token.objects.create(reviewer("ann").user, name="hers")
    assert olga().post(reverse("token-revoke", args=[token.token_key])).status_code == 404
    assert Token.objects.exists()


def test_a_chat_account_counts_once_its_owner_confirms_it_here():
    client, code = olga(), link_code("telegram", "tg-7")
    page = client.get("/account/link/", {"code": code})
    assert "tg-7" in page.text
    assert not ChatIdentity.objects.exists()
    assert client.post("/account/link/", {"code": code}).status_code == 302
    assert ChatIdentity.objects.get().user.username == "olga"
    assert "tg-7" in client.get("/account/").text
    assert browser(reviewer("ann")).post("/account/link/", {"code": code}).status_code == 409
    assert browser(reviewer("ann")).post(reverse("account-unlink", args=[ChatIdentity.objects.get().pk])).status_code == 404
    assert client.post(reverse("account-unlink", args=[ChatIdentity.objects.get().pk])).status_code == 302
    assert not ChatIdentity.objects.exists()


@pytest.mark.parametrize("code", ["", "x", "a:b:c", "x" * 5000])
def test_a_code_that_nobody_signed_confirms_nothing(code):
    assert olga().post("/account/link/", {"code": code}).status_code == 403
    assert olga().get("/account/link/", {"code": code}).status_code == 403


def test_the_bell_lists_what_came_newest_first_and_is_read_at_once():
    user, run_id = b.person("olga", OPERATOR).user, b.started(b.output("out"))
    for number in range(2):
        Notice.objects.create(user=user, run_id=run_id, source=str(number), title=f"<b>{number}</b>", created_at=timezone.now())
    client = olga()
    page = client.get("/notices/").text
    assert page.index("&lt;b&gt;1") < page.index("&lt;b&gt;0")
    assert client.get("/notices/read/").status_code == 405
    assert client.post("/notices/read/").status_code == 302
    assert not Notice.objects.filter(read_at=None).exists()


def test_opening_a_notification_leads_to_its_run_and_marks_it_read():
    user, run_id = b.person("olga", OPERATOR).user, b.started(b.output("out"))
    notices = [Notice.objects.create(user=user, run_id=run_id, source=str(n), title="out", created_at=timezone.now()) for n in range(2)]
    path = reverse("notice-open", args=[notices[0].pk])
    client = olga()
    assert f'action="{path}"' in client.get("/notices/").text
    assert client.get(path).status_code == 405
    assert client.post(path).headers["Location"] == f"/runs/{run_id}/"
    assert [notice.pk for notice in Notice.objects.filter(read_at=None)] == [notices[1].pk]
    assert '<span class="badge badge-bad" id="bell-badge">1</span>' in client.get("/inbox/").text
    first = Notice.objects.get(pk=notices[0].pk).read_at
    assert client.post(path).status_code == 302
    assert Notice.objects.get(pk=notices[0].pk).read_at == first


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ""),
        ("\n  \nSigned <b>today</b>\nmore", "Signed &lt;b&gt;today&lt;/b&gt;"),
        ('{\n  "summary": "2 risks",\n  "risks": []\n}', "&quot;summary&quot;: &quot;2 risks&quot;"),
        ("a\u202eb", "a[U+202E]b"),
        ("x" * 500, "x" * 139 + "…"),
    ],
)
def test_a_notification_says_its_first_line_and_its_run(text, said):
    user, run_id = b.person("olga", OPERATOR).user, b.started(b.output("out"))
    Notice.objects.create(user=user, run_id=run_id, source="1", title="Contract check: cleared", text=text, created_at=timezone.now())
    page = olga().get("/notices/").text
    assert page.partition('<p class="notice-said">')[2].partition("</p>")[0] == said
    assert f'<span class="mono">{run_id[:8]}</span>' in page


def test_nobody_opens_a_notification_of_somebody_else():
    user, run_id = b.person("olga", OPERATOR).user, b.started(b.output("out"))
    notice = Notice.objects.create(user=user, run_id=run_id, source="1", title="out", created_at=timezone.now())
    assert browser(reviewer("ann")).post(reverse("notice-open", args=[notice.pk])).status_code == 404
    assert not Notice.objects.exclude(read_at=None).exists()


@pytest.mark.parametrize("query", ["flow", "review", "REV", "  flow "])
def test_search_finds_designs_runs_and_gates(query):
    gate = parked()
    page = browser(reviewer("ann")).get("/search/", {"q": query}).text
    assert f'data-gate-id="{gate.pk}"' in page


def test_search_shows_nothing_foreign_and_leads_a_whole_id_to_its_run():
    design = b.saved(b.approval("review"), name="covert", profile=closed_profile().name)
    run_id = b.begun(design)
    page = browser(reviewer("eve")).get("/search/", {"q": "covert"}).text
    assert "Nothing found" in page
    assert browser(reviewer("eve")).get("/search/", {"q": run_id}).status_code == 200
    assert browser(b.admin()).get("/search/", {"q": run_id}).headers["Location"] == f"/runs/{run_id}/"


def test_a_phone_finds_search_under_more_and_a_field_on_its_page():
    client = browser(reviewer("ann"))
    more = client.get("/inbox/").text.partition('<nav class="bottomnav"')[2]
    assert 'href="/search/"' in more
    page = client.get("/search/").text
    assert "Nothing found" not in page
    assert 'id="search-here"' in page
    found = client.get("/search/", {"q": '"><b>'}).text
    assert 'id="search-here" name="q" value="&quot;&gt;&lt;b&gt;"' in found


@pytest.mark.parametrize("query", ["", "%", "_", "'; DROP TABLE x", "x" * 5000, "\ud83d\u202e", "<script>"])
def test_a_hostile_search_finds_nothing_and_echoes_nothing_alive(query):
    page = browser(reviewer("ann")).get("/search/", {"q": query.encode("utf-8", "replace").decode()})
    assert page.status_code == 200
    assert "<script>" not in page.text


def test_signing_in_leads_back_and_never_elsewhere(client):
    User.objects.create_user("ann", password="a long word")
    form = {"username": "ann", "password": "a long word"}
    assert client.post("/login/?next=/runs/", {**form, "next": "/runs/"}).headers["Location"] == "/runs/"
    client.post("/logout/")
    assert client.post("/login/", {**form, "next": "https://evil.example/"}).headers["Location"] == "/"


def test_a_wrong_password_is_said_without_saying_which_part(client):
    User.objects.create_user("ann", password="a long word")
    for name in ("ann", "nobody"):
        page = client.post("/login/", {"username": name, "password": "wrong"})
        assert page.status_code == 200
        assert 'role="alert"' in page.text


def test_where_the_first_password_is_is_said_until_somebody_signed_in(client):
    User.objects.create_user("ann", password="a long word")
    assert "admin-password" in client.get("/login/").text
    client.post("/login/", {"username": "ann", "password": "a long word"})
    client.post("/logout/")
    assert "admin-password" not in client.get("/login/").text


def test_after_a_wrong_password_the_focus_is_in_its_field(client):
    assert field_with_focus(client.get("/login/").text) == "id_username"
    page = client.post("/login/", {"username": "ann", "password": "wrong"}).text
    assert field_with_focus(page) == "id_password"
    assert 'value="ann"' in page


def field_with_focus(page: str) -> str:
    """The id of the one field that takes the focus."""
    (found,) = re.findall(r'<input id="(\w+)"[^>]* autofocus', page)
    return found


def test_signing_out_takes_a_post():
    client = olga()
    assert client.get("/logout/").status_code == 405
    assert client.post("/logout/").status_code == 302
    assert client.get("/inbox/").status_code == 302
