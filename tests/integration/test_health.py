"""Signs of life, and what is done when the workers leave none."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.utils import timezone
from django_q.models import OrmQ

from runs import health, tasks
from runs.health import EVERY, PULSE, SILENT, STARTING, WORKERS, Watch, check, sign

pytestmark = pytest.mark.django_db

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def asked(monkeypatch):
    """How often the supervisor was asked for new workers."""
    signals = []
    monkeypatch.setenv("HERMES_SUPERVISOR", "4242")
    monkeypatch.setattr("os.kill", lambda pid, number: signals.append(pid))
    return signals


def look_for(watch: Watch, begin: datetime, length: timedelta) -> None:
    """A look each second, as the pulse does."""
    for second in range(int(length.total_seconds()) + 1):
        watch.look(begin + timedelta(seconds=second))


def test_everything_works_when_each_part_left_a_sign():
    sign(PULSE)
    tasks.canary()
    assert check().ok


def test_an_old_sign_counts_for_nothing():
    sign(PULSE, START)
    sign(WORKERS, START)
    late = check(START + SILENT)
    assert (late.database, late.workers, late.pulse) == (True, False, False)


def test_the_pulse_sends_one_canary_and_not_a_flock():
    look_for(Watch(START), START, STARTING)
    assert OrmQ.objects.count() <= 2


def test_workers_that_never_begin_are_replaced_and_the_new_ones_get_time(asked):
    watch = Watch(START)
    look_for(watch, START, STARTING)
    assert asked == []
    look_for(watch, START + STARTING, STARTING)
    assert asked == [4242]


def test_workers_that_fall_silent_are_replaced_sooner(asked):
    watch = Watch(START)
    look_for(watch, START, EVERY)
    sign(WORKERS, START + EVERY)
    look_for(watch, START + EVERY, SILENT)
    assert asked == []
    look_for(watch, START + EVERY + SILENT, EVERY)
    assert asked == [4242]


def test_workers_that_answer_are_left_alone(asked):
    watch = Watch(START)
    for minute in range(3):
        moment = START + timedelta(minutes=minute)
        for part in range(4):
            sign(WORKERS, moment + part * EVERY)
            look_for(watch, moment + part * EVERY, EVERY)
    assert asked == []


def test_a_ring_that_is_taken_is_a_sign_of_life_as_good_as_a_canary(monkeypatch):
    monkeypatch.setattr(health, "_signed", {})
    health.sign_again(WORKERS)
    assert health.recent(WORKERS, timezone.now(), EVERY)


def test_many_rings_are_one_sign(monkeypatch, django_assert_num_queries):
    monkeypatch.setattr(health, "_signed", {})
    health.sign_again(WORKERS)
    with django_assert_num_queries(0):
        health.sign_again(WORKERS)


def test_liveness_needs_nothing_and_readiness_names_what_is_missing(client):
    assert client.get("/healthz").json() == {"ok": True}
    sign(PULSE)
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert json.loads(answer.content) == {"ok": False, "database": True, "workers": False, "pulse": True}
    sign(WORKERS)
    assert client.get("/readyz").status_code == 200


@pytest.mark.django_db(transaction=True)
def test_a_database_that_does_not_answer_is_said_not_raised(client, monkeypatch):
    def broken(*_):
        raise health.Error

    with connection.execute_wrapper(broken):
        answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["database"]) == (503, False)
