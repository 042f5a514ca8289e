"""The scheduler, without a database: what follows from what, under each policy."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from hermes_workflow.core import events as e
from hermes_workflow.core.errors import Conflict, Malformed, NeedsNewerCode, NotFound
from hermes_workflow.core.events import Event
from hermes_workflow.core.history import History
from hermes_workflow.core.plan import Edge, Plan, Policy, Step
from hermes_workflow.core.reentry import again_from
from hermes_workflow.core.scheduler import Program, decide, tally
from hermes_workflow.core.status import status_of
from tests import builders as b

T0 = datetime(2026, 1, 1, tzinfo=UTC)


class Life:
    """A run of a plan in memory."""

    def __init__(self, plan: Plan, *, performs: bool = True, value: Any = None) -> None:
        self.program = Program(plan, lambda step: performs)
        self.history = History(plan)
        self.happen(Event(e.RUN_STARTED, "", {"perform": "host"}))

    def happen(self, *facts: Event) -> list[tuple[str, str]]:
        """Take in facts; `(type, key)` of what follows."""
        for event in facts:
            self._fold(event)
        found = decide(self.program, self.history)
        for event in found:
            self._fold(event)
        return [(event.type, event.key) for event in found]

    def _fold(self, event: Event) -> None:
        self.history.apply(Event(event.type, event.key, event.data, at=T0, seq=self.history.seq + 1))

    def complete(self, key: str) -> list[tuple[str, str]]:
        return self.happen(Event(e.STEP_COMPLETED, key, {"number": self.history.state(key).number}))

    def fail(self, key: str, **failure: Any) -> list[tuple[str, str]]:
        return self.happen(Event(e.STEP_FAILED, key, {"kind": "timeout", "msg": "no", "hint": "", **failure}))

    def vote(self, key: str, answer: str, **more: Any) -> list[tuple[str, str]]:
        return self.happen(Event(e.GATE_VOTED, key, {"round": 1, "by": 1, "name": "ann", "answer": answer, **more}))


def agents(*keys: str, edges: Sequence[tuple[str, ...]] = (), concurrency: int = 0, **spec: Any) -> Plan:
    """Agent steps that may run at once."""
    steps = tuple(Step(key, "agent", {"retries": 0, **spec}) for key in keys)
    return Plan("canvas", steps, tuple(Edge(*edge) for edge in edges), "start", Policy(concurrency=concurrency))


def test_the_first_step_of_a_design_is_scheduled_at_once():
    assert [key for key, state in Life(b.plan(b.agent("one"), b.agent("two"))).history.open_attempts.items()] == ["one"]


def test_steps_beside_each_other_start_at_once_where_the_policy_allows_it():
    life = Life(agents("a", "b", "c", "end", edges=[("a", "end"), ("b", "end"), ("c", "end")]))
    assert list(life.history.open_attempts) == ["a", "b", "c"]
    assert life.complete("a") == life.complete("c") == []
    assert life.complete("b") == [(e.STEP_SCHEDULED, "end")]
    assert life.complete("end") == [(e.RUN_COMPLETED, "")]


def test_no_more_steps_start_than_the_policy_allows():
    life = Life(agents("a", "b", "c", concurrency=2))
    assert list(life.history.open_attempts) == ["a", "b"]
    assert life.complete("a") == [(e.STEP_SCHEDULED, "c")]


def test_a_failing_run_drains_before_it_has_failed_and_starts_nothing():
    life = Life(agents("a", "b", "below", edges=[("b", "below")]))
    assert life.fail("a") == [(e.STEP_GAVE_UP, "a")]
    assert status_of(life.history) == "running"
    assert life.complete("b") == [(e.RUN_FAILED, "")]
    assert life.history.error == {"node_id": "a", "kind": "timeout", "msg": "no"}


def test_a_failing_run_closes_its_gates():
    plan = b.plan(b.approval("review", "start"), b.agent("bad", "start"))
    wide = Plan(plan.dialect, plan.steps, plan.edges, plan.trigger, Policy(concurrency=0))
    life = Life(wide)
    assert life.fail("bad") == [(e.STEP_GAVE_UP, "bad"), (e.GATE_CLOSED, "review"), (e.RUN_FAILED, "")]


def test_only_a_spent_budget_takes_a_fail_edge():
    plan = agents("a", "mend", "next", edges=[("a", "mend", "fail"), ("a", "next")], retries=1)
    life = Life(plan)
    assert life.fail("a") == [(e.STEP_SCHEDULED, "a")]
    assert life.fail("a") == [(e.STEP_GAVE_UP, "a"), (e.STEP_SCHEDULED, "mend"), (e.STEP_SKIPPED, "next")]
    assert life.complete("mend") == [(e.RUN_COMPLETED, "")]


def test_a_fail_edge_is_dead_when_the_step_passes():
    life = Life(agents("a", "mend", edges=[("a", "mend", "fail")]))
    assert life.complete("a") == [(e.STEP_SKIPPED, "mend"), (e.RUN_COMPLETED, "")]


def test_spare_tries_come_on_top_of_a_steps_retries():
    plan = agents("a")
    life = Life(Plan(plan.dialect, plan.steps, plan.edges, plan.trigger, Policy(spare_tries=1)))
    assert life.fail("a") == [(e.STEP_SCHEDULED, "a")]
    assert life.fail("a")[0] == (e.STEP_GAVE_UP, "a")


def test_a_skip_says_why():
    life = Life(b.plan(b.agent("one"), b.condition("no", "out.one.n == 1"), b.agent("two"), b.agent("three")))
    life.complete("one")
    assert life.history.steps["two"].data == {"because": "no is false"}
    assert life.history.steps["three"].data == {"because": "two was skipped"}


def test_a_condition_that_nothing_was_said_about_is_false_and_says_so():
    life = Life(b.plan(b.agent("one"), b.condition("check", "out.one.n == 1")))
    life.complete("one")
    assert life.history.steps["check"].data["result"] is False
    assert "path missing" in life.history.steps["check"].data["trace"]


def test_without_a_performer_an_agent_step_opens_a_gate():
    life = Life(b.plan(b.agent("one")), performs=False)
    assert status_of(life.history) == "awaiting_agent"
    assert life.history.gates["one"].kind == "agent"


def test_a_person_comes_before_an_agent_in_the_status():
    plan = b.plan(b.agent("one", "start"), b.approval("review", "start"))
    life = Life(Plan(plan.dialect, plan.steps, plan.edges, plan.trigger, Policy(concurrency=0)), performs=False)
    assert sorted(life.history.open_gates) == ["one", "review"]
    assert status_of(life.history) == "awaiting_approval"


def test_a_plan_without_steps_is_done_at_once():
    assert Life(Plan("design", ())).history.ended == "done"


def test_an_unknown_event_is_never_decided_on():
    life = Life(b.plan(b.approval("review")))
    with pytest.raises(NeedsNewerCode, match=r"gate\.reworded"):
        life.happen(Event("gate.reworded", "review"))


def test_an_unknown_kind_of_step_fails_that_step():
    life = Life(Plan("design", (Step("odd", "dance"),)))
    assert life.history.error is not None
    assert (life.history.error["node_id"], life.history.error["kind"]) == ("odd", "internal")


def test_the_same_votes_give_the_same_answer_in_the_order_they_came():
    life = Life(b.plan(b.approval("review", quorum=2, options=["a", "b"])))
    assert life.vote("review", "b") == life.vote("review", "a") == []
    assert life.vote("review", "a", comment="me too")[0] == (e.GATE_ANSWERED, "review")
    winner = tally(life.history.gates["review"])
    assert winner is not None
    assert (winner["answer"], winner["comment"]) == ("a", "me too")


def test_a_quorum_out_of_reach_escalates_once_and_keeps_waiting():
    life = Life(b.plan(b.approval("review", quorum=2, options=["a", "b"])))
    life.vote("review", "a", left=1)
    assert life.vote("review", "b", left=0) == [(e.GATE_ESCALATED, "review")]
    assert life.happen() == []
    assert status_of(life.history) == "awaiting_approval"


def test_a_reopened_step_runs_again_with_the_next_number_and_what_is_below_follows():
    life = Life(agents("a", "b", edges=[("a", "b")]))
    life.complete("a")
    life.complete("b")
    assert life.happen(Event(e.RUN_REOPENED, "", {"why": "rerun", "keys": ["a", "b"]})) == [(e.STEP_SCHEDULED, "a")]
    assert life.history.state("a").number == 2
    assert life.complete("a") == [(e.STEP_SCHEDULED, "b")]


def test_deciding_is_a_dry_run_that_tells_what_an_answer_would_lead_to():
    life = Life(b.plan(b.approval("review", stop_on=["reject"]), b.agent("send"), b.approval("again", "review")))
    fork = life.history.fork()
    fork.apply(Event(e.GATE_VOTED, "review", {"round": 1, "by": 1, "name": "ann", "answer": "reject"}, at=T0))
    assert [event.type for event in decide(life.program, fork)] == [e.GATE_ANSWERED, e.RUN_FAILED]
    assert status_of(life.history) == "awaiting_approval"


def test_a_fork_shares_nothing_but_the_plan():
    life = Life(b.plan(b.agent("one"), b.agent("two")))
    fork = life.history.fork()
    fork.apply(Event(e.STEP_COMPLETED, "one", {"number": 1}))
    assert not life.history.settled("one")
    assert fork.plan is life.history.plan


def test_a_step_below_a_fast_branch_starts_before_the_slow_one_ends():
    life = Life(agents("fast", "slow", "below", "end", edges=[("fast", "below"), ("below", "end"), ("slow", "end")]))
    assert life.complete("fast") == [(e.STEP_SCHEDULED, "below")]
    assert life.complete("below") == []
    assert life.complete("slow") == [(e.STEP_SCHEDULED, "end")]


def test_what_a_failing_run_takes_back_was_no_try_and_begins_anew_when_the_run_is_retried():
    life = Life(agents("a", "b", "c", edges=[("b", "c")]))
    life.fail("a")
    assert life.happen(Event(e.STEP_WITHDRAWN, "b", {"number": 1})) == [(e.RUN_FAILED, "")]
    assert (life.history.state("b").unperformed, life.history.state("b").tries) == (1, 0)
    assert life.happen(Event(e.RUN_REOPENED, "", {"why": "retry", "keys": ["a"]})) == [(e.STEP_SCHEDULED, "a"), (e.STEP_SCHEDULED, "b")]
    assert life.history.state("b").number == 2


def test_a_cancelled_parallel_run_starts_nothing_more():
    life = Life(agents("a", "b", "end", edges=[("a", "end"), ("b", "end")]))
    assert life.happen(Event(e.RUN_CANCELLED, "", {"by": "ann", "reason": ""})) == []
    assert life.complete("a") == life.complete("b") == []
    assert (life.history.ended, life.history.open_attempts) == ("cancelled", {})


def diamond() -> Life:
    life = Life(agents("a", "b", "c", "d", edges=[("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")]))
    for key in "abcd":
        life.complete(key)
    return life


@pytest.mark.parametrize(("node", "keep", "keys"), [("b", False, "bd"), ("b", True, "d"), ("a", False, "abcd"), ("a", True, "bcd")])
def test_a_run_goes_back_to_a_step_and_does_again_what_is_below(node: str, keep: bool, keys: str):
    assert again_from(diamond().history, node, keep=keep) == list(keys)


def test_going_back_is_refused_where_it_means_nothing():
    done, working = diamond().history, Life(agents("a", "b", edges=[("a", "b")])).history
    with pytest.raises(NotFound):
        again_from(done, "gone", keep=False)
    with pytest.raises(Malformed, match="nothing comes after d"):
        again_from(done, "d", keep=True)
    with pytest.raises(Conflict, match="at work"):
        again_from(working, "a", keep=False)


def test_going_back_needs_all_that_comes_from_elsewhere():
    life = Life(agents("a", "b", "c", edges=[("a", "c"), ("b", "c")]))
    life.complete("b")
    life.fail("a")
    with pytest.raises(Conflict, match="a has no output"):
        again_from(life.history, "a", keep=True)
    with pytest.raises(Conflict, match="c needs a, which has failed"):
        again_from(life.history, "b", keep=False)
    assert again_from(life.history, "a", keep=False) == ["a", "c"]


def test_going_back_tries_again_whatever_else_failed():
    life = Life(agents("a", "b", "z", edges=[("a", "b")]))
    life.complete("a")
    life.complete("b")
    life.fail("z")
    assert again_from(life.history, "a", keep=True) == ["b", "z"]
