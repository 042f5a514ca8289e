"""The hostile inputs of `tests/data/bad_inputs.json`, for the tests of each door."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

FILE = Path(__file__).parent / "data" / "bad_inputs.json"
SAME_AS_400 = {400, 413, 422}
Test = TypeVar("Test", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class BadInput:
    """One of them. `status` lists what is right for it."""

    id: str
    area: str
    kind: str
    target: str
    status: frozenset[int]
    expect: str
    input: Any = None
    generator: str = ""

    @property
    def value(self) -> Any:
        """The input itself; a scenario has none."""
        if not self.generator:
            return self.input
        return eval(self.generator, {"__builtins__": {"range": range, "str": str, "chr": chr, "bytes": bytes}})  # noqa: S307


def bad_inputs(*areas: str, kind: str = "") -> Iterable[BadInput]:
    """Those of the areas, all kinds unless one is named."""
    for entry in json.loads(FILE.read_text())["inputs"]:
        if entry["area"] in areas and kind in ("", entry["kind"]):
            status = frozenset(entry["status"])
            yield BadInput(
                id=entry["id"],
                area=entry["area"],
                kind=entry["kind"],
                target=entry.get("target", ""),
                status=status | SAME_AS_400 if 400 in status else status,
                expect=entry["expect"],
                input=entry.get("input"),
                generator=entry.get("generator", ""),
            )


def plays(*ids: str) -> Callable[[Test], Test]:
    """The test plays these scenarios; another test reads the marks and finds what nobody plays."""
    return lambda test: test
