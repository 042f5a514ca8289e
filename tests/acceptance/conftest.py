"""Fixtures of the stories: an installation as shipped, people with browsers, and what the browsers complain of."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.management import call_command

from hermes_workflow.rights import Principal
from tests.builders import person

QUIET_MS = 1500


class Watched:
    """A page whose console, requests and navigations are written down."""

    def __init__(self, page: Any, url: str) -> None:
        self.page, self.url = page, url
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self.complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))

    def goto(self, path: str) -> None:
        """Open a page of the site and mark it, so that a reload would be noticed."""
        self.page.goto(self.url + path)
        self.page.evaluate("window.stayed = true")

    def stayed(self) -> bool:
        """Whether the page was never loaded again."""
        return bool(self.page.evaluate("window.stayed === true"))

    def foreign(self) -> list[str]:
        """Requests that left the site."""
        return [url for url in self.requests if not url.startswith((self.url, "data:", "blob:"))]


@pytest.fixture
def installed(live_server_url: str, settings: Any, tmp_path: Any) -> str:
    """The site with what a new installation starts with."""
    settings.HERMES_HOME = tmp_path
    call_command("setup_demo", verbosity=0)
    return live_server_url


@pytest.fixture
def seat(browser: Any, installed: str, sign_in: Callable[..., Any]) -> Iterator[Callable[..., Watched]]:
    """`seat(person)` is that person in front of a browser of their own; at the end no browser may have complained."""
    seats: list[Watched] = []
    contexts: list[Any] = []

    def taken(who: Principal, *, width: int = 1280, height: int = 860, **more: Any) -> Watched:
        context = browser.new_context(viewport={"width": width, "height": height}, **more)
        contexts.append(context)
        sign_in(who.user, into=context)
        seats.append(Watched(context.new_page(), installed))
        return seats[-1]

    yield taken
    complaints = [line for one in seats for line in one.complaints]
    foreign = [url for one in seats for url in one.foreign()]
    for context in contexts:
        context.close()
    assert complaints == []
    assert foreign == []


@pytest.fixture
def people(installed: str) -> dict[str, Principal]:
    """An operator who starts, two reviewers who answer, a viewer."""
    roles = {"olga": "operator", "ann": "reviewer", "ben": "reviewer", "vic": "viewer", "dan": "designer"}
    return {name: person(name, role) for name, role in roles.items()}
