"""A person in front of the pages, without a real browser."""

from django.test import Client

from hermes_workflow.rights import Principal


def browser(who: Principal, **more: bool) -> Client:
    """Signed in; a fault of ours is a 500 page instead of an exception."""
    client = Client(raise_request_exception=False, **more)
    client.force_login(who.user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def part(name: str) -> dict[str, str]:
    """The headers with which htmx asks for a part of a page."""
    return {"HX-Request": "true", "HX-Target": name}
