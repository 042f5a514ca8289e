"""Who may do what over the API: a row for every route and method, tried by every role on its own profile and on a foreign one."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import pytest

from hermes_workflow import services as designs
from hermes_workflow import timetable
from hermes_workflow.api.urls import urlpatterns
from hermes_workflow.models import Design, Profile, Token
from hermes_workflow.rights import ADMIN, BOT, DESIGNER, OPERATOR, REVIEWER, ROLES, VIEWER, Principal
from runs.models import Gate
from tests import builders
from tests.api import Api, error_of
from tests.builders import agent, approval, condition, design, output
from tests.fakes import ScriptedPerformer, failed

pytestmark = pytest.mark.django_db

EVERYBODY = frozenset(ROLES)
OPEN = ("api-tokens", "api-tools")  # lists of one's own, and of what holds no data
OWN, FOREIGN = "own", "foreign"
DOCUMENT = design(approval("review"))


@pytest.fixture(autouse=True)
def profiles(performer: ScriptedPerformer) -> None:
    """Two closed profiles; everybody but the stranger belongs to one of them."""
    builders.profile()
    for name in (OWN, FOREIGN):
        builders.profile(name, is_open=False)


def member(role: str) -> Principal:
    """Somebody of that role in the own profile; a bot speaks with a bot's token."""
    who = builders.person(role, *([role] if role in ROLES else []))
    Profile.objects.get(name=OWN).members.add(who.user)
    return who


def api_of(role: str) -> Api:
    """A client for that role."""
    who = member(role)
    return Api(secret=Token.objects.create(who.user, name="bot", bot=True)[1]) if role == BOT else Api(who)


def saved(profile: str, *nodes: Any, name: str = "") -> Design:
    """A design in that profile."""
    name = name or f"d-{Design.objects.count()}"
    document = design(*nodes) if nodes else DOCUMENT
    return designs.save_design(principal=builders.admin(), name=name, document=document, profile=profile).design


def parked(profile: str) -> str:
    """A run that waits for an answer at `review`."""
    return builders.begun(saved(profile))


def gate(profile: str) -> str:
    """The open gate of a parked run."""
    return str(Gate.objects.get(run_id=parked(profile)).pk)


def asking(profile: str) -> str:
    """A run whose agent step waits for the chat agent."""
    return builders.begun(saved(profile, agent("draft")), perform="caller")


def broken(profile: str) -> str:
    """A failed run."""
    run_id = builders.begun(saved(profile, agent("fails", retries=0)))
    builders.work(run_id)
    return run_id


def performed(profile: str) -> str:
    """A run whose agent step has an output."""
    run_id = builders.begun(saved(profile, agent("draft"), condition("never", "out.draft.did == 1")))
    builders.work(run_id)
    return run_id


def told(profile: str) -> str:
    """A run whose result was delivered."""
    run_id = builders.begun(saved(profile, agent("draft"), output("tell", deliver="notification", target="user:root")))
    builders.work(run_id)
    return run_id


Target = Callable[[str], tuple[str, Any]]


def at(template: str, make: Callable[[str], Any], body: Any = None) -> Target:
    """A fresh object in a profile, and the address that names it."""
    return lambda profile: (template.format(quote(str(make(profile)))), body)


def newly_named(path: str) -> Target:
    """A new design for the profile."""
    return lambda profile: (path, {"name": f"new-{Design.objects.count()}", "document": DOCUMENT, "profile": profile})


def always(path: str, body: Any = None) -> Target:
    """The same address whatever the profile."""
    return lambda profile: (path, body)


def scheduled(profile: str) -> int:
    """A schedule of a fresh design."""
    return timetable.create(principal=builders.admin(), design=saved(profile), cron="@daily").pk


def newly_scheduled(profile: str) -> tuple[str, Any]:
    """A new schedule for a design of the profile."""
    return "/api/schedules/", {"design": slug(profile), "cron": "@daily"}


@dataclass(frozen=True)
class Row:
    """What a role that may gets, what one that may not gets, and what a foreign object gives to one that otherwise might."""

    name: str
    method: str
    target: Target
    may: frozenset[str] = EVERYBODY
    gives: int = 200
    denies: int = 403
    foreign: int | None = 404
    hides: bool = field(default=True)


def slug(profile: str) -> str:
    """The name of a fresh design."""
    return saved(profile).slug


def tool(name: str, body: Callable[[str], Any]) -> Target:
    """A tool, with arguments that name something in the profile."""
    return lambda profile: (f"/api/tools/workflow_design_{name}/", body(profile))


def typed(text: str, make: Callable[[str], str]) -> Target:
    """A command that names something in the profile."""
    return lambda profile: ("/api/chat/command/", {"text": f"/workflow {text.format(make(profile))}"})


READ = "/api/runs/{}/"
DESIGN = frozenset({ADMIN, DESIGNER})
REVIEWED, DRAFTED = {"node_id": "review", "answer": "approve"}, {"node_id": "draft", "output": "x"}
TABLE = (
    Row("api-designs", "GET", always("/api/designs/"), foreign=None),
    Row("api-designs", "POST", newly_named("/api/designs/"), frozenset({ADMIN, DESIGNER}), 201, foreign=400, hides=False),
    Row("api-designs-validate", "POST", always("/api/designs/validate/", {"document": DOCUMENT}), foreign=None),
    Row("api-design", "GET", at("/api/designs/{}/", slug)),
    Row("api-design", "PUT", at("/api/designs/{}/", slug, {"document": DOCUMENT}), frozenset({ADMIN, DESIGNER}), hides=False),
    Row("api-design", "DELETE", at("/api/designs/{}/", slug), frozenset({ADMIN, DESIGNER}), 204),
    Row("api-design-versions", "GET", at("/api/designs/{}/versions/", slug)),
    Row("api-design-run", "POST", at("/api/designs/{}/run/", slug, {}), frozenset({ADMIN, DESIGNER, OPERATOR, BOT}), 201),
    Row("api-runs", "GET", always("/api/runs/"), foreign=None),
    Row("api-run", "GET", at(READ, parked)),
    Row("api-run-events", "GET", at(READ + "events/", parked)),
    Row("api-run-receipt", "GET", at(READ + "receipt/", parked)),
    Row("api-run-sessions", "GET", at(READ + "sessions/", parked)),
    Row("api-run-output", "GET", at(READ + "outputs/draft/", performed)),
    Row("api-run-respond", "POST", at(READ + "respond/", parked, {"node_id": "review", "answer": "approve"}), frozenset({ADMIN, REVIEWER})),
    Row("api-run-respond", "POST", at(READ + "respond/", asking, {"node_id": "draft", "output": "x"}), EVERYBODY - {VIEWER}),
    Row("api-run-retry", "POST", at(READ + "retry/", broken, {}), frozenset({ADMIN, OPERATOR})),
    Row("api-run-cancel", "POST", at(READ + "cancel/", parked, {}), frozenset({ADMIN, OPERATOR})),
    Row("api-run-resend", "POST", at(READ + "deliveries/tell/resend/", told, {}), frozenset({ADMIN, OPERATOR})),
    Row("api-run-signal", "POST", at(READ + "signal/", parked, {"type": "t", "key": "k"}), frozenset({ADMIN, OPERATOR}), 409),
    Row("api-gates", "GET", always("/api/gates/"), foreign=None),
    Row("api-gate", "GET", at("/api/gates/{}/", gate)),
    Row("api-gate-answer", "POST", at("/api/gates/{}/answer/", gate, {"answer": "reject"}), frozenset({ADMIN, REVIEWER})),
    Row("api-schedules", "GET", always("/api/schedules/"), foreign=None),
    Row("api-schedules", "POST", newly_scheduled, frozenset({ADMIN, DESIGNER}), 201, hides=False),
    Row("api-schedule", "GET", at("/api/schedules/{}/", scheduled)),
    Row("api-schedule", "PUT", at("/api/schedules/{}/", scheduled, {"cron": "@daily"}), frozenset({ADMIN, DESIGNER})),
    Row("api-schedule", "PATCH", at("/api/schedules/{}/", scheduled, {"enabled": False}), frozenset({ADMIN, DESIGNER})),
    Row("api-schedule", "DELETE", at("/api/schedules/{}/", scheduled), frozenset({ADMIN, DESIGNER}), 204),
    Row("api-profiles", "GET", always("/api/profiles/"), foreign=None),
    Row("api-models", "GET", lambda profile: (f"/api/models/?profile={profile}", None)),
    Row("api-tools", "GET", always("/api/tools/"), foreign=None),
    Row("api-tool", "POST", tool("get", lambda profile: {"name": slug(profile)})),
    Row("api-tool", "POST", tool("save", lambda profile: {"name": slug(profile), "document": DOCUMENT}), DESIGN, hides=False),
    Row("api-tool", "POST", tool("validate", lambda profile: {"document": DOCUMENT}), foreign=None),
    Row("api-tool", "POST", tool("delete", lambda profile: {"name": slug(profile)}), DESIGN),
    Row("api-tool", "POST", tool("run", lambda profile: {"name": slug(profile)}), frozenset({ADMIN, DESIGNER, OPERATOR, BOT})),
    Row("api-tool", "POST", tool("run", lambda profile: {"retry": broken(profile)}), frozenset({ADMIN, OPERATOR})),
    Row("api-tool", "POST", tool("runs", lambda profile: {"run_id": parked(profile)})),
    Row("api-tool", "POST", tool("respond", lambda profile: {**REVIEWED, "run_id": parked(profile)}), frozenset({ADMIN, REVIEWER})),
    Row("api-tool", "POST", tool("respond", lambda profile: {**DRAFTED, "run_id": asking(profile)}), EVERYBODY - {VIEWER}),
    Row("api-tool", "POST", tool("schedule", lambda profile: {"action": "pause", "id": scheduled(profile)}), DESIGN),
    Row("api-chat-command", "POST", typed("status {}", parked)),
    Row("api-chat-command", "POST", typed("run {} hello", slug), frozenset({ADMIN, DESIGNER, OPERATOR, BOT})),
    Row("api-chat-command", "POST", typed("run retry {}", broken), frozenset({ADMIN, OPERATOR})),
    Row("api-chat-command", "POST", typed("answer {} approve", parked), frozenset({ADMIN, REVIEWER})),
    Row("api-tokens", "GET", always("/api/tokens/"), foreign=None),
    Row("api-tokens", "POST", always("/api/tokens/", {"name": "x"}), frozenset(), foreign=None),
    Row("api-token", "DELETE", always("/api/tokens/abc/"), gives=404, foreign=None),
)  # fmt: skip
ROWS = [pytest.param(row, id=f"{row.method} {row.name} {index}") for index, row in enumerate(TABLE)]


def routes() -> Iterator[tuple[str, str]]:
    """Every method of every address, aside from the OpenAPI pages and webhooks: those are signed, by nobody who has a role."""
    for pattern in urlpatterns:
        view = getattr(pattern.callback, "view_class", None)
        if view and pattern.name and pattern.name not in ("api-schema", "api-docs", "api-hook"):
            yield from ((pattern.name, method.upper()) for method in ("get", "post", "put", "patch", "delete") if hasattr(view, method))


def fresh(row: Row, profile: str) -> Callable[[bool], tuple[str, Any]]:
    """Targets of a row: a new one only after a call that may have used up the last."""
    found: list[tuple[str, Any]] = []
    used = False

    def target(uses: bool) -> tuple[str, Any]:
        nonlocal used
        if not found or used:
            found[:] = [row.target(profile)]
        used = uses and row.method != "GET"
        return found[0]

    return target


def test_every_route_has_a_row() -> None:
    assert {(row.name, row.method) for row in TABLE} == set(routes())


@pytest.mark.parametrize("row", ROWS)
def test_each_role_may_do_exactly_what_the_table_says(row: Row, performer: ScriptedPerformer) -> None:
    performer.does("fails", *[failed() for _ in range(20)])
    targets = fresh(row, OWN)
    for role in sorted(ROLES, key=lambda role: role in row.may):
        path, body = targets(role in row.may)
        expected = row.gives if role in row.may else row.denies
        answer = api_of(role)(row.method, path, body, status=expected)
        if expected >= 400:
            error_of(answer)


@pytest.mark.parametrize("row", [row for row in ROWS if row.values[0].foreign])  # type: ignore[attr-defined]
def test_what_belongs_to_another_profile_does_not_exist(row: Row, performer: ScriptedPerformer) -> None:
    performer.does("fails", *[failed() for _ in range(20)])
    targets = fresh(row, FOREIGN)
    for role in sorted(ROLES, key=lambda role: role == ADMIN):
        path, body = targets(role == ADMIN)
        expected = row.gives if role == ADMIN else row.foreign if role in row.may or row.hides else row.denies
        api_of(role)(row.method, path, body, status=expected)


@pytest.mark.parametrize("row", ROWS)
def test_a_user_without_a_role_sees_nothing_and_does_nothing(row: Row) -> None:
    path, body = row.target(OWN)
    answer = api_of("nobody")(row.method, path, body)
    if row.method == "GET" and row.foreign is None and row.name not in OPEN:
        assert [found for found in answer["results"] if found["name"] not in (OWN,)] == []
    else:
        assert "error" in answer or row.name in OPEN


@pytest.mark.parametrize("row", ROWS)
def test_without_credentials_every_route_says_401(row: Row) -> None:
    path, body = row.target(OWN)
    api = Api()
    assert error_of(api(row.method, path, body, status=401))
    assert api.sent.headers["WWW-Authenticate"] == "Token"


def test_lists_hold_one_s_own_profiles_only() -> None:
    mine, theirs = parked(OWN), parked(FOREIGN)
    api = api_of(VIEWER)
    assert [run["run_id"] for run in api.get("/api/runs/")["results"]] == [mine]
    assert [found["run_id"] for found in api.get("/api/gates/")["results"]] == [mine]
    assert [found["profile"] for found in api.get("/api/designs/")["results"]] == [OWN]
    assert [found["name"] for found in api.get("/api/profiles/")["results"]] == ["default", OWN]
    everything = Api(builders.admin()).get("/api/runs/")["results"]
    assert {run["run_id"] for run in everything} == {mine, theirs}


def test_who_started_a_run_may_cancel_it_without_being_an_operator() -> None:
    who = member(DESIGNER)
    run_id = builders.begun(saved(OWN), by=who)
    assert Api(who).post(f"/api/runs/{run_id}/cancel/", {"reason": "wrong file"})["status"] == "cancelled"


def test_a_lost_role_counts_at_the_next_request() -> None:
    who = member(REVIEWER)
    api, path = Api(who), f"/api/gates/{gate(OWN)}/answer/"
    who.user.groups.clear()
    api.post(path, {"answer": "approve"}, status=404)
    who.user.groups.add(builders.person("x", VIEWER).user.groups.get())
    assert "reviewer or admin" in error_of(api.post(path, {"answer": "approve"}, status=403))


def test_a_disabled_user_s_token_is_useless() -> None:
    who = member(VIEWER)
    api = Api(who)
    who.user.is_active = False
    who.user.save()
    api.get("/api/runs/", status=401)
