"""What a figure means nothing without: database, settings, versions, load."""

import os
import platform
from typing import Any

import django
from django.db import connection


def circumstances() -> dict[str, Any]:
    """What a figure means nothing without."""
    found: dict[str, Any] = {"database": connection.vendor, "django": django.get_version(), "python": platform.python_version()}
    with connection.cursor() as cursor:
        questions = (
            {"version": "SELECT sqlite_version()", "journal_mode": "PRAGMA journal_mode", "synchronous": "PRAGMA synchronous"}
            if connection.vendor == "sqlite"
            else {"version": "SHOW server_version", "journal_mode": "SHOW wal_level", "synchronous": "SHOW synchronous_commit"}
        )
        for name, question in questions.items():
            cursor.execute(question)
            found[name] = cursor.fetchone()[0]
    if connection.vendor == "sqlite":
        found["synchronous"] = ("OFF", "NORMAL", "FULL", "EXTRA")[found["synchronous"]]
    return found | {"load": round(os.getloadavg()[0], 2), "cpus": os.cpu_count()}
