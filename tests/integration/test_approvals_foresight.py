"""What an answer would do, told before it is given, and what differs from the gate answered last."""

import random
import time

import pytest

from approvals.changes import changes
from approvals.consequences import consequences, without_answer
from approvals.selectors import gate_for
from approvals.services import answer_gate
from hermes_workflow.core import events as e
from runs.models import Gate, Notice
from tests import builders as b
from tests.fakes import ScriptedPerformer, text
from tests.integration import approvals_builders as a

pytestmark = pytest.mark.django_db


def told(gate: Gate) -> dict[str, str]:
    return {found.option: found.text for found in consequences(gate)}


def test_each_option_tells_what_it_leads_to(performer: ScriptedPerformer):
    gate = a.parked(
        b.condition("ok", 'out.review.answer == "approve"', "review"),
        b.agent("publish", "ok"),
        b.output("out", "publish"),
        stop_on=["stop"],
        options=["approve", "reject", "stop"],
    )
    approve, reject, stop = consequences(gate)
    assert (approve.text, approve.runs) == ("Runs publish and continues at its result.", ["publish"])
    assert reject.text == "The run finishes."
    assert (stop.fails, stop.text.startswith("The run fails")) == (True, True)
    assert (approve.fails, reject.fails) == (False, False)


def test_what_is_foretold_happens_and_foretelling_changes_nothing(performer: ScriptedPerformer):
    gate = a.parked(b.output("out", deliver="notification", target="user:root"))
    before = b.events_of(gate.run_id)
    (approve, _) = consequences(gate)
    assert (approve.sends, approve.text) == (["out"], "out tells user:root, then the run finishes.")
    assert b.events_of(gate.run_id) == before
    assert b.document(gate.run_id)["status"] == "awaiting_approval"
    answer_gate(principal=a.reviewer("ann"), gate_id=gate.pk, answer="approve")
    b.work(gate.run_id)
    assert b.document(gate.run_id)["status"] == "done"
    assert Notice.objects.count() == 1


def test_an_answer_that_sends_nothing_says_so_where_others_send():
    gate = a.parked(
        b.condition("ok", 'out.review.answer == "approve"', "review"),
        b.output("post", "ok", deliver="channel", target="slack:C1"),
    )
    assert told(gate) == {"approve": "post posts to slack:C1, then the run finishes.", "reject": "The run finishes, and nothing is sent."}


def test_the_next_gate_and_the_next_agent_step_are_named():
    b.profile(performer="none")
    assert told(a.parked(b.approval("legal"), name="one"))["approve"] == "Asks at legal."
    assert told(a.parked(b.agent("draft"), name="two"))["approve"] == "Waits for the agent at draft."


def test_one_vote_of_several_says_so():
    gate = a.parked(quorum=2)
    assert told(gate)["approve"] == "Counts as vote 1 of 2. With 2: the run finishes."
    answer_gate(principal=a.reviewer("ann"), gate_id=gate.pk, answer="approve")
    gate.refresh_from_db()
    assert told(gate) == {"approve": "The run finishes.", "reject": "Counts as vote 1 of 2. With 2: the run finishes."}


def test_without_an_answer_a_run_waits_fails_or_asks_one_more():
    a.reviewer("boss")
    assert without_answer(a.parked(name="one")).text == "The run keeps waiting."
    failing = without_answer(a.parked(name="two", timeout_minutes=5))
    assert failing.fails
    assert failing.text.endswith("the run fails: approval timed out.")
    asking = without_answer(a.parked(name="three", timeout_minutes=5, on_timeout="escalate", escalate_to="user:boss"))
    assert "user:boss is asked as well" in asking.text


def test_a_gate_that_is_over_has_no_consequences():
    gate, ann = a.parked(), a.reviewer("ann")
    answer_gate(principal=ann, gate_id=gate.pk, answer="approve")
    stale = Gate.objects.get(pk=gate.pk)
    stale.status = "open"
    assert consequences(stale) == consequences(gate_for(ann, gate.pk)) == []
    assert without_answer(gate_for(ann, gate.pk)) is None


def test_changes_show_the_lines_that_differ(performer: ScriptedPerformer):
    performer.does("draft", text("Dear Ann\nwe owe 100 EUR\nBye"), text("Dear Ann\nwe owe 900 EUR\nBye"))
    gates = []
    for _ in range(2):
        run_id = b.started(b.agent("draft"), b.approval("review"), b.output("out"))
        b.work(run_id)
        gates.append(Gate.objects.get(run_id=run_id))
    found = changes(*gates)
    assert [(line.mark, line.text) for line in found if line.mark in "+-"] == [("-", "we owe 100 EUR"), ("+", "we owe 900 EUR")]
    assert changes(gates[0], gates[0]) == []


def test_changes_between_very_long_lines_of_the_same_few_words_are_told_within_a_second(performer: ScriptedPerformer):
    chosen = random.Random(1)
    performer.does("draft", *[text("\n".join(" ".join(chosen.choices("ab", k=300)) for _ in range(900))) for _ in range(2)])
    gates = []
    for _ in range(2):
        run_id = b.started(b.agent("draft"), b.approval("review"), b.output("out"))
        b.work(run_id)
        gates.append(Gate.objects.get(run_id=run_id))
    started = time.thread_time()
    found = changes(*gates)
    assert time.thread_time() - started < 1
    assert sum(len(line.text) for line in found) < 110_000
    assert "left out" in found[-1].text


def test_changes_between_very_long_texts_stay_bounded(performer: ScriptedPerformer):
    performer.does("draft", text("a\n" * 20_000), text("\n".join(f"line {n} " + "w " * 50 for n in range(20_000))))
    gates = []
    for _ in range(2):
        run_id = b.started(b.agent("draft"), b.approval("review"), b.output("out"))
        b.work(run_id)
        gates.append(Gate.objects.get(run_id=run_id))
    found = changes(*gates)
    assert len(found) < 2100
    assert any("lines left out" in line.text for line in found)
    assert e.GATE_OPENED in b.types_of(gates[0].run_id)
