"""Fixtures of the tests that meet a database."""

import pytest

from runs import assignments
from tests.builders import SCRIPTED
from tests.fakes import ScriptedPerformer


@pytest.fixture
def performer(monkeypatch: pytest.MonkeyPatch) -> ScriptedPerformer:
    """Performs the agent steps of every profile that `builders.profile` makes."""
    scripted = ScriptedPerformer()
    monkeypatch.setitem(assignments.PERFORMERS, SCRIPTED, scripted)
    return scripted
