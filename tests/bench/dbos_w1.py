"""The peer's side of scenario w1: DBOS on SQLite in WAL/NORMAL, 10 sequential trivial steps, each step committed.

Run it with the Python of an environment that holds `dbos` only; it prints one JSON line.
"""

import json
import os
import sys
import tempfile
import time

import sqlalchemy
from dbos import DBOS

STEPS = 10


@sqlalchemy.event.listens_for(sqlalchemy.engine.Engine, "connect")
def use_wal(connection, _record):
    """The durability class of the product's own default."""
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")


@DBOS.step()
def trivial(number: int) -> int:
    """Nothing but its record."""
    return number


@DBOS.workflow()
def chain() -> int:
    """Ten steps in a row."""
    for number in range(STEPS):
        trivial(number)
    return STEPS


def main(rounds: int) -> None:
    """Time `rounds` workflows after one that is not counted."""
    with tempfile.TemporaryDirectory() as home:
        DBOS(config={"name": "peer-w1", "system_database_url": f"sqlite:///{home}/dbos.sqlite", "log_level": "ERROR"})
        DBOS.launch()
        chain()
        began = time.perf_counter()
        for _ in range(rounds):
            chain()
        seconds = time.perf_counter() - began
        DBOS.destroy()
    sys.stdout.write(json.dumps({"steps_per_s": round(rounds * STEPS / seconds, 1), "load": round(os.getloadavg()[0], 2)}) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
