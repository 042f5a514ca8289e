"""A performer that says when it is at work and then waits to be let go: `python held_performer.py DIRECTORY`.

It appends the step's idempotency key to `DIRECTORY/performed`, and works as long as the file exists that the run's input names as `hold`.
"""

import json
import sys
import time
from pathlib import Path


def main(directory: Path) -> None:
    """Perform one step."""
    given = json.load(sys.stdin)
    with (directory / "performed").open("a", encoding="utf-8") as performed:
        performed.write(given["idempotency_key"] + "\n")
    hold = directory / given["input"].get("hold", "nothing")
    while hold.exists():
        time.sleep(0.02)
    print(json.dumps({"structured": {"number": given["number"]}}))  # noqa: T201 - the answer


main(Path(sys.argv[1]))
