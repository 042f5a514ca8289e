"""The database's own guard of the history: an event is never updated, and leaves only with its purged run."""

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
)


def install(*, using: str = "default", **_: Any) -> None:
    """Create the triggers anew. Receives `post_migrate`."""
    connection = connections[using]
    if "runs_event" not in connection.introspection.table_names():
        return
    with connection.cursor() as cursor:
        for statement in _SQLITE if connection.vendor == "sqlite" else _POSTGRESQL:
            cursor.execute(statement)
