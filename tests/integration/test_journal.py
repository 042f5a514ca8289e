"""What a turn costs: the write-set of a step, statement by statement, and bounds for starting, answering and reading."""

import re
from collections.abc import Callable
from itertools import pairwise

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from hermes_workflow.models import Design
from runs import engine, journal, services, warm, worker
from runs.models import Run
from tests import builders as b
from tests.fakes import ScriptedPerformer, failed, structured

WRITE_SET = ["BEGIN", "UPDATE runs_run", "UPDATE runs_attempt", "INSERT runs_event", "INSERT runs_attempt", "COMMIT"]

pytestmark = pytest.mark.django_db(transaction=True)


def chain(length: int) -> list[b.Node]:
    return [b.agent(f"s{number}") for number in range(1, length + 1)]


def shapes(queries: CaptureQueriesContext) -> list[str]:
    """`VERB table` of each statement."""
    return [shape(query["sql"].strip()) for query in queries.captured_queries]


def shape(sql: str) -> str:
    verb = sql.split()[0].upper()
    if verb == "UPDATE":
        return f"UPDATE {sql.split()[1].strip(chr(34))}"
    if found := re.search(r'\b(?:INTO|FROM)\s+"?(\w+)"?', sql):
        return f"{verb} {found.group(1)}"
    return verb


def statements_per_step(performer: ScriptedPerformer, length: int) -> list[list[str]]:
    """What is sent to the database from one `perform` to the next, within one drain."""
    run_id = b.started(*chain(length), input={"text": "x"})
    marks: list[int] = []
    with CaptureQueriesContext(connection) as queries:

        def look(given: object) -> object:
            marks.append(len(queries.captured_queries))
            return structured({"n": len(marks)})

        for number in range(1, length + 1):
            performer.does(f"s{number}", look)
        worker.drain(run_id=run_id)
    sent = shapes(queries)
    return [sent[start:end] for start, end in pairwise(marks)]


def test_a_warm_step_is_one_commit_of_four_statements_and_reads_nothing(performer: ScriptedPerformer):
    for sent in statements_per_step(performer, 6):
        assert sent == WRITE_SET


def test_a_step_costs_the_same_after_many_steps(performer: ScriptedPerformer):
    sent = statements_per_step(performer, 45)
    assert {tuple(step) for step in sent} == {tuple(WRITE_SET)}


def test_a_failed_try_and_the_next_one_are_one_commit(performer: ScriptedPerformer):
    marks: list[int] = []
    run_id = b.started(b.agent("draft", retries=1))
    with CaptureQueriesContext(connection) as queries:

        def look(given: object) -> object:
            marks.append(len(queries.captured_queries))
            return failed() if len(marks) == 1 else structured(1)

        performer.does("draft", look, look)
        b.work(run_id)
    assert shapes(queries)[slice(*marks)] == WRITE_SET


def counted(action: Callable[[], object]) -> list[str]:
    with CaptureQueriesContext(connection) as queries:
        action()
    return shapes(queries)


@pytest.fixture
def design(performer: ScriptedPerformer) -> Design:
    return b.saved(b.agent("draft"), b.approval("review"), b.agent("send"))


def test_starting_a_run_is_one_commit_and_a_bounded_number_of_statements(design: Design):
    b.begun(design)
    sent = counted(lambda: b.begun(design))
    assert sent.count("COMMIT") <= 2  # the run, then the ring
    assert sent.count("INSERT runs_event") == 1
    assert len(sent) <= 20


def test_answering_a_gate_is_one_commit_and_a_bounded_number_of_statements(design: Design):
    run_id = b.begun(design)
    b.work(run_id)
    sent = counted(lambda: b.vote(run_id, "review", "approve"))
    assert sent.count("COMMIT") <= 2
    assert (sent.count("UPDATE runs_run"), sent.count("INSERT runs_event")) == (1, 1)
    assert len(sent) <= 16


def test_reading_a_run_costs_the_same_after_any_number_of_steps(performer: ScriptedPerformer):
    costs = []
    for length in (2, 20):
        run_id = b.ran(*chain(length), name=f"flow-{length}")["run_id"]
        warm.forget()
        reader = b.person("vic", "viewer")
        costs.append(counted(lambda run_id=run_id, reader=reader: services.document_of(principal=reader, run_id=run_id)))
    assert len(costs[0]) == len(costs[1]) <= 10
    assert {sent.split()[0] for sent in costs[1]} == {"SELECT"}


def test_reading_a_run_writes_nothing(design: Design):
    run_id = b.begun(design)
    before = Run.objects.values().get(pk=run_id)
    services.read_run(principal=b.admin(), run_id=run_id)
    assert Run.objects.values().get(pk=run_id) == before


def test_a_turn_that_records_nothing_writes_nothing(design: Design):
    run_id = b.begun(design)
    sent = counted(lambda: engine.turn(run_id))
    assert not [statement for statement in sent if statement.startswith(("INSERT", "UPDATE", "DELETE"))]


def test_every_turn_leaves_seqs_without_a_gap(design: Design):
    run_id = b.begun(design)
    b.work(run_id)
    b.vote(run_id, "review", "approve")
    b.work(run_id)
    seqs = [event.seq for event in b.events_of(run_id)]
    assert seqs == list(range(1, Run.objects.get(pk=run_id).seq + 1))


def test_purging_a_run_removes_all_its_rows(design: Design):
    run_id = b.begun(design)
    b.work(run_id)
    journal.purge(run_id)
    for model in Run._meta.related_objects:
        assert not model.related_model.objects.exists(), model.related_model
    assert not Run.objects.exists()
