"""A socket is opened by our own pages only."""

import pytest

from hermes_workflow.origins import is_own


def handshake(origin: str, host: str = "localhost:8000") -> list[tuple[bytes, str]]:
    return [(b"host", host), (b"origin", origin)]


def test_the_own_page_may_open_a_socket():
    assert is_own(handshake("http://localhost:8000"))


@pytest.mark.parametrize(
    "origin",
    [
        "http://localhost:9999",
        "http://evil.example",
        "null",
        "",
        "http://localhost:8000.evil.example",
        "file://localhost:8000",
        "http://[",
        "*",
    ],
)
def test_a_page_from_elsewhere_may_not(origin):
    assert not is_own(handshake(origin))


def test_without_an_origin_nobody_vouches():
    assert not is_own([(b"host", "localhost:8000")])


def test_two_origins_are_refused():
    assert not is_own([*handshake("http://localhost:8000"), (b"origin", "http://localhost:8000")])


def test_a_forged_host_does_not_vouch_for_itself():
    assert not is_own(handshake("http://evil.example", host="evil.example"))


def test_a_trusted_origin_may_open_a_socket(settings):
    settings.CSRF_TRUSTED_ORIGINS = ["https://flows.example.com"]
    assert is_own(handshake("https://flows.example.com", host="localhost:8000"))
