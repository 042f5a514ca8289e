"""The database's own guard of the history: an event is never updated, and leaves only with its purged run."""

from collections.abc import Callable
from typing import Any

from django.db import connections

PURGED = "purged"
REFUSAL = "the history of a run is append-only"

_SQLITE = (
    "DROP TRIGGER IF EXISTS runs_event_no_update",
    f"""CREATE TRIGGER runs_event_no_update BEFORE UPDATE ON runs_event
        BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END""",
    "DROP TRIGGER IF EXISTS runs_event_no_delete",
    f"""CREATE TRIGGER runs_event_no_delete BEFORE DELETE ON runs_event
        WHEN EXISTS (SELECT 1 FROM runs_run WHERE id = OLD.run_id AND status <> '{PURGED}')
        BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END""",
)

_POSTGRESQL = (
    f"""CREATE OR REPLACE FUNCTION runs_event_guard() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF TG_OP = 'DELETE' AND NOT EXISTS (
                SELECT 1 FROM runs_run WHERE id = OLD.run_id AND status <> '{PURGED}'
            ) THEN RETURN OLD; END IF;
            RAISE EXCEPTION '{REFUSAL}' USING ERRCODE = 'integrity_constraint_violation';
        END $$""",
    "DROP TRIGGER IF EXISTS runs_event_append_only ON runs_event",
    """CREATE TRIGGER runs_event_append_only BEFORE UPDATE OR DELETE ON runs_event
        FOR EACH ROW EXECUTE FUNCTION runs_event_guard()""",
    f"""CREATE OR REPLACE FUNCTION runs_event_guard_all() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF EXISTS (SELECT 1 FROM runs_run WHERE status <> '{PURGED}') THEN
                RAISE EXCEPTION '{REFUSAL}' USING ERRCODE = 'integrity_constraint_violation';
            END IF;
            RETURN NULL;
        END $$""",
    "DROP TRIGGER IF EXISTS runs_event_no_truncate ON runs_event",
    """CREATE TRIGGER runs_event_no_truncate BEFORE TRUNCATE ON runs_event
        FOR EACH STATEMENT EXECUTE FUNCTION runs_event_guard_all()""",
)


def release_all(*, using: str) -> Callable[[], bool]:
    """Let every history go with its run, within the open transaction. Returns the question whether any run is left."""
    connection = connections[using]

    def left() -> bool:
        with connection.cursor() as cursor:
            cursor.execute("SELECT EXISTS (SELECT 1 FROM runs_run)")
            return bool(cursor.fetchone()[0])

    with connection.cursor() as cursor:
        cursor.execute("UPDATE runs_run SET status = %s", [PURGED])
    return left


def install(*, using: str = "default", **_: Any) -> None:
    """Create the triggers anew. Receives `post_migrate`."""
    connection = connections[using]
    if "runs_event" not in connection.introspection.table_names():
        return
    with connection.cursor() as cursor:
        for statement in _SQLITE if connection.vendor == "sqlite" else _POSTGRESQL:
            cursor.execute(statement)
