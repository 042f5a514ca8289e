"""The configured database, with what its kind needs to be safe with several processes."""

from pathlib import Path
from typing import Any

import environ

PATIENCE = 5  # seconds in which PostgreSQL, or a connection of the pool, must answer


def database(env: environ.Env, home: Path) -> dict[str, Any]:
    """Django's settings of the database that the environment names; SQLite in `home` when it names none."""
    chosen: dict[str, Any] = env.db_url_config(env("DATABASE_URL") or f"sqlite:///{home / 'hermes.sqlite3'}")
    kind = sqlite(env, home) if "sqlite" in chosen["ENGINE"] else postgresql(env, chosen["NAME"])
    return {**chosen, **kind, "OPTIONS": {**chosen.get("OPTIONS", {}), **kind["OPTIONS"]}}


def sqlite(env: environ.Env, home: Path) -> dict[str, Any]:
    """Writers queue instead of failing: without IMMEDIATE and the timeout, one write in four ends in "database is locked"."""
    pragmas = f"PRAGMA journal_mode=WAL; PRAGMA synchronous={env('HERMES_SYNCHRONOUS')}"
    return {
        "CONN_MAX_AGE": None,
        "OPTIONS": {"timeout": 20, "transaction_mode": "IMMEDIATE", "init_command": pragmas},
        "TEST": {"NAME": str(home / f"test{env('HERMES_TEST_DB_SUFFIX')}.sqlite3")},
    }


def postgresql(env: environ.Env, name: str) -> dict[str, Any]:
    """A pool for the web's many short threads; workers fork and keep one connection each, for a shared socket runs tasks twice.

    The pool must not wait longer and longer between its tries to connect, or the site would stay away for minutes after the database
    is back. It does not try a connection before each use: `lost_connections` drops those of before a restart together.
    """
    pooled = env("HERMES_PROCESS") == "web"
    pool = {"min_size": 1, "max_size": 10, "timeout": PATIENCE, "reconnect_timeout": PATIENCE}
    return {
        "CONN_MAX_AGE": 0 if pooled else None,
        "CONN_HEALTH_CHECKS": not pooled,
        "OPTIONS": {"connect_timeout": PATIENCE, **({"pool": pool} if pooled else {})},
        "TEST": {"NAME": f"test_{name}{env('HERMES_TEST_DB_SUFFIX')}"},
    }
