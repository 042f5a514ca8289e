"""A database that does not answer: 503 and when to come back, from every door, and what is left of dead connections is dropped."""

import psycopg
import pytest
from django.db import InterfaceError, OperationalError, connection
from django.test import Client

from hermes_workflow import lost_connections
from hermes_workflow.lost_connections import tells_of_loss
from tests import builders as b
from tests.api import Api
from tests.sockets import session_of

pytestmark = pytest.mark.django_db(transaction=True)


class Pool:
    """A pool that counts how often it was emptied."""

    drained = 0

    def drain(self) -> None:
        """Drop what is idle."""
        self.drained += 1


def broken(*_: object) -> None:
    raise OperationalError("server closed the connection unexpectedly")


def cause(error: Exception) -> OperationalError:
    """The error as Django raises it for one of the driver."""
    wrapped = OperationalError(str(error))
    wrapped.__cause__ = error
    return wrapped


@pytest.fixture
def browser() -> Client:
    """Somebody signed in, who is shown what a browser is shown."""
    client = Client(raise_request_exception=False)
    name, _, value = session_of(b.person("ann", "reviewer")).partition("=")
    client.cookies[name] = value
    return client


@pytest.mark.parametrize("path", ["/inbox/", "/runs/", "/account/", "/admin/"])
def test_a_page_says_that_it_may_be_asked_for_again(browser, path):
    with connection.execute_wrapper(broken):
        answer = browser.get(path)
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert "Nothing was changed. Try again in a moment." in answer.content.decode()
    assert "frame-ancestors 'none'" in answer["Content-Security-Policy"]


@pytest.mark.parametrize("path", ["/api/runs/", "/api/gates/"])
def test_the_api_says_so_too(path):
    api = Api(b.admin())
    with connection.execute_wrapper(broken):
        answer = api.get(path, status=503)
    assert answer["error"]["code"] == "unavailable"
    assert api.sent["Retry-After"] == "5"


def test_a_driver_without_a_connection_is_the_same_to_a_client(browser):
    def closed(*_: object) -> None:
        raise InterfaceError("connection already closed")

    with connection.execute_wrapper(closed):
        assert browser.get("/runs/").status_code == 503


def test_a_mistake_of_ours_stays_one(browser):
    def wrong(*_: object) -> None:
        raise ValueError("nobody thought of this")

    with connection.execute_wrapper(wrong):
        answer = browser.get("/runs/")
    assert answer.status_code == 500
    assert "nobody thought" not in answer.content.decode()


def test_one_lost_connection_gives_up_those_beside_it(browser, monkeypatch):
    pool = Pool()
    monkeypatch.setattr(lost_connections, "connection", type("Pooled", (), {"pool": pool}))
    with connection.execute_wrapper(broken):
        browser.get("/runs/")
        Api(secret="0" * 64).get("/api/runs/", status=503)
    assert pool.drained == 2


@pytest.mark.parametrize(
    ("error", "lost"),
    [
        (psycopg.OperationalError("server closed the connection unexpectedly"), True),
        (psycopg.errors.AdminShutdown(), True),
        (psycopg.errors.CannotConnectNow(), True),
        (psycopg.errors.LockNotAvailable(), False),
        (psycopg.errors.DiskFull(), False),
    ],
)
def test_only_a_lost_connection_speaks_for_the_others(error, lost):
    assert tells_of_loss(cause(error)) is lost
