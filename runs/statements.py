"""The statements of a step, sent the cheapest way each database has: straight to SQLite, in one pipeline to PostgreSQL."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections


@dataclass(frozen=True, slots=True)
class Statement:
    """SQL with `%s` marks. When it must change exactly one row, `guard` is what is raised if it does not."""

    sql: str
    values: Sequence[Any]
    guard: Exception | None = None
    returns: bool = False


def execute(statements: Sequence[Statement]) -> list[tuple[Any, ...]]:
    """Run them in order inside the open transaction. Returns the rows of those that return some; raises the first guard that fails.

    Django's cursor costs more than these statements do on SQLite, and on PostgreSQL each would be a round trip of its own.
    """
    connection = connections[DEFAULT_DB_ALIAS]  # looked up once: each look through Django's proxy costs a tenth of a statement
    assert connection.in_atomic_block, "a step is written inside its turn's transaction"
    connection.validate_no_broken_transaction()  # Django's cursor would ask, and what is rolled back already must not go on by halves
    if connection.queries_logged:
        connection.queries_log.extend({"sql": _readable(statement), "time": ""} for statement in statements)
    with connection.wrap_database_errors:
        send = _on_sqlite if connection.vendor == "sqlite" else _on_postgresql
        return send(connection.connection, statements)


def _on_sqlite(raw: Any, statements: Sequence[Statement]) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    for statement in statements:
        cursor = raw.execute(_question_marks(statement.sql), statement.values)
        if statement.guard and cursor.rowcount != 1:
            raise statement.guard
        if statement.returns:
            found += cursor.fetchall()
    return found


def _on_postgresql(raw: Any, statements: Sequence[Statement]) -> list[tuple[Any, ...]]:
    cursors: list[Any] = []
    try:
        with raw.pipeline():
            for statement in statements:
                cursors.append(raw.cursor())
                cursors[-1].execute(statement.sql, statement.values)
    except Exception:
        # What follows a lost guard may collide with what the winner wrote: the guard is the reason to tell.
        _refuse_lost(statements, cursors)
        raise
    _refuse_lost(statements, cursors)
    return [row for statement, cursor in zip(statements, cursors, strict=True) if statement.returns for row in cursor.fetchall()]


def _refuse_lost(statements: Sequence[Statement], cursors: Sequence[Any]) -> None:
    for statement, cursor in zip(statements, cursors, strict=False):
        if statement.guard and cursor.rowcount == 0:
            raise statement.guard


@lru_cache(maxsize=256)
def _question_marks(sql: str) -> str:
    return sql.replace("%s", "?")


def _readable(statement: Statement) -> str:
    return statement.sql % tuple(repr(value) for value in statement.values)
