"""A JSON column stored as text: the same bytes on every database, and no second parser in between."""

import json
from collections.abc import Callable
from typing import Any

from django.db import models


class JSONText(models.TextField):
    """Any JSON value as compact text. NULL stays None; JSON null is not stored (use NULL)."""

    _pyi_private_set_type: Any
    _pyi_private_get_type: Any

    def from_db_value(self, value: str | None, expression: Any, connection: Any) -> Any:
        """Parse what the database holds."""
        return None if value is None else json.loads(value)

    def to_python(self, value: Any) -> Any:
        """Python values pass through; forms and fixtures hand in text."""
        return value

    def get_prep_value(self, value: Any) -> str | None:
        """Compact JSON, non-ASCII kept."""
        return None if value is None else dumps(value)

    def value_to_string(self, obj: models.Model) -> str:
        """The JSON text, for fixtures."""
        return dumps(self.value_from_object(obj))


dumps: Callable[[Any], str] = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
"""Compact JSON text. Raises ValueError for NaN and Infinity."""
