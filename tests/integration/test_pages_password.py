"""A person changes their own password."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from hermes_workflow.rights import Principal
from tests.pages import browser

pytestmark = pytest.mark.django_db(transaction=True)

OLD, NEW = "a long word", "another long word"
CHANGE = {"old_password": OLD, "new_password1": NEW, "new_password2": NEW}


def signed_in() -> Client:
    """One more browser of ann's."""
    return browser(Principal(User.objects.get(username="ann")))


@pytest.fixture(autouse=True)
def ann() -> User:
    """Somebody with a password."""
    return User.objects.create_user("ann", password=OLD)


def test_a_changed_password_counts_and_only_this_session_goes_on():
    here, elsewhere = signed_in(), signed_in()
    assert 'href="/account/password/"' in here.get("/account/").text
    assert here.post("/account/password/", CHANGE).headers["Location"] == "/account/"
    assert "Your password is changed." in here.get("/account/").text
    assert elsewhere.get("/account/").status_code == 302
    assert User.objects.get().check_password(NEW)


@pytest.mark.parametrize(
    ("form", "field"),
    [
        ({"old_password": "wrong"}, "old-password"),
        ({"new_password2": "different word"}, "new-password-again"),
        ({"new_password1": "short", "new_password2": "short"}, "new-password-again"),
        ({"new_password1": "90817264536", "new_password2": "90817264536"}, "new-password-again"),
        ({"new_password1": "", "new_password2": ""}, "new-password"),
        ({"old_password": "x" * 5000}, "old-password"),
    ],
)
def test_a_password_that_will_not_do_is_refused_beside_its_field(form, field):
    page = signed_in().post("/account/password/", {**CHANGE, **form})
    assert page.status_code == 400
    assert f'id="{field}-error"' in page.text
    assert OLD not in page.text
    assert User.objects.get().check_password(OLD)


def test_who_is_not_signed_in_changes_no_password(client):
    assert client.post("/account/password/", CHANGE).headers["Location"].startswith("/login/")
    assert User.objects.get().check_password(OLD)
