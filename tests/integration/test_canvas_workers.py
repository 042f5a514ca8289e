"""Branches of a canvas across several worker processes: they overlap, and a killed worker loses and doubles nothing."""

from collections import Counter
from pathlib import Path

import pytest

from runs import projections, pulse
from runs.models import Run, Session
from tests import builders as b
from tests import canvas as c
from tests.crashing import nursery
from tests.processes import eventually

pytestmark = pytest.mark.django_db(transaction=True)

WIDE = [f"start>{key}>{key}{key}>end" for key in "abcd"]


def all_done() -> bool:
    return not Run.objects.exclude(status__in=("done", "failed")).exists()


def test_worker_processes_perform_branches_at_the_same_time(tmp_path: Path):
    design = c.saved("a>c", "b>c")
    with nursery(tmp_path, lease=30) as workers:
        for seed in range(2):
            workers.fork(seed, milliseconds=1500)
        runs = [b.begun(design) for _ in range(3)]
        eventually(all_done, within=60, what="the end of every run")
        assert "Traceback" not in workers.errors()
    overlaps = 0
    for run_id in runs:
        one, other, last = (Session.objects.select_related("attempt").get(attempt__run_id=run_id, attempt__key=key) for key in "abc")
        together = max(one.started_at, other.started_at) < min(one.ended_at, other.ended_at)
        overlaps += together and one.attempt.worker != other.attempt.worker
        assert last.started_at >= max(one.ended_at, other.ended_at)
    assert overlaps


def test_many_branches_settle_from_four_processes_each_once(tmp_path: Path):
    design = c.saved(*WIDE)
    with nursery(tmp_path, lease=30) as workers:
        for seed in range(4):
            workers.fork(seed, milliseconds=3)
        runs = [b.begun(design) for _ in range(12)]
        eventually(all_done, within=60, what="the end of every run")
        assert "locked" not in workers.errors()
        assert "Traceback" not in workers.errors()
        performed = Counter(workers.performed())
    assert set(performed.values()) == {1}
    assert len(performed) == 10 * len(runs)
    assert set(Run.objects.values_list("status", flat=True)) == {"done"}
    for run in Run.objects.select_related("version"):
        assert not projections.differences(run)


@pytest.mark.crash
def test_killed_workers_lose_and_double_no_branch(tmp_path: Path):
    design = c.saved(*WIDE)
    with nursery(tmp_path, lease=0.6) as workers:
        runs = [b.begun(design) for _ in range(8)]
        for seed in range(24):
            workers.fork(seed, milliseconds=4, suicidal=80)
        for seed in range(3):
            workers.fork(100 + seed, milliseconds=4)

        def over() -> bool:
            pulse.beat()
            return all_done()

        eventually(over, within=90, what="the end of every run")
    for run_id in runs:
        run = Run.objects.select_related("version").get(pk=run_id)
        if run.status == "failed":  # three workers died at one step in a row
            assert run.error["kind"] == "worker_lost"
            continue
        assert run.status == "done"
        completed = Counter(event.key for event in b.events_of(run_id) if event.type == "step.completed")
        assert completed == Counter(step["id"] for step in run.plan.body["steps"])
        assert not projections.differences(run)
