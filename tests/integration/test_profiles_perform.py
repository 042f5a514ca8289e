"""What a profile says of its steps: the models they may ask for, the time they have, and who performs when something is missing."""

import pytest

from hermes_workflow.core.failures import HINTS
from hermes_workflow.models import Profile
from runs import performers
from tests import builders as b
from tests.builders import SCRIPTED, agent

pytestmark = pytest.mark.django_db


def error_of(document):
    assert document["status"] == "failed"
    error = document["error"]
    assert error["hint"] == HINTS[error["kind"]]
    return error


def asked_for(model, **profile):
    b.profile("default", model="small", **profile)
    performers.forget()
    return b.ran(agent("a", model=model))


def test_the_profile_s_own_model_needs_no_trust(performer):
    assert asked_for("small")["status"] == "done"
    assert performer.seen[0].model == "small"


def test_another_model_needs_trust(performer):
    error = error_of(asked_for("large", catalogue=["large"]))
    assert (error["kind"], error["node_id"]) == ("model_denied", "a")
    assert performer.seen == []


def test_a_trusted_model_must_be_in_the_catalogue_and_the_refusal_names_what_is(performer):
    error = error_of(asked_for("lrage", allow_model_override=True, catalogue=["small", "large"]))
    assert error["kind"] == "model_unknown"
    assert "small, large" in error["msg"]
    assert performer.seen == []


@pytest.mark.parametrize("catalogue", [[], ["small", "large"]])
def test_a_trusted_model_that_is_offered_is_asked_for(performer, catalogue):
    assert asked_for("large", allow_model_override=True, catalogue=catalogue)["status"] == "done"
    assert performer.seen[0].model == "large"


@pytest.mark.parametrize(("of_profile", "of_node", "seconds"), [(None, None, 600), (90, None, 5400), (90, 2, 120), (None, 2, 120)])
def test_the_node_s_time_comes_before_the_profile_s(performer, of_profile, of_node, seconds):
    b.profile("default", timeout_minutes=of_profile)
    performers.forget()
    b.ran(agent("a", timeout_minutes=of_node))
    assert performer.seen[0].timeout_seconds == seconds


def test_a_performer_of_another_release_fails_the_step_by_name_and_loses_nothing(performer):
    b.profile("default", performer="telepathy")
    performers.forget()
    error = error_of(b.ran(agent("a"), agent("b")))
    assert (error["node_id"], error["kind"]) == ("a", "performer_missing")
    assert "telepathy" in error["msg"]
    assert performer.seen == []


def test_without_a_default_profile_the_step_that_needs_it_says_so(performer):
    design = b.saved(agent("a"))
    design.profile = b.profile("elsewhere", performer=SCRIPTED)
    design.save()
    Profile.objects.get(name="default").delete()
    performers.forget()
    run_id = b.begun(design)
    b.work(run_id)
    error = error_of(b.document(run_id))
    assert (error["node_id"], error["kind"]) == ("a", "performer_missing")
    assert "default" in error["msg"]
