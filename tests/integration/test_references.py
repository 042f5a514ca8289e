"""What a document names: who is asked must be able to answer where the design lives, or its gate would wait for nobody."""

import pytest

from hermes_workflow.core.errors import Invalid
from hermes_workflow.rights import BOT, OPERATOR, REVIEWER, VIEWER
from hermes_workflow.services import check_document, save_design
from tests import builders as b
from tests.integration import approvals_builders as a

pytestmark = pytest.mark.django_db

ACCEPTED = "must be, or hold, somebody with a role who belongs to the profile"


def defects(profile: str | None = None, name: str = "flow", **gate: object) -> list[tuple[str, str]]:
    with pytest.raises(Invalid) as refused:
        save_design(principal=b.admin(), name=name, document=b.design(b.approval("review", **gate)), profile=profile)
    return [(defect["field"], defect["msg"]) for defect in refused.value.extra["defects"]]


@pytest.fixture(autouse=True)
def people() -> None:
    b.profile()
    b.profile("secret", is_open=False).members.add(b.person("member", VIEWER).user)
    b.person("outsider", REVIEWER, "legal")
    b.person("nobody")
    b.person("robot", BOT)
    gone = b.person("gone", REVIEWER).user
    gone.is_active = False
    gone.save()


@pytest.mark.parametrize("who", ["user:outsider", "group:legal", "user:nobody", "user:robot", "user:gone"])
@pytest.mark.parametrize("field", ["assignees", "escalate_to"])
def test_who_could_never_answer_in_the_profile_is_a_defect(who: str, field: str):
    gate = {field: [who] if field == "assignees" else who}
    assert defects("secret", **gate) == [(field, f"{ACCEPTED} secret, got '{who}'")]


def test_being_named_is_enough_for_anybody_with_a_role_in_the_profile():
    b.person("root")
    for who in ("user:member", "user:root"):
        assert b.saved(b.approval("review", assignees=[who]), name="closed", profile="secret")


def test_a_group_counts_by_its_members_and_one_without_any_may_get_some():
    a.closed_profile(b.person("second", OPERATOR, "legal"))
    b.person("leaver", "empty").user.groups.clear()
    assert b.saved(b.approval("review", assignees=["group:legal", "group:empty"]), name="closed", profile="secret")


def test_the_profile_is_the_one_that_the_design_is_in_or_moves_to():
    b.saved(b.approval("review", assignees=["user:outsider"]), name="moving")
    assert defects("secret", "moving", assignees=["user:outsider"]) == [("assignees", f"{ACCEPTED} secret, got 'user:outsider'")]
    b.saved(b.approval("review"), name="moving", profile="secret")
    assert defects(None, "moving", assignees=["user:outsider"]) == [("assignees", f"{ACCEPTED} secret, got 'user:outsider'")]


def test_a_document_without_a_design_is_held_to_names_that_exist():
    document = b.design(b.approval("review", assignees=["user:nobody", "user:unheard"]))
    assert [defect["msg"] for defect in check_document(b.admin(), "design", document)] == ["no such user or group, got 'user:unheard'"]
