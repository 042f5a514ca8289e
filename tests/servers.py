"""The product's web server in a thread of the test process, on the test database, sockets included."""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from asgiref.sync import sync_to_async
from django.db import connections

START_WITHIN = 20.0


@contextmanager
def asgi_server() -> Iterator[str]:
    """A running server; its base URL."""
    from hermes_workflow.asgi import application

    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(
            application, lifespan="off", log_level="warning", proxy_headers=False, server_header=False, timeout_graceful_shutdown=1
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])), name="web", daemon=True)
        thread.start()
        wait_until_started(server, thread)
        try:
            yield "http://{}:{}".format(*listener.getsockname())
        finally:
            server.should_exit = True
            thread.join(START_WITHIN)
            in_own_thread(lambda: asyncio.run(sync_to_async(connections.close_all)()))


def in_own_thread(work: Callable[[], None]) -> None:
    """Playwright leaves an event loop in the test's thread, where another must not run."""
    thread = threading.Thread(target=work)
    thread.start()
    thread.join(START_WITHIN)


def wait_until_started(server: uvicorn.Server, thread: threading.Thread) -> None:
    """Return once the server accepts connections; fail when it ends or takes too long."""
    pause = threading.Event()
    for _ in range(int(START_WITHIN / 0.02)):
        if server.started:
            return
        assert thread.is_alive(), "the web server ended while starting"
        pause.wait(0.02)
    raise AssertionError("the web server did not start in time")
