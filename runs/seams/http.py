"""Calls over HTTP on a leash: bounded in time and size, given up at once when nobody wants them, following nothing.

A read waits in short slices, so that a server that says nothing, or one byte a minute, can hold no worker beyond the deadline.
"""

import hashlib
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import httpcore2
import httpx2

CONNECT_SECONDS = 10.0
WRITE_SECONDS = 30.0  # for one piece of a request; a server reads faster than that
LOOK_EVERY = 0.25
PIECE = 65_536
BODY_LIMIT = 4 * 1_048_576
VISIBLE_ASCII = re.compile(r"[\x21-\x7e]{1,255}")


class LetGo(Exception):
    """The leash ended the call; its `ended` says why."""


@dataclass(slots=True)
class Leash:
    """How far one piece of work may go, over all its calls: until when (monotonic seconds), bytes of a body and of one line of it.

    `ended` is why it was ended: timeout, cancelled, body, encoding; "" while it was not.
    """

    until: float
    cancelled: Callable[[], bool] = lambda: False
    body: int = BODY_LIMIT
    line: int = BODY_LIMIT
    ended: str = ""
    began: float = field(default_factory=time.monotonic)

    @classmethod
    def of(cls, seconds: float, **more: Any) -> "Leash":
        """A leash that ends `seconds` from now."""
        return cls(time.monotonic() + seconds, **more)

    def end(self, why: str) -> LetGo:
        """Remember the first reason."""
        self.ended = self.ended or why
        return LetGo(self.ended)

    def left(self) -> float:
        """Seconds left. Raises LetGo when there are none, or nobody wants the work any more."""
        left = self.until - time.monotonic()
        if left <= 0:
            raise self.end("timeout")
        if self.cancelled():
            raise self.end("cancelled")
        return left

    def measured(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """The pieces of a body, while it and each line of it stay within their limits."""
        size = line = 0
        for piece in pieces:
            size += len(piece)
            line = len(piece) - piece.rfind(b"\n") - 1 if b"\n" in piece else line + len(piece)
            if size > self.body or line > self.line:
                raise self.end("body")
            yield piece


class Stream(httpcore2.NetworkStream):
    """A connection that looks at its leash while it waits."""

    def __init__(self, inner: httpcore2.NetworkStream, leash: Leash) -> None:
        self._inner, self._leash = inner, leash

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """What comes next, however long that takes within the leash."""
        while True:
            left = self._leash.left()
            try:
                return self._inner.read(max_bytes, timeout=min(LOOK_EVERY, left))
            except httpcore2.ReadTimeout:
                continue

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send it piece by piece."""
        for start in range(0, len(buffer), PIECE):
            self._inner.write(buffer[start : start + PIECE], timeout=min(WRITE_SECONDS, self._leash.left()))

    def close(self) -> None:
        """Hang up."""
        self._inner.close()

    def start_tls(self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None) -> "Stream":
        """The same leash on the secured connection."""
        limit = min(CONNECT_SECONDS, self._leash.left())
        return Stream(self._inner.start_tls(ssl_context, server_hostname, limit), self._leash)

    def get_extra_info(self, info: str) -> Any:
        """As the connection below says."""
        return self._inner.get_extra_info(info)


class Backend(httpcore2.NetworkBackend):
    """Connects on a leash."""

    def __init__(self, leash: Leash) -> None:
        self._leash, self._inner = leash, httpcore2.SyncBackend()

    def connect_tcp(self, host: str, port: int, timeout: float | None = None, *rest: Any, **more: Any) -> Stream:
        """A connection, within ten seconds."""
        limit = min(CONNECT_SECONDS, self._leash.left())
        return Stream(self._inner.connect_tcp(host, port, limit, *rest, **more), self._leash)


@contextmanager
def renamed() -> Iterator[None]:
    """The errors of the lower library under the names that callers of the upper one know."""
    try:
        yield
    except (httpcore2.TimeoutException, httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.UnsupportedProtocol) as error:
        raise getattr(httpx2, type(error).__name__, httpx2.TransportError)(str(error)) from error


class Body(httpx2.SyncByteStream):
    """The body of an answer, measured."""

    def __init__(self, inner: Any, leash: Leash) -> None:
        self._inner, self._leash = inner, leash

    def __iter__(self) -> Iterator[bytes]:
        with renamed():
            yield from self._leash.measured(iter(self._inner))

    def close(self) -> None:
        """Hang up on what was not read."""
        self._inner.close()


class Transport(httpx2.BaseTransport):
    """One connection pool on one leash; certificates are checked, and no proxy is taken from the environment."""

    def __init__(self, leash: Leash) -> None:
        self._leash = leash
        self._pool = httpcore2.ConnectionPool(ssl_context=certificates(), network_backend=Backend(leash))

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Ask once. A packed body is refused: a small one may unfold beyond every limit."""
        url = request.url
        asked = httpcore2.Request(
            method=request.method,
            url=httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=[(name, value) for name, value in request.headers.raw if name.lower() != b"accept-encoding"],
            content=request.stream,
            extensions=request.extensions,
        )
        with renamed():
            answer = self._pool.handle_request(asked)
        body = Body(answer.stream, self._leash)
        found = httpx2.Response(answer.status, headers=answer.headers, stream=body, extensions=answer.extensions)
        if found.headers.get("content-encoding", "identity").lower() != "identity":
            body.close()
            raise self._leash.end("encoding")
        return found

    def close(self) -> None:
        """Close every connection."""
        self._pool.close()


@cache
def certificates() -> Any:
    """The trusted certificates: the machine's, or those that SSL_CERT_FILE or SSL_CERT_DIR names."""
    return httpx2.create_ssl_context()


def client(leash: Leash, *, base_url: str = "", headers: Mapping[str, str] | None = None) -> httpx2.Client:
    """A client on `leash`, to be used in a `with`; it follows no redirect and knows no cookie or password of this machine."""
    return httpx2.Client(
        transport=Transport(leash), base_url=base_url, headers=dict(headers or {}), timeout=None, trust_env=False, follow_redirects=False
    )


@dataclass(frozen=True, slots=True)
class Reply:
    """One whole answer."""

    status: int
    headers: httpx2.Headers
    body: bytes


def exchange(caller: httpx2.Client, method: str, path: str, **more: Any) -> Reply:
    """One call with its whole answer. Raises LetGo, httpx2.HTTPError and httpx2.InvalidURL; `http_faults.of_call` reads them."""
    with caller.stream(method, path, **more) as answer:
        return Reply(answer.status_code, answer.headers, answer.read())


def header_text(text: str) -> str:
    """`text` if it can stand in a header as it is (1 to 255 visible ASCII characters), else its digest."""
    return text if VISIBLE_ASCII.fullmatch(text) else f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
