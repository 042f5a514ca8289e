"""What a target means, what a channel's address may be, and which machines a webhook may reach."""

from urllib.parse import urlsplit

import pytest

from hermes_workflow.channels import address, env_names, place_in, target_fault, url_fault
from hermes_workflow.models import Channel
from runs.seams.addresses import Refused, pinned
from runs.seams.letter import TEXT_LIMIT, Letter
from tests.bad_inputs import bad_inputs, plays

TELEGRAM = Channel(platform="telegram", url="tgram://{env:TOKEN}/{chat_id}/?topic={thread}")
MATRIX = Channel(platform="matrix", url="matrixs://{env:USER}:{env:PASS}@matrix.example/{chat_id}", chats=["!r:server", "#room:server"])
KNOWN = {channel.platform: channel for channel in (TELEGRAM, MATRIX)}


def test_only_the_first_colon_separates_the_platform():
    assert place_in(MATRIX, "matrix:!r:server").chat_id == "!r:server"


def test_a_thread_follows_the_chat_where_the_address_has_threads():
    place = place_in(TELEGRAM, "telegram:-1001:17585")
    assert (place.chat_id, place.thread) == ("-1001", "17585")
    assert place_in(TELEGRAM, "telegram:-1001").thread == ""


def test_a_chat_that_is_not_allowed_is_refused():
    with pytest.raises(ValueError, match="not among the chats"):
        place_in(MATRIX, "matrix:!other:server")


@pytest.mark.parametrize("chat", ["@evil.test", "a@evil.test#x", "x=1", "#eng", "+49151", "!r:server"])
def test_whatever_a_chat_is_called_it_stays_inside_its_place(chat: str):
    channel = Channel(platform="ntfy", url="ntfys://ntfy.example/{chat_id}?priority=low")
    plain, filled = (
        urlsplit(address(channel, place_in(channel, "ntfy:room"), {})),
        urlsplit(address(channel, place_in(channel, f"ntfy:{chat}"), {})),
    )
    assert (filled.scheme, filled.netloc, filled.query, filled.fragment) == (plain.scheme, plain.netloc, plain.query, plain.fragment)
    assert filled.path.count("/") == 1


def test_a_secret_of_the_environment_stays_inside_its_place_too():
    place = place_in(MATRIX, "matrix:!r:server")
    filled = address(MATRIX, place, {"USER": "bot", "PASS": "p@ss/word?"})
    assert filled == "matrixs://bot:p%40ss%2Fword%3F@matrix.example/%21r%3Aserver"
    assert env_names(MATRIX) == ["USER", "PASS"]


@pytest.mark.parametrize("bad", [entry.input for entry in bad_inputs("delivery", kind="field")])
@pytest.mark.parametrize("channels", [KNOWN, {}], ids=["channels", "none"])
def test_an_address_is_no_target(bad: str, channels: dict[str, Channel]):
    assert target_fault(bad, channels)
    assert target_fault(f"telegram:{bad}", channels)


@plays("D031")
@pytest.mark.parametrize(
    "target", ["telegram:", ":", "telegram:b:c\n", "telegram:..", "telegram:1,2", "telegram:a/b", "telegram:1:", "Te le:1"]
)
def test_a_malformed_target_is_refused(target: str):
    assert target_fault(target, KNOWN)


def test_a_target_of_a_channel_that_is_not_configured_is_refused_once_there_are_channels():
    assert target_fault("discord:5", KNOWN) == "must be of a configured channel: matrix, telegram"
    assert target_fault("discord:5", {}) == ""


@pytest.mark.parametrize(
    "url",
    [
        "tgram://{env:TOKEN}/{chat_id}/?topic={thread}",
        "discord://{env:ID}/{env:TOKEN}",
        "ntfy://localhost:8080/{chat_id}",
        "mailtos://me:{env:PASS}@mail.example?to={chat_id}",
    ],
)
def test_an_allowed_service_is_an_address(url: str):
    assert url_fault("apprise", url) == ""


@pytest.mark.parametrize(
    "url",
    [
        "json://127.0.0.1/{chat_id}",
        "xml://host/{chat_id}",
        "form://host",
        "syslog://",
        "file:///etc/passwd",
        "http://127.0.0.1/",
        "ntfy://{chat_id}/topic",
        "ntfy://user@{chat_id}:80/topic",
        "ntfys://x?y={chat_id",
        "ntfys://x/{secret}",
        "ntfys://me:hunter2@x/{chat_id}",
        "tgram://123:literal/{chat_id}",
        "ntfys://x/{chat_id}\r\nX: 1",
        "ntfys",
        "",
    ],
)
def test_any_other_address_is_refused(url: str):
    assert url_fault("apprise", url)


@pytest.mark.parametrize("url", ["https://hermes.example:8644", "http://127.0.0.1:8644/base", "http://hermes:8644"])
def test_a_webhook_has_a_plain_address(url: str):
    assert url_fault("hermes", url) == ""


@pytest.mark.parametrize(
    "url", ["ftp://x", "https://u:p@x", "https://x?y=1", "https://x#y", "https://x/{chat_id}", "https://[::1", "https://x:99999"]
)
def test_a_webhook_has_no_other_address(url: str):
    assert url_fault("hermes", url)


@pytest.mark.parametrize(
    "url",
    [
        "http://8.8.8.8/",
        "http://169.254.169.254/",
        "https://169.254.169.254/",
        "https://[fe80::1]/",
        "https://0.0.0.0/",
        "https://[::ffff:169.254.169.254]/",
        "https://no-such-host.invalid/",
    ],
)
def test_no_other_machine_is_reached(url: str):
    with pytest.raises(Refused):
        pinned(urlsplit(url))


def test_a_public_name_that_leads_to_this_machine_is_not_reached(monkeypatch: pytest.MonkeyPatch):
    answer = [(2, 1, 6, "", ("93.184.216.34", 443)), (2, 1, 6, "", ("127.0.0.1", 443))]
    monkeypatch.setattr("socket.getaddrinfo", lambda *given, **more: answer)
    with pytest.raises(Refused, match="not on the internet"):
        pinned(urlsplit("https://rebound.example/"))


@pytest.mark.parametrize("url", ["http://127.0.0.1:8644/", "http://localhost/", "https://[::1]/", "http://10.0.0.7/"])
def test_a_private_machine_is_reached_where_the_address_says_so(url: str):
    assert pinned(urlsplit(url))


def test_a_letter_calls_nobody_and_is_cut_visibly():
    letter = Letter("r", "n", "@here", "@everyone <!channel> <@1> ann@example.com\n" + "x" * TEXT_LIMIT, "k").quiet()
    assert "@everyone" not in letter.text
    assert "<!channel" not in letter.text
    assert "@here" not in letter.title
    assert "ann@example.com" in letter.text
    assert letter.text.endswith("characters left out]")
