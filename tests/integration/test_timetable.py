"""Keeping schedules: over the API and by the trigger node of a design."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine

from hermes_workflow import timetable
from hermes_workflow.core.errors import Conflict, Forbidden, Invalid, Malformed
from hermes_workflow.models import Design, Schedule, Token
from hermes_workflow.rights import BOT, DESIGNER, Principal
from hermes_workflow.services import delete_design, save_design
from runs import slots
from tests import builders as b
from tests.api import Api, error_of
from tests.bad_inputs import BadInput, bad_inputs

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 3, 2, 12, 30, tzinfo=UTC)
ADDRESS = "/api/schedules/"


@pytest.fixture(autouse=True)
def noon() -> Any:
    with time_machine.travel(NOW, tick=False) as moment:
        yield moment


def made(**given: Any) -> Schedule:
    """A schedule of a fresh design."""
    design = Design.objects.filter(slug="known").first() or b.saved(b.approval("review"), name="known")
    return timetable.create(principal=b.admin(), design=design, **{"cron": "0 6 * * *", **given})


def followed() -> Schedule | None:
    """The schedule that follows the trigger."""
    return Schedule.objects.exclude(node_id="").first()


def test_a_schedule_says_what_it_does_and_when(api: Api):
    asked = {"design": "known", "cron": "0 6 * * MON-FRI", "timezone": "Europe/Berlin", "input": {"text": "x"}}
    shown = api.post(ADDRESS, asked, status=201)
    assert shown | asked == shown
    assert {name: shown[name] for name in ("overlap", "catch_up", "enabled", "may_send", "owner", "node_id", "problem", "last_slot")} == {
        "overlap": "skip",
        "catch_up": "one",
        "enabled": True,
        "may_send": False,
        "owner": "root",
        "node_id": "",
        "problem": "",
        "last_slot": None,
    }
    assert shown["next_times"] == [f"2026-03-{day:02}T05:00:00Z" for day in (3, 4, 5, 6, 9)]
    assert api.get(f"{ADDRESS}{shown['id']}/") == shown
    assert [found["id"] for found in api.get(ADDRESS)["results"]] == [shown["id"]]
    assert Schedule.objects.get().next_at == datetime(2026, 3, 3, 5, tzinfo=UTC)


def test_put_replaces_and_patch_changes(api: Api):
    path = f"{ADDRESS}{made(overlap='allow', input={'a': 1}).pk}/"
    assert api("PATCH", path, {"cron": "@hourly"}, status=200)["overlap"] == "allow"
    replaced = api.put(path, {"cron": "@daily", "timezone": "Asia/Tokyo"})
    assert (replaced["overlap"], replaced["input"], replaced["timezone"]) == ("skip", {}, "Asia/Tokyo")
    api.delete(path)
    api.get(path, status=404)


@pytest.mark.parametrize("given", [{"enabled": False}, {"input": {"a": 1}}, {"overlap": "allow"}])
def test_what_leaves_the_times_alone_loses_no_slot(given: dict[str, Any]):
    schedule = made()
    Schedule.objects.update(next_at=NOW - timedelta(seconds=1))
    timetable.change(principal=b.admin(), schedule=schedule, **given)
    schedule.refresh_from_db()
    kept = NOW - timedelta(seconds=1) if "enabled" not in given else datetime(2026, 3, 3, 6, tzinfo=UTC)
    assert schedule.next_at == kept


def test_a_resumed_schedule_begins_anew(noon: time_machine.Traveller):
    schedule = made(enabled=False)
    noon.shift(timedelta(days=10))
    timetable.change(principal=b.admin(), schedule=schedule, enabled=True)
    schedule.refresh_from_db()
    assert schedule.next_at == datetime(2026, 3, 13, 6, tzinfo=UTC)


def test_a_change_mends_a_problem(noon: time_machine.Traveller):
    schedule = made()
    Schedule.objects.update(problem="something was wrong", owner=None)
    noon.shift(timedelta(days=10))
    timetable.change(principal=b.admin(), schedule=schedule, enabled=True)
    schedule.refresh_from_db()
    assert (schedule.problem, schedule.owner, schedule.next_at) == ("", b.admin().user, datetime(2026, 3, 13, 6, tzinfo=UTC))


def test_runs_belong_to_whoever_saved_it_last_but_pausing_takes_nobody_s_place():
    schedule, ann = made(), b.person("ann", DESIGNER)
    timetable.change(principal=ann, schedule=schedule, enabled=False)
    schedule.refresh_from_db()
    assert schedule.owner == b.admin().user
    timetable.change(principal=ann, schedule=schedule, input={"text": "hers"})
    schedule.refresh_from_db()
    assert schedule.owner == ann.user


@pytest.mark.parametrize("entry", list(bad_inputs("cron", "timezone", kind="field")), ids=lambda entry: entry.id)
def test_a_bad_time_is_refused_over_the_api_and_nothing_is_kept(api: Api, entry: BadInput):
    field = entry.target.removeprefix("schedule.")
    answer = api.post(ADDRESS, {"design": "known", "cron": "0 6 * * *", field: entry.value}, status=400)
    assert field in error_of(answer)
    assert not Schedule.objects.exists()


@pytest.mark.parametrize("entry", list(bad_inputs("cron", "timezone", kind="field")), ids=lambda entry: entry.id)
def test_a_bad_time_of_a_trigger_is_a_defect_of_its_field(api: Api, entry: BadInput):
    field = entry.target.removeprefix("schedule.")
    if entry.value == "":
        return
    document = b.design(b.trigger(**{"cron": "0 6 * * *", field: entry.value}), b.approval("review"))
    answer = api.put("/api/designs/known/", {"document": document}, status=422)
    assert [(found["node"], found["field"]) for found in answer["defects"]] == [("start", field)]
    assert followed() is None


@pytest.mark.parametrize(
    "given",
    [{"input": []}, {"input": "x"}, {"overlap": "both"}, {"catch_up": True}, {"enabled": "yes"}, {"may_send": 1}, {"owner": "root"},
     {"problem": ""}, {"next_at": None, "x": 1}, {"node_id": "start"}, {"cron": None}, {"design": "nothing"}, {"design": 5},
     {"cron": "0 6 * * *\x00"}],
)  # fmt: skip
def test_what_a_schedule_does_not_take_is_refused(api: Api, given: dict[str, Any]):
    answer = api.post(ADDRESS, {"design": "known", "cron": "0 6 * * *", **given}, status=None)
    assert api.sent.status_code in ((404,) if given == {"design": "nothing"} else (400,)), answer
    error_of(answer)
    assert not Schedule.objects.exists()


@pytest.mark.parametrize("id_", ["0", "999999999999999999", "9" * 19, "-1", "1.0", "x", "%00", "١"])
def test_an_unknown_schedule_is_not_found(api: Api, id_: str):
    api.get(f"{ADDRESS}{id_}/", status=404)


def test_a_row_that_was_written_past_the_doors_is_shown(api: Api):
    Schedule.objects.filter(pk=made().pk).update(cron="nonsense", timezone="Mars/Phobos")
    assert api.get(ADDRESS)["results"][0]["next_times"] == []


def test_a_bot_may_not_let_a_schedule_send():
    bot = b.person("robot", BOT)
    bot.user.groups.add(*b.person("ann", DESIGNER).user.groups.all())
    with pytest.raises(Forbidden):
        timetable.create(principal=Principal(bot.user), design=made().design, cron="@daily", may_send=True)


def bot_that_designs() -> Principal:
    """Its token says that it may."""
    who = b.person("robot", BOT)
    return Principal(who.user, Token(user=who.user, bot=True, scopes=["read", "design"]))


def test_what_a_bot_makes_of_a_schedule_sends_only_once_a_person_allowed_it_anew() -> None:
    schedule = made(may_send=True)
    paused = timetable.change(principal=bot_that_designs(), schedule=schedule, enabled=False)
    assert (paused.may_send, paused.owner) == (True, b.admin().user)
    assert timetable.change(principal=bot_that_designs(), schedule=schedule, input={"text": "other"}).may_send is False


def test_a_version_that_a_bot_saved_sends_only_once_a_person_allowed_it_anew() -> None:
    design = b.saved(b.trigger(cron="0 6 * * *", hook="orders"), b.approval("review"), name="known")
    design.schedules.update(may_send=True)
    design.hooks.update(may_send=True)
    document = b.design(b.trigger(cron="0 6 * * *", hook="orders"), b.approval("review", question="Other?"))
    save_design(principal=b.admin(), name="known", document=document)
    assert (design.schedules.get().may_send, design.hooks.get().may_send) == (True, True)
    save_design(principal=bot_that_designs(), name="known", document=b.design(b.trigger(cron="0 6 * * *", hook="orders"), b.approval("go")))
    assert (design.schedules.get().may_send, design.hooks.get().may_send) == (False, False)


def test_the_service_itself_refuses_what_it_does_not_know():
    with pytest.raises(Malformed, match="owner"):
        made(owner=b.admin().user)


def test_the_cron_of_a_trigger_makes_its_schedule_when_the_design_is_saved():
    b.saved(b.trigger(cron="0 6 * * MON-FRI", timezone="Europe/Berlin"), b.approval("review"))
    schedule = followed()
    assert schedule is not None
    assert (schedule.cron, schedule.timezone, schedule.node_id, schedule.enabled) == ("0 6 * * MON-FRI", "Europe/Berlin", "start", True)
    assert (schedule.owner, schedule.next_at) == (b.admin().user, datetime(2026, 3, 3, 5, tzinfo=UTC))


@pytest.mark.parametrize("cron", [None, ""])
def test_a_trigger_without_cron_has_no_schedule(cron: str | None):
    b.saved(b.trigger(cron="@daily"), b.approval("review"))
    made(cron="@hourly")
    b.saved(b.trigger(cron=cron), b.approval("review"))
    assert [found.cron for found in Schedule.objects.all()] == ["@hourly"]


def test_saving_again_keeps_what_people_set():
    b.saved(b.trigger(cron="@daily"), b.approval("review"))
    schedule = followed()
    assert schedule
    timetable.change(principal=b.admin(), schedule=schedule, enabled=False, overlap="queue", input={"text": "x"})
    b.saved(b.trigger("renamed", cron="@hourly"), b.approval("other", "renamed"))
    again = followed()
    assert again
    assert (again.pk, again.node_id, again.cron) == (schedule.pk, "renamed", "@hourly")
    assert (again.enabled, again.overlap, again.input) == (False, "queue", {"text": "x"})


def test_the_times_of_a_trigger_change_in_its_design_only(api: Api):
    b.saved(b.trigger(cron="@daily"), b.approval("review"))
    schedule = followed()
    assert schedule
    path = f"{ADDRESS}{schedule.pk}/"
    assert "trigger start" in error_of(api("PATCH", path, {"cron": "@hourly"}, status=409))
    assert "trigger start" in error_of(api("DELETE", path, status=409))
    assert api("PATCH", path, {"cron": "@daily", "overlap": "allow"}, status=200)["overlap"] == "allow"
    with pytest.raises(Conflict):
        timetable.remove(principal=b.admin(), schedule=schedule)


def test_a_deleted_design_has_no_schedules(api: Api):
    schedule = made()
    delete_design(principal=b.admin(), design=schedule.design)
    assert not Schedule.objects.exists()


def test_a_new_version_is_a_new_try_for_a_schedule_that_was_set_aside():
    b.saved(b.trigger(cron="@daily"), b.output("post", deliver="channel", target="telegram:-100"))
    slots.start_due(NOW + timedelta(days=1), limit=5)
    assert "telegram" in Schedule.objects.get().problem
    b.saved(b.trigger(cron="@daily"), b.output("post"))
    assert Schedule.objects.get().problem == ""


def test_a_refused_save_leaves_the_schedule_as_it_was():
    b.saved(b.trigger(cron="@daily"), b.approval("review"))
    with pytest.raises(Invalid):
        b.saved(b.trigger(cron="@hourly"), b.agent("draft", profile="nowhere"))
    assert Schedule.objects.get().cron == "@daily"
