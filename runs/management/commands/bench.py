"""`manage.py bench SCENARIO --json`: figures of the production path, in a scratch database of the configured kind."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from runs.management.bench.circumstances import circumstances
from runs.management.bench.scenarios import SCENARIOS
from runs.management.bench.scratch import scratch


class Command(BaseCommand):
    """Measure one scenario."""

    help = "Measure one scenario in a scratch database."

    def add_arguments(self, parser: CommandParser) -> None:
        """The scenario and the shape of the answer."""
        parser.add_argument("scenario", choices=sorted(SCENARIOS))
        parser.add_argument("--json", action="store_true", help="one line of JSON")

    def handle(self, *, scenario: str, json: bool, **_: Any) -> None:
        """Measure and print."""
        with scratch() as principal:
            figures = {"scenario": scenario, **SCENARIOS[scenario](principal), **circumstances()}
        self.stdout.write(_line(figures) if json else "\n".join(f"{name}: {value}" for name, value in figures.items()))


def _line(figures: dict[str, Any]) -> str:
    return json.dumps(figures)
