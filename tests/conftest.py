"""Fixtures of every test: what the machine offers, a live server, a browser."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client

from runs import performers, warm
from runs.append_only import PURGED
from runs.models import Run
from tests.servers import asgi_server

CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def require(thing: str, found: object) -> None:
    """Skip a test that needs what this machine lacks; with CI=true that is a failure."""
    if not found:
        message = f"{thing} is not on this machine"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(message)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests last: Playwright leaves an event loop running in the thread, which async tests and Django's ORM refuse."""
    for item in items:
        if "page" in getattr(item, "fixturenames", ()) or "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)


@pytest.fixture(autouse=True)
def clean_slate(settings: Any, tmp_path: Path) -> Iterator[None]:
    """No test sees another's cache, files or warm histories."""
    settings.MEDIA_ROOT = tmp_path / "media"
    warm.forget()
    performers.forget()
    yield
    cache.clear()


@pytest.fixture(autouse=True)
def purged_history(request: pytest.FixtureRequest) -> Iterator[None]:
    """The history's own guard would refuse the flush after a test that commits; it lets the events of purged runs go."""
    marker = request.node.get_closest_marker("django_db")
    commits = "transactional_db" in request.fixturenames or (marker is not None and marker.kwargs.get("transaction"))
    if commits:
        request.getfixturevalue("transactional_db")
    yield
    if commits:
        Run.objects.update(status=PURGED)


@pytest.fixture(scope="session")
def web_server(django_db_setup: None) -> Iterator[str]:
    """One server per test process."""
    with asgi_server() as url:
        yield url


@pytest.fixture
def live_server_url(transactional_db: None, web_server: str) -> str:
    """The base URL of the real server; the test's rows are committed, so that the server sees them."""
    return web_server


@pytest.fixture(scope="session")
def browser_type_launch_args() -> dict[str, Any]:
    """The distribution's Chromium, so that tests download no browser."""
    path = shutil.which("chromium")
    require("Chromium", path)
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    return {"executable_path": path, "args": CHROMIUM_FLAGS}


@pytest.fixture
def sign_in(context: Any, live_server_url: str, settings: Any) -> Callable[..., Any]:
    """`sign_in(user)` signs the browser in, or another context with `into=`; it gives back that context."""

    def signed_in(user: User, into: Any = None) -> Any:
        client = Client()
        client.force_login(user)
        name = settings.SESSION_COOKIE_NAME
        chosen = into or context
        chosen.add_cookies([{"name": name, "value": client.cookies[name].value, "url": live_server_url}])
        return chosen

    return signed_in


@pytest.fixture(scope="session")
def base_url() -> None:
    """Playwright's default of a base URL does not apply: `live_server_url` is not known before the database is."""
    return
