"""Channels in the admin: what is taken, what is refused by its field, and that no secret is stored or shown."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from hermes_workflow.models import Channel
from hermes_workflow.rights import DESIGNER
from tests import builders as b
from tests.integration.admin_forms import form_in

pytestmark = pytest.mark.django_db
ADD = "/admin/hermes_workflow/channel/add/"
GOOD = {
    "platform": "telegram",
    "kind": "apprise",
    "url": "tgram://{env:TELEGRAM_TOKEN}/{chat_id}/?topic={thread}",
    "secret_env": "",
    "chats": "-1001\r\n@news\r\n\r\n",
    "enabled": "on",
}


@pytest.fixture
def client(db: None) -> Client:
    """An admin's browser."""
    signed_in = Client()
    signed_in.force_login(User.objects.create_superuser("root", password="a good password"))
    return signed_in


def refused(client: Client, **changes: Any) -> str:
    """What the page says of a channel that is not taken."""
    response = client.post(ADD, {**GOOD, **changes})
    assert response.status_code == 200
    assert not Channel.objects.exists()
    return " ".join(str(error) for errors in response.context["errors"] for error in errors)


def test_a_channel_is_made_and_changed(client: Client):
    assert client.post(ADD, GOOD).status_code == 302
    channel = Channel.objects.get()
    assert (channel.platform, channel.chats, channel.enabled) == ("telegram", ["-1001", "@news"], True)
    address = f"/admin/hermes_workflow/channel/{channel.pk}/change/"
    form = form_in(client.get(address), "channel_form")
    assert form.fields["chats"] == ["-1001\r\n@news"]
    assert client.post(address, {**form.fields, "chats": "-1002", "platform": "discord"}).status_code == 302
    channel.refresh_from_db()
    assert (channel.platform, channel.chats) == ("telegram", ["-1002"])


def test_a_secret_is_shown_as_set_and_never_as_it_is(client: Client, monkeypatch: pytest.MonkeyPatch):
    client.post(ADD, GOOD)
    listed = "/admin/hermes_workflow/channel/"
    assert "TELEGRAM_TOKEN: not set" in client.get(listed).content.decode()
    monkeypatch.setenv("TELEGRAM_TOKEN", "123456:very-hidden")
    page = client.get(listed).content.decode()
    assert "TELEGRAM_TOKEN: set" in page
    assert "very-hidden" not in page


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"url": "json://127.0.0.1/{chat_id}"}, "allowed service"),
        ({"url": "tgram://123456:ABCDEF/{chat_id}"}, "from the environment"),
        ({"url": "ntfys://{chat_id}"}, "after the host"),
        ({"url": "ntfys://x/{env:HERMES_SECRET_KEY}"}, "belongs to this site"),
        ({"url": "ntfys://x/{env:no name}"}, "ASCII"),
        ({"url": "ntfys://x/{env:1}"}, "name of an environment variable"),
        ({"kind": "hermes", "url": "https://agent.example"}, "is needed"),
        ({"kind": "hermes", "url": "file:///etc/passwd", "secret_env": "X_SECRET"}, "https://"),
        ({"kind": "smoke"}, "Select a valid choice"),
        ({"platform": "user"}, "neither user nor group"),
        ({"platform": "Tele gram"}, "slug"),
        ({"chats": "a b"}, "not the id of a chat"),
        ({"chats": "x" * 201}, "not the id of a chat"),
        ({"url": "x" * 2000}, "1000"),
    ],
)
def test_what_cannot_be_used_is_refused_by_its_field(client: Client, changes: dict[str, str], says: str):
    assert says in refused(client, **changes)


def test_a_webhook_of_an_agent_is_made(client: Client):
    fields = {**GOOD, "platform": "agent", "kind": "hermes", "url": "http://127.0.0.1:8644", "secret_env": "AGENT_SECRET", "chats": ""}
    assert client.post(ADD, fields).status_code == 302
    assert Channel.objects.get().chats == []


def test_a_designer_sees_no_channels(client: Client):
    client.post(ADD, GOOD)
    designer = Client()
    designer.force_login(b.person("dora", DESIGNER).user)
    assert designer.get("/admin/hermes_workflow/channel/").status_code == 403
    assert designer.post(ADD, GOOD).status_code == 403
