"""Fixtures of the tests that meet a database."""

import pytest

from hermes_workflow.models import Design
from runs import assignments
from runs.models import Gate
from tests import builders
from tests.api import Api
from tests.builders import SCRIPTED, approval
from tests.fakes import ScriptedPerformer


@pytest.fixture
def performer(monkeypatch: pytest.MonkeyPatch) -> ScriptedPerformer:
    """Performs the agent steps of every profile that `builders.profile` makes."""
    scripted = ScriptedPerformer()
    monkeypatch.setitem(assignments.PERFORMERS, SCRIPTED, scripted)
    return scripted


@pytest.fixture
def api(db: None) -> Api:
    """Somebody who may do everything, and the design `known`, which asks yes or no."""
    builders.profile()
    builders.saved(approval("review", options=["yes", "no"]), name="known")
    return Api(builders.admin())


@pytest.fixture
def gate(api: Api) -> Gate:
    """The open gate of a run of `known`."""
    return Gate.objects.get(run_id=builders.begun(Design.objects.get()))
