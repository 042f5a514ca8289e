"""What follows a failed try."""

import pytest

from hermes_workflow.core import events as e
from hermes_workflow.core.failures import HINTS, diagnose
from hermes_workflow.core.plan import Policy, Step
from hermes_workflow.core.retry import after_failure
from hermes_workflow.core.states import StepState


def follows(*, tries: int, retries: int = 0, kind: str = "timeout", spared: bool = False, retry_after: float | None = None) -> tuple:
    failure = {"kind": kind, "msg": "no", "hint": HINTS[kind], "retry_after": retry_after}
    state = StepState(number=tries, tries=tries, spared=spared, failure=failure)
    event = after_failure(Policy(), Step("a", "agent", {"retries": retries}), state)
    return event.type, event.data.get("delay"), bool(event.data.get("extra"))


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ({"tries": 1}, (e.STEP_GAVE_UP, None, False)),
        ({"tries": 1, "retries": 1}, (e.STEP_SCHEDULED, None, False)),
        ({"tries": 2, "retries": 1}, (e.STEP_GAVE_UP, None, False)),
        ({"tries": 1, "kind": "rate_limited"}, (e.STEP_SCHEDULED, 15.0, True)),
        ({"tries": 2, "kind": "rate_limited", "spared": True}, (e.STEP_GAVE_UP, None, False)),
        ({"tries": 1, "retries": 3, "kind": "rate_limited"}, (e.STEP_SCHEDULED, 15.0, False)),
        ({"tries": 1, "kind": "rate_limited", "retry_after": 40.5}, (e.STEP_SCHEDULED, 40.5, True)),
        ({"tries": 1, "kind": "rate_limited", "retry_after": 1}, (e.STEP_SCHEDULED, 15.0, True)),
        ({"tries": 1, "kind": "rate_limited", "retry_after": 1e9}, (e.STEP_SCHEDULED, 3600.0, True)),
        ({"tries": 1, "retries": 1, "retry_after": 40}, (e.STEP_SCHEDULED, None, False)),
    ],
)
def test_budget_wait_and_the_one_extra_try(case: dict, expected: tuple):
    assert follows(**case) == expected


@pytest.mark.parametrize(
    "said", ["HTTP 429", "Rate limit reached", "rate_limit_exceeded", "Too Many Requests", "too many requests, slow down"]
)
def test_a_rate_limit_is_recognised_by_its_words(said: str):
    assert diagnose(said) == "rate_limited"


@pytest.mark.parametrize("said", ["", "error 4290", "the limit of 10 files", "ok"])
def test_other_words_give_nothing_away(said: str):
    assert diagnose(said) is None


def test_every_kind_has_a_hint():
    assert all(HINTS.values())
