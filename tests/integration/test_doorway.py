"""What is answered before Django reads it: bodies beyond every limit, and headers that cannot be read."""

import json
import socket
from typing import Any
from urllib.parse import urlsplit

import pytest

from hermes_workflow.doorway import LARGEST_BODY

pytestmark = pytest.mark.django_db(transaction=True)

CHUNK = b"100000\r\n" + b"a" * 0x100000 + b"\r\n"


def asked(url: str, head: str, *body: bytes) -> tuple[int, dict[str, str], Any]:
    """Status, headers and JSON of the answer to a request put together by hand; a server that hangs up early is no error."""
    place = urlsplit(url)
    with socket.create_connection((place.hostname or "", place.port or 80), timeout=10) as line:
        try:
            line.sendall(head.replace("\n", "\r\n").encode("latin1") + f"Host: {place.netloc}\r\n\r\n".encode())
            for part in body:
                line.sendall(part)
        except OSError:
            pass
        answer = b""
        try:
            while part := line.recv(65536):
                answer += part
        except OSError:
            pass
    top, _, rest = answer.partition(b"\r\n\r\n")
    first, *lines = top.decode("latin1").split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    return int(first.split()[1]), headers, json.loads(rest) if headers["content-type"] == "application/json" else None


@pytest.mark.parametrize("path", ["/api/runs/", "/login/", "/no-such-page/"])
def test_a_body_that_says_it_is_too_large_is_not_read(live_server_url: str, path: str):
    status, headers, answer = asked(live_server_url, f"POST {path} HTTP/1.1\nContent-Length: {LARGEST_BODY + 1}\n", CHUNK)
    assert (status, answer["error"]["code"]) == (413, "too_large")
    assert headers["connection"] == "close"
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", ["/api/runs/", "/login/"])
def test_a_body_of_unknown_length_is_read_no_further_than_the_largest(live_server_url: str, path: str):
    head = f"POST {path} HTTP/1.1\nTransfer-Encoding: chunked\nContent-Type: application/json\n"
    status, _, answer = asked(live_server_url, head, *[CHUNK] * 12)
    assert (status, answer["error"]["code"]) == (413, "too_large")


@pytest.mark.parametrize("value", ["multipart/form-data; boundary=a; filename*=\x80''x", "text/plain; a*=no-such''x"])
def test_a_content_type_that_cannot_be_read_is_malformed(live_server_url: str, value: str):
    status, _, answer = asked(live_server_url, f"POST /login/ HTTP/1.1\nContent-Type: {value}\nContent-Length: 2\n", b"{}")
    assert (status, answer["error"]["code"]) == (400, "malformed")
