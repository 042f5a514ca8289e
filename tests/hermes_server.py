"""A Hermes Agent's run API on this machine: it keeps every promise of the real one, and breaks them when a test says so.

`server.plays(…)` gives the documents that the next run shows, one per look; `server.fails("read", trouble)` answers the next such call
with a trouble instead: `status`, `hang`, `cut`, `drip`, `huge` or `raw`.
"""

import json
import re
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "agent-key-0123456789"
PATH = re.compile(r"(?:/p/([^/]+))?/v1/runs(?:/([^/]+))?(?:/(events|approval|stop))?")

Trouble = Callable[["Handler"], None]


@dataclass
class Asked:
    """One call that came in."""

    what: str
    profile: str
    headers: dict[str, str]
    body: Any


@dataclass
class HermesServer:
    """What the agent did and was asked."""

    url: str = ""
    asked: list[Asked] = field(default_factory=list)
    runs: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    keys: dict[str, tuple[Any, str]] = field(default_factory=dict)
    shows: list[list[dict[str, Any]]] = field(default_factory=list)
    troubles: dict[str, list[Trouble]] = field(default_factory=lambda: defaultdict(list))
    events: list[bytes] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)
    ending: threading.Event = field(default_factory=threading.Event)

    def plays(self, *documents: dict[str, Any]) -> None:
        """What the next run shows, look by look; the last for ever."""
        self.shows.append(list(documents))

    def fails(self, what: str, *troubles: Trouble) -> None:
        """The next calls of a kind (start, read, events, approval, stop) meet these."""
        self.troubles[what] += troubles

    def calls(self, what: str) -> list[Asked]:
        """The calls of a kind so far."""
        return [asked for asked in self.asked if asked.what == what]

    def settings(self, **more: Any) -> dict[str, Any]:
        """Those of a profile that this agent performs for."""
        return {"base_url": self.url, "api_key_env": "HERMES_TEST_AGENT_KEY", "poll_seconds": 0.05, "patience_seconds": 1.0, **more}


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    agent: HermesServer

    def log_message(self, *args: Any) -> None:
        """Quietly."""

    def do_GET(self) -> None:
        """Look at a run, or listen to it."""
        self.serve(None)

    def do_POST(self) -> None:
        """Start, stop, answer."""
        length = int(self.headers.get("Content-Length") or 0)
        self.serve(json.loads(self.rfile.read(length) or b"null"))

    def serve(self, body: Any) -> None:
        """Answer, or fail as told."""
        found = PATH.fullmatch(self.path)
        if not found:
            self.reply(404, {"error": "no such route"})
            return
        profile, run_id, verb = found[1] or "", found[2] or "", found[3]
        what = verb or ("read" if run_id else "start")
        self.agent.asked.append(Asked(what, profile, {name.lower(): value for name, value in self.headers.items()}, body))
        if self.headers.get("Authorization") != f"Bearer {KEY}":
            self.reply(401, {"error": {"message": "invalid key", "code": "invalid_api_key"}})
        elif self.agent.troubles[what]:
            self.agent.troubles[what].pop(0)(self)
        elif what == "start":
            self.start(profile, body)
        elif self.agent.owners.get(run_id) != profile:
            self.reply(404, {"error": {"message": "run not found", "code": "run_not_found"}})
        else:
            getattr(self, what)(run_id, body)

    def start(self, profile: str, body: Any) -> None:
        """202, replayed for a known key; 409 when the key had another body."""
        if not isinstance(body, dict) or not body.get("input"):
            self.reply(400, {"error": {"message": "Missing 'input'"}})
            return
        key = f"{profile}:{self.headers['Idempotency-Key']}"
        if known := self.agent.keys.get(key):
            if known[0] != body:
                self.reply(409, {"error": {"message": "key was used with another payload", "code": "idempotency_key_conflict"}})
            else:
                self.reply(202, {"run_id": known[1], "status": "started", "replayed": True})
            return
        run_id = f"run_{len(self.agent.runs) + 1:08x}"
        self.agent.keys[key] = (body, run_id)
        self.agent.owners[run_id] = profile
        self.agent.runs[run_id] = self.agent.shows.pop(0) if self.agent.shows else [{"status": "running"}]
        self.reply(202, {"run_id": run_id, "status": "started", "replayed": False})

    def read(self, run_id: str, body: Any) -> None:
        """The next document of the run."""
        shown = self.agent.runs[run_id]
        document = shown.pop(0) if len(shown) > 1 else shown[0]
        self.reply(200, {"object": "hermes.run", "run_id": run_id, "session_id": "space-1", **document})

    def approval(self, run_id: str, body: Any) -> None:
        """Take the answer."""
        self.reply(200, {"resolved": 1})

    def stop(self, run_id: str, body: Any) -> None:
        """Stop the run."""
        self.agent.stopped.append(run_id)
        self.agent.runs[run_id] = [{"status": "cancelled"}]
        self.reply(200, {"status": "stopping"})

    def events(self, run_id: str, body: Any) -> None:
        """The events as they are written down."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for piece in self.agent.events:
            self.wfile.write(piece)
            self.wfile.flush()
        self.close_connection = True

    def reply(self, code: int, document: Any, **headers: str) -> None:
        """A JSON answer."""
        self.send(code, json.dumps(document).encode(), **headers)

    def send(self, code: int, body: bytes, **headers: str) -> None:
        """Any answer."""
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def status(code: int, document: Any = None, **headers: str) -> Trouble:
    """An answer with this status."""
    return lambda handler: handler.reply(code, document or {"error": {"message": f"trouble {code}"}}, **headers)


def raw(body: bytes, code: int = 200) -> Trouble:
    """These bytes."""
    return lambda handler: handler.send(code, body)


def hang(handler: Handler) -> None:
    """Say nothing, until the test is over or the client is gone."""
    handler.agent.ending.wait(30)
    handler.close_connection = True


def cut(handler: Handler) -> None:
    """Hang up in the middle of the body."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"run_id": "run_1", "sta')
    handler.close_connection = True


def drip(handler: Handler) -> None:
    """A body of a byte each tenth of a second, without an end."""
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    with suppress(OSError):
        while not handler.agent.ending.wait(0.1):
            handler.wfile.write(b" ")
            handler.wfile.flush()
    handler.close_connection = True


def huge(handler: Handler) -> None:
    """Far more than anybody reads."""
    handler.send_response(200)
    handler.send_header("Content-Length", str(2**34))
    handler.end_headers()
    with suppress(OSError):
        while not handler.agent.ending.is_set():
            handler.wfile.write(b'{"output": "' + b"x" * 65_536)
    handler.close_connection = True


def started_unsaid(trouble: Trouble) -> Trouble:
    """The run is started, and the answer meets the trouble."""

    def then(handler: Handler) -> None:
        reply, handler.reply = handler.reply, lambda *args, **more: None  # type: ignore[method-assign]
        handler.start(handler.agent.asked[-1].profile, handler.agent.asked[-1].body)
        handler.reply = reply  # type: ignore[method-assign]
        trouble(handler)

    return then


def event(name: str, **data: Any) -> bytes:
    """One event of the stream, as the agent writes it."""
    return f"data: {json.dumps({'event': name, **data})}\n\n".encode()


@contextmanager
def hermes_server(port: int = 0) -> Iterator[HermesServer]:
    """A running agent, gone afterwards."""
    agent = HermesServer()
    handler = type("Bound", (Handler,), {"agent": agent})
    with ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        server.daemon_threads = True
        server.handle_error = lambda *_: None  # type: ignore[method-assign]
        agent.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield agent
        finally:
            agent.ending.set()
            server.shutdown()
            thread.join(5)
            time.sleep(0.01)
