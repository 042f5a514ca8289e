"""`manage.py up`: web, workers and pulse under one supervisor."""

import asyncio
import sys
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from hermes_workflow.supervisor import CannotListen, Program, Supervisor, require_free_port, say

LARGEST_FRAME = 65536  # bytes a socket may send us at once


class Command(BaseCommand):
    """Everything an installation needs, in one foreground process."""

    help = "Run the web server, the workers and the pulse until Ctrl-C. HOST and PORT come from the environment."

    def handle(self, *args: Any, **options: Any) -> None:
        """Refuse a port in use with exit status 1, else run."""
        host, port = settings.HOST, settings.PORT
        try:
            require_free_port(host, port)
        except CannotListen as error:
            raise CommandError(str(error)) from error
        asyncio.run(serve(host, port))


def programs(host: str, port: int) -> list[Program]:
    """What an installation consists of."""
    manage = (sys.executable, str(settings.BASE_DIR / "manage.py"))
    return [
        Program("web", (sys.executable, "-m", "uvicorn", *uvicorn_options(host, port)), {"HERMES_PROCESS": "web"}),
        Program("workers", (*manage, "workers"), {"HERMES_PROCESS": "worker"}),
        Program("pulse", (*manage, "pulse"), {"HERMES_PROCESS": "worker"}),
    ]


def uvicorn_options(host: str, port: int) -> list[str]:
    """Forwarded headers are left to our own middleware, which counts proxies instead of trusting the loopback address."""
    options = [
        "hermes_workflow.asgi:application",
        "--app-dir",
        str(settings.BASE_DIR),
        "--host",
        host,
        "--port",
        str(port),
        "--lifespan",
        "off",
    ]
    options += ["--no-proxy-headers", "--no-server-header", "--no-access-log", "--log-level", "warning"]
    return [*options, "--ws-max-size", str(LARGEST_FRAME), "--timeout-graceful-shutdown", "3"]


async def serve(host: str, port: int) -> None:
    """Run everything and say where once the web server answers."""
    supervisor = Supervisor(programs(host, port), say)
    greeting = asyncio.create_task(greet(supervisor, host, port))
    await supervisor.run()
    greeting.cancel()


async def greet(supervisor: Supervisor, host: str, port: int) -> None:
    """Print the URL as soon as it works."""
    local = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    while not supervisor.stopping.is_set():
        with suppress(OSError):
            _, writer = await asyncio.open_connection(local, port)
            writer.close()
            break
        await asyncio.sleep(0.1)
    shown = f"[{local}]" if ":" in local else local
    supervisor.line("up", f"Hermes Workflow is at http://{shown}:{port}/ (Ctrl-C stops it)")
