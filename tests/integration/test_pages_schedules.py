"""The pages of schedules: what everybody sees, what designers change, and what is refused in place."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from hermes_workflow import timetable
from hermes_workflow.models import Preference, Schedule
from hermes_workflow.rights import DESIGNER, VIEWER
from runs import slots
from runs.models import Notice, Run
from tests import builders as b
from tests.bad_inputs import BadInput, bad_inputs
from tests.pages import browser, part

pytestmark = pytest.mark.django_db(transaction=True)

FORM = {"design": "flow", "cron": "0 6 * * MON-FRI", "timezone": "Europe/Berlin", "input": '{"text": "x"}', "overlap": "skip",
        "catch_up": "one", "enabled": "on"}  # fmt: skip


@pytest.fixture
def dan() -> Client:
    """A designer, and the design `flow`."""
    b.saved(b.approval("review"))
    return browser(b.person("dan", DESIGNER))


def made(**given: Any) -> Schedule:
    design = b.saved(b.approval("review"))
    times = {"cron": "0 6 * * *", "timezone": "Europe/Berlin"}
    return timetable.create(principal=b.person("dan", DESIGNER), design=design, **times | given)


def test_a_designer_makes_a_schedule_and_sees_when_it_fires(dan: Client):
    assert "Choose a design" in dan.get("/schedules/new/").text
    shown = dan.post("/schedules/new/", FORM, follow=True)
    schedule = Schedule.objects.get()
    assert shown.redirect_chain == [(f"/schedules/{schedule.pk}/", 302)]
    assert (schedule.design.slug, schedule.input, schedule.enabled, schedule.may_send) == ("flow", {"text": "x"}, True, False)
    assert "At 06:00 on Monday through Friday, Europe/Berlin" in shown.text
    assert shown.text.count("06:00</time>") == 5


def test_the_list_says_when_each_starts_next_and_how_the_last_run_went(dan: Client):
    schedule = made()
    Schedule.objects.update(next_at=timezone.now() - timedelta(seconds=1))
    slots.start_due(timezone.now(), limit=1)
    text = dan.get("/schedules/").text
    assert f'data-schedule-id="{schedule.pk}"' in text
    assert f"/runs/{Run.objects.get().pk}/" in text
    assert "At 06:00 every day" in text
    assert dan.get("/schedules/?design=other").text.count("data-schedule-id") == 0
    assert dan.get("/schedules/?design=flow").text.count("data-schedule-id") == 1


def test_the_form_shows_the_next_times_while_one_types(dan: Client):
    shown = dan.get("/schedules/times/", {"cron": "@daily", "timezone": "Asia/Tokyo"}, headers=part("next-times"))
    assert shown.text.count("00:00</time>") == 5
    assert "for you" in shown.text
    assert "minute must be 0-59" in dan.get("/schedules/times/", {"cron": "61 * * * *", "timezone": "UTC"}).text


@pytest.mark.parametrize("entry", list(bad_inputs("cron", "timezone", kind="field")), ids=lambda entry: entry.id)
def test_a_bad_time_is_refused_beside_its_field_and_what_was_typed_stays(dan: Client, entry: BadInput):
    field = entry.target.removeprefix("schedule.")
    shown = dan.post("/schedules/new/", FORM | {field: str(entry.value)})
    assert shown.status_code == 400
    assert f'id="schedule-{field}-error"' in shown.text
    assert "the weekly" not in dan.get("/schedules/times/", {**FORM, field: str(entry.value)}).text
    assert not Schedule.objects.exists()


@pytest.mark.parametrize(
    ("field", "value"),
    [("input", "[1]"), ("input", "{"), ("input", "x" * 100), ("overlap", "both"), ("catch_up", ""), ("design", ""), ("design", "../x")],
)
def test_what_else_is_wrong_is_said_beside_its_field(dan: Client, field: str, value: str):
    shown = dan.post("/schedules/new/", FORM | {field: value})
    assert shown.status_code == 400
    assert f'-{field.replace("_", "-")}-error"' in shown.text


def test_saving_pausing_resuming_and_deleting(dan: Client):
    schedule = made()
    path = f"/schedules/{schedule.pk}/"
    assert dan.post(path, FORM | {"cron": "@hourly", "may_send": "on"}).status_code == 302
    dan.post(f"{path}pause/")
    assert "Nothing starts until somebody resumes it" in dan.get(path).text
    dan.post(f"{path}resume/", {"back": "schedule"})
    schedule.refresh_from_db()
    assert (schedule.cron, schedule.enabled, schedule.may_send) == ("@hourly", True, True)
    dan.post(f"{path}delete/")
    assert not Schedule.objects.exists()


def test_a_problem_is_shown_in_the_list_and_on_the_page_and_saving_mends_it(dan: Client):
    schedule = made()
    Schedule.objects.update(problem="its runs would send to telegram:-100, which is not allowed yet")
    for path in ("/schedules/", f"/schedules/{schedule.pk}/"):
        assert "would send to telegram:-100" in dan.get(path).text
    dan.post(f"/schedules/{schedule.pk}/", FORM | {"may_send": "on"})
    schedule.refresh_from_db()
    assert schedule.problem == ""


def test_the_owner_s_notice_leads_to_the_schedule(dan: Client):
    schedule = made()
    Schedule.objects.update(cron="0 0 31 2 *", next_at=timezone.now())
    slots.start_due(timezone.now(), limit=1)
    assert "starts no more runs" in dan.get("/notices/").text
    assert dan.post(f"/notices/{Notice.objects.get().pk}/open/").url == f"/schedules/{schedule.pk}/"
    assert dan.get(f"/schedules/{schedule.pk}/").status_code == 200


def test_the_times_of_a_trigger_are_not_offered_for_change(dan: Client):
    b.saved(b.trigger(cron="@daily"), b.approval("review"))
    schedule = Schedule.objects.get()
    path = f"/schedules/{schedule.pk}/"
    text = dan.get(path).text
    assert 'name="cron"' not in text
    assert "as the trigger start of" in text
    assert dan.post(path, {"input": "{}", "overlap": "allow", "catch_up": "all", "enabled": "on"}).status_code == 302
    assert "trigger start" in dan.post(path, FORM).text
    assert dan.post(f"{path}delete/").status_code == 409


def test_who_may_not_design_sees_but_changes_nothing():
    schedule, vic = made(), browser(b.person("vic", VIEWER))
    path = f"/schedules/{schedule.pk}/"
    assert "Save schedule" not in vic.get(path).text
    assert "New schedule" not in vic.get("/schedules/").text
    for address in (path, f"{path}pause/", f"{path}resume/", f"{path}delete/", "/schedules/new/"):
        assert vic.post(address, FORM).status_code == 403
    schedule.refresh_from_db()
    assert (schedule.cron, schedule.enabled) == ("0 6 * * *", True)


def test_a_schedule_of_another_profile_does_not_exist():
    schedule = made()
    b.profile(is_open=False)
    vic = browser(b.person("vic", DESIGNER))
    assert vic.get(f"/schedules/{schedule.pk}/").status_code == 404
    assert vic.post(f"/schedules/{schedule.pk}/delete/").status_code == 404
    assert "data-schedule-id" not in vic.get("/schedules/").text


@pytest.mark.parametrize("path", ["/schedules/0/", "/schedules/999999999999999999/", "/schedules/x/", "/schedules/%00/"])
def test_an_unknown_schedule_is_not_found(dan: Client, path: str):
    assert dan.get(path).status_code == 404


def test_times_are_the_reader_s_own(dan: Client):
    made(cron="0 12 1 1 *", timezone="UTC")
    Preference.objects.create(user=b.person("dan").user, timezone="Asia/Tokyo")
    assert "21:00" in dan.get("/schedules/").text


def test_a_design_s_page_shows_its_schedules(dan: Client):
    schedule = made()
    text = dan.get("/designs/flow/").text
    assert f"/schedules/{schedule.pk}/" in text
    assert "/schedules/new/?design=flow" in text


def test_rows_that_were_written_past_the_doors_are_shown(dan: Client):
    schedule = made()
    Schedule.objects.update(cron="nonsense", timezone="Mars/Phobos")
    for path in ("/schedules/", f"/schedules/{schedule.pk}/", "/designs/flow/"):
        assert dan.get(path).status_code == 200
