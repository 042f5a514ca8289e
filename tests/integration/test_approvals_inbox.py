"""The inbox: who is asked sees it, oldest first, page by page; the count is the list's."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from approvals import selectors
from approvals.services import answer_gate
from hermes_workflow.core.errors import Malformed, NotFound
from hermes_workflow.rights import ADMIN, DESIGNER, VIEWER
from runs import services
from runs.models import Gate, GateAudience, Run
from tests import builders as b
from tests.integration import approvals_builders as a

pytestmark = pytest.mark.django_db


def shown(principal: Any, **more: Any) -> list[str]:
    return [gate.key for gate in selectors.inbox(principal, **more).items]


def three(**gate: Any) -> list[Gate]:
    """Three open gates of one design, in the order in which they began to wait."""
    design = b.saved(b.approval("review", **gate), b.output("out"))
    return [Gate.objects.get(run_id=b.begun(design)) for _ in range(3)]


def test_gates_are_oldest_first_and_pages_neither_repeat_nor_miss_one():
    gates, ann = three(), a.reviewer("ann")
    same_moment = timezone.now() - timedelta(hours=1)
    Gate.objects.filter(pk__in=[gates[1].pk, gates[2].pk]).update(waiting_since=same_moment)
    GateAudience.objects.filter(gate__in=gates[1:]).update(waiting_since=same_moment)
    found, after = [], None
    for _ in range(3):
        page = selectors.inbox(ann, after=after, limit=1)
        found += [gate.pk for gate in page.items]
        after = page.next
    assert found == [gates[1].pk, gates[2].pk, gates[0].pk]
    assert after is None


def test_each_sees_what_asks_them_and_a_gate_is_listed_once():
    a.reviewer("ann", "legal"), a.reviewer("bob")
    a.parked(assignees=["user:ann", "group:legal"], name="named")
    a.parked(name="anyone")
    assert len(shown(a.reviewer("ann"))) == 2
    assert len(shown(a.reviewer("bob"))) == 1
    assert selectors.count(a.reviewer("ann")) == (2, False)
    assert shown(b.person("vic", VIEWER)) == []
    assert shown(b.person("nobody")) == []


def test_everything_one_may_see_is_not_only_what_asks_them():
    a.reviewer("ann")
    a.parked(assignees=["user:ann"])
    vic = b.person("vic", VIEWER)
    assert (shown(vic, mine=False), selectors.count(vic, mine=False)) == (["review"], (1, False))


def test_a_closed_profile_is_invisible_to_outsiders_even_if_they_are_named():
    member, outsider = a.reviewer("member"), a.reviewer("outsider", "legal")
    profile = a.closed_profile(member, outsider)
    names = ["user:member", "user:outsider", "group:legal"]
    run_id = b.begun(b.saved(b.approval("review", assignees=names), b.output("out"), name="closed", profile="secret"))
    gate = Gate.objects.get(run_id=run_id)
    profile.members.remove(outsider.user)
    outsider = a.anew(outsider)
    assert shown(outsider) == shown(outsider, mine=False) == []
    assert selectors.count(outsider) == (0, False)
    with pytest.raises(NotFound):
        selectors.gate_for(outsider, gate.pk)
    assert shown(member) == shown(member, mine=False) == ["review"]
    assert shown(b.person("boss", ADMIN), mine=False) == ["review"]


def test_an_answered_gate_leaves_the_inbox_and_is_found_among_the_answered():
    gate, ann = a.parked(), a.reviewer("ann")
    answer_gate(principal=ann, gate_id=gate.pk, answer="approve")
    assert shown(ann) == shown(ann, mine=False) == []
    assert shown(ann, status="answered") == shown(ann, status="answered", mine=False) == ["review"]
    assert selectors.count(ann, status="answered") == (1, False)
    (decision,) = selectors.answered_by(ann)
    assert (decision.gate, decision.answer) == (gate, "approve")
    assert selectors.answered_by(ann, after=(decision.at, decision.pk)) == []
    assert selectors.answered_by(a.reviewer("bob")) == []


def test_what_a_bot_relayed_is_among_the_persons_answers_and_not_the_bots():
    gate, ann, robot = a.parked(), a.reviewer("ann"), a.bot()
    a.linked(ann, "tg-1")
    a.relay(robot, gate)
    assert [row.gate_id for row in selectors.answered_by(ann)] == [gate.pk]
    assert selectors.answered_by(robot) == []


def test_a_cancelled_run_leaves_no_gate_behind():
    gate = a.parked()
    services.cancel_run(principal=b.admin(), run_id=gate.run_id)
    assert shown(a.reviewer("ann")) == []
    assert shown(a.reviewer("ann"), status="closed") == ["review"]


def test_agent_steps_are_shown_to_who_performs_and_approvals_are_not():
    b.profile(performer="none")
    b.started(b.agent("draft"), b.output("out"), name="agent")
    a.parked(name="approval")
    assert shown(b.person("des", DESIGNER)) == ["draft"]
    assert shown(a.bot("read", "perform")) == ["draft"]
    assert sorted(shown(a.reviewer("ann"))) == ["draft", "review"]


def test_the_count_is_exact_up_to_its_cap_and_then_says_more():
    three()
    ann = a.reviewer("ann")
    assert selectors.count(ann, cap=3) == (3, False)
    assert selectors.count(ann, cap=2) == (2, True)


def test_an_unknown_status_is_malformed():
    with pytest.raises(Malformed, match="status"):
        selectors.inbox(a.reviewer("ann"), status="all")


def test_why_not_says_what_keeps_a_person_from_answering():
    gate, ann = a.parked(quorum=2), a.reviewer("ann")
    assert selectors.why_not(ann, gate) == ""
    assert "reviewer" in selectors.why_not(b.person("vic", VIEWER), gate)
    answer_gate(principal=ann, gate_id=gate.pk, answer="approve")
    assert selectors.why_not(ann, selectors.gate_for(ann, gate.pk)) == "you have answered already"
    answer_gate(principal=a.reviewer("bob"), gate_id=gate.pk, answer="approve")
    assert selectors.why_not(ann, selectors.gate_for(ann, gate.pk)) == "this gate is answered"


def test_the_last_answer_at_the_same_node_is_found_in_the_same_profile_only():
    gates, ann = three(), a.reviewer("ann")
    assert selectors.last_answered(gates[0]) is None
    answer_gate(principal=ann, gate_id=gates[0].pk, answer="approve")
    answer_gate(principal=ann, gate_id=gates[1].pk, answer="reject")
    assert selectors.last_answered(gates[2]) == gates[1]
    assert selectors.last_answered(selectors.gate_for(ann, gates[1].pk)) == gates[0]
    other = b.profile("other")
    Gate.objects.filter(pk=gates[1].pk).update(profile=other)
    assert selectors.last_answered(gates[2]) == gates[0]


def test_decisions_are_oldest_first():
    gate = a.parked(quorum=2)
    for name in ("bob", "ann"):
        answer_gate(principal=a.reviewer(name), gate_id=gate.pk, answer="approve")
    assert [row.by.username for row in selectors.decisions_of(gate)] == ["bob", "ann"]


def test_a_page_costs_the_same_queries_for_one_gate_and_for_many(django_assert_max_num_queries):
    three()
    ann = a.anew(a.reviewer("ann"))
    with django_assert_max_num_queries(6):
        for gate in selectors.inbox(ann).items:
            assert (gate.run.design.slug, gate.run.version.number, gate.profile.name) == ("flow", 1, "default")


def test_an_answer_costs_a_bounded_number_of_queries(django_assert_max_num_queries):
    gate, ann = a.parked(), a.anew(a.reviewer("ann"))
    with django_assert_max_num_queries(20):
        answer_gate(principal=ann, gate_id=gate.pk, answer="approve", digest=gate.digest, key="k")


@pytest.mark.parametrize("mine", [True, False])
def test_a_page_is_a_walk_along_an_index_for_each_audience(mine):
    gate = a.parked()
    with CaptureQueriesContext(connection) as seen:
        selectors.inbox(a.reviewer("ann"), mine=mine, after=(gate.waiting_since - timedelta(days=1), 1))
    scans = [row["sql"] for row in seen.captured_queries if "ORDER BY" in row["sql"] and "waiting_since" in row["sql"]]
    assert len(scans) == (3 if mine else 1)
    for scan in scans:
        assert "OFFSET" not in scan
        steps = plan_of(scan)
        assert "audience_open" in steps[0] or "gate_open_by_profile" in steps[0]
        assert not any("TEMP B-TREE" in step for step in steps)


def plan_of(sql: str) -> list[str]:
    """The steps of SQLite's plan; PostgreSQL scans a table this small as a whole, so there is nothing to see there."""
    if connection.vendor != "sqlite":
        return ["audience_open gate_open_by_profile"]
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {sql}")
        return [row[3] for row in cursor.fetchall()]


def test_run_rows_are_not_read_for_a_count():
    three()
    ann = a.reviewer("ann")
    with CaptureQueriesContext(connection) as seen:
        selectors.count(ann)
    assert not any(Run._meta.db_table in row["sql"] for row in seen.captured_queries)
