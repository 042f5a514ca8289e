"""Many answer at once: one decision, everybody else is told who won. Real threads on real connections."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection, connections

from approvals.models import Decision
from approvals.services import answer_gate
from hermes_workflow.core import events as e
from hermes_workflow.core.errors import AlreadyDecided, Conflict
from runs.models import Gate, GateAudience
from tests import builders as b
from tests.integration import approvals_builders as a

pytestmark = pytest.mark.django_db(transaction=True)

THREADS = 50


def at_once(calls: list[Callable[[], str]]) -> list[str]:
    """What each call gave: its result's first word, or the code of its refusal."""
    start = Barrier(len(calls))

    def one(call: Callable[[], str]) -> str:
        try:
            start.wait(30)
            call()
        except Conflict as refused:
            return refused.code
        finally:
            connections.close_all()
        return "ok"

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(one, calls))


def answering(gate: Gate, person: object, answer: str, **more: object) -> Callable[[], str]:
    return lambda: answer_gate(principal=person, gate_id=gate.pk, answer=answer, **more)


def test_fifty_threads_at_one_gate_give_exactly_one_decision():
    gate = a.parked(options=["yes", "no"])
    people = [a.reviewer(f"person-{n}") for n in range(THREADS)]
    told = at_once([answering(gate, person, "yes" if n % 2 else "no") for n, person in enumerate(people)])
    assert Counter(told) == {"ok": 1, AlreadyDecided.code: THREADS - 1}
    assert Decision.objects.count() == 1
    types = Counter(b.types_of(gate.run_id))
    assert (types[e.GATE_VOTED], types[e.GATE_ANSWERED], types[e.RUN_COMPLETED]) == (1, 1, 1)
    gate.refresh_from_db()
    assert (gate.status, gate.answer) == ("answered", Decision.objects.get().answer)
    assert not GateAudience.objects.filter(gate=gate, open=True).exists()


def test_a_quorum_of_five_among_fifty_takes_exactly_five_votes():
    gate = a.parked(quorum=5)
    people = [a.reviewer(f"person-{n}") for n in range(THREADS)]
    told = at_once([answering(gate, person, "approve") for person in people])
    assert Counter(told) == {"ok": 5, AlreadyDecided.code: THREADS - 5}
    assert Decision.objects.count() == 5


def test_one_person_sending_the_same_key_twenty_times_answers_once_and_always_succeeds():
    gate, ann = a.parked(), a.reviewer("ann")
    told = at_once([answering(gate, a.anew(ann), "approve", key="k") for _ in range(20)])
    assert set(told) == {"ok"}
    assert Decision.objects.count() == 1
    assert Counter(b.types_of(gate.run_id))[e.GATE_VOTED] == 1


def test_one_key_for_two_gates_at_once_answers_one_of_them():
    first, second, ann = a.parked(name="first"), a.parked(name="second"), a.reviewer("ann")
    told = at_once([answering(gate, a.anew(ann), "approve", key="k") for gate in (first, second) for _ in range(4)])
    assert set(told) == {"ok", "idempotency_key_reused"}
    assert Decision.objects.count() == 1


def test_one_message_for_two_gates_at_once_decides_one_of_them():
    first, second, robot = a.parked(name="first"), a.parked(name="second"), a.bot()
    a.linked(a.reviewer("ann"), "tg-1")
    told = at_once([lambda gate=gate: a.relay(a.anew(robot), gate) for gate in (first, second)])
    assert sorted(told) == ["conflict", "ok"]
    assert Decision.objects.count() == 1


def test_the_database_of_these_tests_is_a_real_one():
    assert connection.vendor == "postgresql" or not connection.is_in_memory_db()
