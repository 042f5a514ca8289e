"""Who may answer a gate, as pure rules."""

import pytest

from approvals.policy import Asked, Person, barred_by_duties, refusal

REVIEWER = Person(5, frozenset({"user:5", "group:3", "profile:2"}), performs=True)
VIEWER = Person(6, frozenset({"user:6", "group:4"}))


def asked(*audiences: str, kind: str = "approval", **more: object) -> Asked:
    return Asked(kind, frozenset(audiences), **more)


def test_any_reviewer_of_the_profile_answers_a_gate_without_assignees():
    assert refusal(REVIEWER, asked("profile:2")) == ""


def test_a_reviewer_of_another_profile_does_not():
    assert "reviewer" in refusal(REVIEWER, asked("profile:7"))


def test_a_viewer_is_told_which_role_is_missing():
    assert refusal(VIEWER, asked("profile:2")) == "answering needs the role reviewer or admin"


@pytest.mark.parametrize("audience", ["user:6", "group:4"])
def test_being_named_is_enough(audience):
    assert refusal(VIEWER, asked(audience, named=("user:vic",))) == ""


def test_only_the_named_may_answer_and_the_refusal_names_them():
    assert (
        refusal(REVIEWER, asked("user:9", "group:8", named=("user:ann", "group:legal")))
        == "only user:ann or group:legal may answer this gate"
    )


def test_a_gate_whose_named_people_are_all_gone_opens_to_nobody():
    assert "only user:gone" in refusal(REVIEWER, asked(named=("user:gone",)))


def test_an_escalation_asks_more_people_and_keeps_the_first():
    escalated = asked("profile:2", "user:6", named=("user:vic",))
    assert refusal(REVIEWER, escalated) == refusal(VIEWER, escalated) == ""


def test_a_bot_never_decides_even_when_it_is_named():
    bot = Person(7, frozenset({"user:7", "profile:2"}), performs=True, is_bot=True)
    assert "bot never decides" in refusal(bot, asked("user:7", "profile:2"))


def test_a_bot_performs_agent_steps_and_a_viewer_does_not():
    bot = Person(7, performs=True, is_bot=True)
    assert refusal(bot, asked("profile:2", kind="agent")) == ""
    assert refusal(VIEWER, asked("profile:2", kind="agent")) != ""


def test_an_inactive_account_answers_nothing():
    gone = Person(5, frozenset({"user:5"}), performs=True, is_active=False)
    assert refusal(gone, asked("user:5")) == refusal(gone, asked("user:5", kind="agent")) == "this account is not active"


@pytest.mark.parametrize(("duties", "words"), [({"started_by": 5, "author": 9}, "started"), ({"started_by": 9, "author": 5}, "saved")])
def test_separate_duties_bar_who_started_the_run_and_who_saved_its_version(duties, words):
    barred = asked("profile:2", barred=barred_by_duties(**duties))
    assert words in refusal(REVIEWER, barred)


def test_separate_duties_bar_nobody_where_nobody_is_known():
    assert barred_by_duties(started_by=None, author=None) == {}
