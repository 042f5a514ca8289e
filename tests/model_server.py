"""An endpoint that speaks the chat completions of OpenAI over real sockets, and misbehaves as it is told."""

import json
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

Answer = Callable[["Handler"], None]


@dataclass
class Seen:
    """One request as it came."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass
class ModelServer:
    """What it was asked, and what it does for each request in turn; the last goes on for ever."""

    url: str = ""
    seen: list[Seen] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    hung_up: threading.Event = field(default_factory=threading.Event)
    let_go: threading.Event = field(default_factory=threading.Event)

    def does(self, *answers: Answer) -> None:
        """What the next requests get."""
        self.answers[:] = answers

    def next(self) -> Answer:
        """The answer to the request that just came."""
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    model: ModelServer

    def do_POST(self) -> None:
        """Note the request, then do what was said."""
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.model.seen.append(Seen(self.path, {name.lower(): value for name, value in self.headers.items()}, json.loads(body or b"{}")))
        try:
            self.model.next()(self)
        except OSError:
            self.model.hung_up.set()
            self.close_connection = True

    do_GET = do_POST

    def log_message(self, *_: Any) -> None:
        """Quietly."""

    def head(self, status: int = 200, **headers: str) -> None:
        """The status line and the headers of an answer that ends with the connection."""
        self.send_response(status)
        for name, value in {"Content-Type": "text/event-stream", "Connection": "close", **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.close_connection = True

    def write(self, data: bytes) -> None:
        """Send it now."""
        self.wfile.write(data)
        self.wfile.flush()


class Server(socketserver.ThreadingTCPServer):
    """A thread per connection."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 64


@contextmanager
def model_server() -> Iterator[ModelServer]:
    """A running endpoint."""
    model = ModelServer()
    with Server(("127.0.0.1", 0), type("Bound", (Handler,), {"model": model})) as server:
        model.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield model
        finally:
            model.let_go.set()
            server.shutdown()
            thread.join(5)


def chunk(delta: dict[str, Any] | None, *, finish: str | None = None, usage: dict[str, int] | None = None, **more: Any) -> bytes:
    """One event of a stream."""
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    event = {
        "id": "chatcmpl-7",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "big-2",
        "choices": choices,
        "usage": usage,
        **more,
    }
    return b"data: " + json.dumps(event).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"
USAGE = {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15}


def says(*pieces: str, usage: dict[str, int] | None = USAGE, finish: str = "stop", pause: float = 0.0) -> Answer:
    """A whole answer in pieces."""

    def answer(handler: Handler) -> None:
        handler.head(X_Request_Id="req-81")
        handler.write(chunk({"role": "assistant", "content": ""}))
        for piece in pieces:
            handler.write(chunk({"content": piece}))
            time.sleep(pause)
        handler.write(chunk({}, finish=finish))
        if usage:
            handler.write(chunk(None, usage=usage))
        handler.write(DONE)

    return answer


def sends(*pieces: bytes, status: int = 200, **headers: str) -> Answer:
    """These bytes, then the end of the connection."""

    def answer(handler: Handler) -> None:
        handler.head(status, **headers)
        for piece in pieces:
            handler.write(piece)

    return answer


def refuses(status: int, message: str = "no", *, code: str | None = None, **headers: str) -> Answer:
    """An error in the shape that OpenAI gives it."""
    body = json.dumps({"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}).encode()
    return sends(body, status=status, **{"Content_Type": "application/json", **headers})


def hangs(after: bytes = b"", *, head: bool = False) -> Answer:
    """Nothing more, until the test is over or the client hangs up."""

    def answer(handler: Handler) -> None:
        if head or after:
            handler.head()
            handler.write(after)
        handler.connection.settimeout(20)
        if handler.connection.recv(1) == b"":
            handler.model.hung_up.set()
        handler.close_connection = True

    return answer


def drips(data: bytes, *, every: float = 0.05) -> Answer:
    """One byte at a time."""

    def answer(handler: Handler) -> None:
        for place in range(len(data)):
            handler.write(data[place : place + 1])
            if handler.model.let_go.wait(every):
                break
        handler.close_connection = True

    return answer


def cuts(*pieces: bytes) -> Answer:
    """A body that is announced as longer than what comes."""
    return sends(*pieces, Content_Length="100000")


def floods(piece: bytes, *, times: int = 100_000) -> Answer:
    """Far more than anybody wants."""

    def answer(handler: Handler) -> None:
        handler.head()
        for _ in range(times):
            handler.write(piece)

    return answer
