"""The courier: a small program that hands one message to one service through Apprise, in a process that can be ended at any moment.

It is run by path, `python -I courier.py`, reads `{"url", "title", "text"}` on stdin and prints `{"ok", "said"}`: what the library logged,
which may hold secrets and is redacted by who reads it. A process of its own, because a service that sends one byte a minute would hold
the library for ever, and one that sends gigabytes would fill the worker.
"""

import json
import logging
import resource
import sys
from typing import Any

MEMORY = 1 << 30
SAID = 2000


class Listener(logging.Handler):
    """Keeps what the library says."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the lines that say why something failed."""
        if record.levelno >= logging.WARNING:
            self.said.append(record.getMessage())


def carry(url: str, title: str, text: str) -> dict[str, Any]:
    """Hand it over; the library's answer is whether every message of it was taken."""
    import apprise

    listener = Listener()
    logging.getLogger("apprise").addHandler(listener)
    asset = apprise.AppriseAsset(app_id="Hermes Workflow", async_mode=False, plugin_paths=[], http_redirects=False, secure_logging=True)
    courier = apprise.Apprise(asset=asset)
    if not courier.add(url):
        return {"ok": False, "said": "the channel's address does not fit its service"}
    try:
        ok = bool(courier.notify(body=text, title=title, body_format=apprise.NotifyFormat.TEXT))
    except Exception as error:
        return {"ok": False, "said": f"{type(error).__name__}: {error}"[:SAID]}
    return {"ok": ok, "said": " ".join(listener.said)[:SAID]}


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    sys.stdout.write(json.dumps(carry(**json.load(sys.stdin))))
