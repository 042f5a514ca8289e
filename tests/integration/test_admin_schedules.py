"""Schedules in the admin: the same rules as on their page, each fault beside its field."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from hermes_workflow.models import Schedule
from hermes_workflow.rights import ADMIN, DESIGNER
from tests import builders as b
from tests.bad_inputs import BadInput, bad_inputs

pytestmark = pytest.mark.django_db

LIST = "admin:hermes_workflow_schedule_changelist"
ADD = "admin:hermes_workflow_schedule_add"
CHANGE = "admin:hermes_workflow_schedule_change"
DELETE = "admin:hermes_workflow_schedule_delete"


@pytest.fixture
def ada(client: Client) -> Client:
    """An admin."""
    client.force_login(b.person("ada", ADMIN).user)
    return client


def form(**changed: Any) -> dict[str, Any]:
    """What the form sends."""
    design = b.saved(b.approval("review"))
    given = {"design": design.pk, "cron": "0 6 * * *", "timezone": "UTC", "input": '{"a": 1}', "overlap": "skip", "catch_up": "one"}
    return {**given, "enabled": "on", **changed}


def test_a_schedule_is_made_changed_and_deleted(ada: Client):
    assert ada.post(reverse(ADD), form()).status_code == 302
    schedule = Schedule.objects.get()
    assert (schedule.owner.username, schedule.input, schedule.next_at is not None) == ("ada", {"a": 1}, True)
    Schedule.objects.update(problem="broken", owner=None)
    assert ada.post(reverse(CHANGE, args=[schedule.pk]), form(cron="@hourly", input="")).status_code == 302
    schedule.refresh_from_db()
    assert (schedule.cron, schedule.input, schedule.problem, schedule.owner.username) == ("@hourly", {}, "", "ada")
    assert ada.post(reverse(DELETE, args=[schedule.pk]), {"post": "yes"}).status_code == 302
    assert not Schedule.objects.exists()


@pytest.mark.parametrize("entry", list(bad_inputs("cron", "timezone", kind="field")), ids=lambda entry: entry.id)
def test_a_bad_time_is_refused_beside_its_field(ada: Client, entry: BadInput):
    field = entry.target.removeprefix("schedule.")
    answer = ada.post(reverse(ADD), form(**{field: entry.value}))
    assert answer.status_code == 200
    assert list(answer.context["adminform"].form.errors) == [field]
    assert not Schedule.objects.exists()


@pytest.mark.parametrize("value", ["[1]", "{", "null", "1", '{"a": NaN}', '{"a": "\\u0000"}'])
def test_an_input_that_is_no_object_is_refused(ada: Client, value: str):
    answer = ada.post(reverse(ADD), form(input=value))
    assert list(answer.context["adminform"].form.errors) == ["input"]


def test_the_times_of_a_trigger_are_shown_and_not_changed(ada: Client):
    b.saved(b.trigger(cron="@daily"), b.approval("review"))
    schedule = Schedule.objects.get()
    page = ada.get(reverse(CHANGE, args=[schedule.pk])).text
    assert 'name="cron"' not in page
    assert ada.post(reverse(CHANGE, args=[schedule.pk]), {"input": "{}", "overlap": "allow", "catch_up": "all"}).status_code == 302
    schedule.refresh_from_db()
    assert (schedule.cron, schedule.overlap, schedule.enabled) == ("@daily", "allow", False)
    assert ada.post(reverse(DELETE, args=[schedule.pk]), {"post": "yes"}).status_code == 403


def test_a_row_that_was_written_past_the_doors_is_shown(ada: Client):
    ada.post(reverse(ADD), form())
    Schedule.objects.update(cron="nonsense", timezone="Mars/Phobos")
    assert ada.get(reverse(LIST)).status_code == 200
    assert ada.get(reverse(CHANGE, args=[Schedule.objects.get().pk])).status_code == 200


def test_designers_use_the_page_and_not_the_admin(client: Client):
    client.force_login(b.person("dan", DESIGNER).user)
    assert client.get(reverse(LIST)).status_code == 403
