"""The hostile inputs of tests/data/bad_inputs.json that concern the pure rulebook."""

import json
from pathlib import Path
from typing import Any

_FILE = Path(__file__).parents[1] / "data" / "bad_inputs.json"


def entries(area: str, kind: str) -> list[dict[str, Any]]:
    """The entries of one area and kind, each with its `value` made."""
    found = [entry for entry in json.loads(_FILE.read_text())["inputs"] if entry["area"] == area and entry["kind"] == kind]
    assert found, f"no entries for {area} {kind}"
    return [{**entry, "value": _value(entry)} for entry in found]


def _value(entry: dict[str, Any]) -> Any:
    return eval(entry["generator"]) if "generator" in entry else entry["input"]  # noqa: S307
