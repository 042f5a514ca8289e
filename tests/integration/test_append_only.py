"""The history is append-only, and it is the database that says so."""

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import DatabaseError, connection, migrations, models, transaction
from django.db.migrations.state import ProjectState
from django.db.models import ProtectedError

from runs import append_only, journal
from runs.models import Event, Run
from tests import builders as b

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def run_id() -> str:
    return b.started(b.approval("review"), b.output("out"))


def refused(sql: str, *values: object) -> None:
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql, values)


def test_an_event_is_never_updated(run_id: str):
    before = b.events_of(run_id)
    refused("UPDATE runs_event SET data = '{}' WHERE run_id = %s", run_id)
    with pytest.raises(DatabaseError), transaction.atomic():
        Event.objects.filter(run_id=run_id, seq=1).update(type="run.done")
    assert b.events_of(run_id) == before


def test_an_event_is_never_deleted_alone(run_id: str):
    refused("DELETE FROM runs_event WHERE run_id = %s AND seq = 1", run_id)
    with pytest.raises(DatabaseError), transaction.atomic():
        Event.objects.filter(run_id=run_id).delete()
    assert len(b.events_of(run_id)) == 2


def test_an_event_of_a_purged_run_is_not_updated_either(run_id: str):
    Run.objects.filter(pk=run_id).update(status=append_only.PURGED)
    refused("UPDATE runs_event SET data = '{}' WHERE run_id = %s", run_id)


def test_deleting_a_run_does_not_cascade_into_its_history(run_id: str):
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        Run.objects.get(pk=run_id).delete()
    assert len(b.events_of(run_id)) == 2


def test_deleting_a_design_or_its_version_or_plan_is_refused(run_id: str):
    run = Run.objects.get(pk=run_id)
    for row in (run.design, run.version, run.plan, run.profile):
        with pytest.raises(ProtectedError):
            row.delete()
    assert len(b.events_of(run_id)) == 2


def test_deleting_the_person_who_started_a_run_leaves_its_history(run_id: str):
    b.admin().user.delete()
    assert len(b.events_of(run_id)) == 2


def test_a_purge_takes_the_history_with_the_run(run_id: str):
    other = b.started(b.approval("review"))
    journal.purge(run_id)
    assert b.events_of(run_id) == []
    assert len(b.events_of(other)) == 2


def test_a_purge_that_fails_leaves_everything(run_id: str):
    with transaction.atomic():
        journal.purge(run_id)
        transaction.set_rollback(True)
    assert len(b.events_of(run_id)) == 2
    assert Run.objects.get(pk=run_id).status == "awaiting_approval"
    refused("DELETE FROM runs_event")


def flush() -> None:
    call_command("flush", verbosity=0, interactive=False)


def test_a_flush_empties_the_database_and_leaves_the_guard(run_id: str):
    flush()
    assert not Run.objects.exists()
    assert not Event.objects.exists()
    again = b.started(b.approval("review"))
    refused("DELETE FROM runs_event WHERE run_id = %s", again)
    refused("UPDATE runs_event SET seq = 9 WHERE run_id = %s", again)


def test_a_flush_that_is_called_off_changes_nothing(run_id: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("builtins.input", lambda *_: "no")
    call_command("flush", verbosity=0, interactive=True)
    assert Run.objects.get(pk=run_id).status == "awaiting_approval"
    refused("DELETE FROM runs_event")


def test_a_migration_that_rebuilds_the_table_keeps_the_guard(run_id: str):
    state = ProjectState.from_apps(apps)
    operation = migrations.AddField("event", "extra", models.IntegerField(default=7))
    changed = state.clone()
    operation.state_forwards("runs", changed)
    with connection.schema_editor() as editor:
        operation.database_forwards("runs", editor, state, changed)
    try:
        call_command("migrate", verbosity=0, interactive=False)
        refused("UPDATE runs_event SET seq = 9 WHERE run_id = %s", run_id)
        refused("DELETE FROM runs_event")
        assert len(b.events_of(run_id)) == 2
    finally:
        with connection.schema_editor() as editor:
            operation.database_backwards("runs", editor, changed, state)
        append_only.install()


def test_truncating_is_refused_while_there_are_runs(run_id: str):
    if connection.vendor != "postgresql":
        pytest.skip("only PostgreSQL can truncate")
    refused("TRUNCATE runs_event")
    refused("TRUNCATE runs_run CASCADE")


def test_installing_the_guard_twice_is_harmless(run_id: str):
    append_only.install()
    append_only.install()
    refused("DELETE FROM runs_event")
