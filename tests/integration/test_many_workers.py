"""Several worker processes at once on one database."""

import time
from collections import Counter
from pathlib import Path

import pytest

from runs.models import Attempt, Run
from tests import builders as b
from tests.crashing import nursery
from tests.processes import eventually

pytestmark = pytest.mark.django_db(transaction=True)


def all_done() -> bool:
    return not Run.objects.exclude(status__in=("done", "failed")).exists()


def test_four_workers_under_load_never_meet_a_locked_database(tmp_path: Path):
    design = b.saved(*[b.agent(f"s{number}") for number in range(5)], b.approval("review"), b.agent("last"))
    started = [b.begun(design) for _ in range(20)]
    with nursery(tmp_path, lease=30) as workers:
        for seed in range(4):
            workers.fork(seed, milliseconds=2)
        started += [b.begun(design) for _ in range(20)]
        answered: set[str] = set()
        end = time.monotonic() + 60
        while len(answered) < len(started):
            assert time.monotonic() < end
            for run_id in Run.objects.filter(status="awaiting_approval").values_list("pk", flat=True):
                b.vote(run_id, "review", "approve")
                answered.add(run_id)
        eventually(all_done, within=60, what="the end of every run")
        assert "locked" not in workers.errors()
        assert "Traceback" not in workers.errors()
        performed = Counter(workers.performed())
    assert set(performed.values()) == {1}
    assert len(performed) == 6 * len(started)
    assert Run.objects.filter(status="done").count() == len(started)


def test_of_eight_workers_one_claims_a_step(tmp_path: Path):
    with nursery(tmp_path, lease=30) as workers:
        for seed in range(8):
            workers.fork(seed, milliseconds=1)
        for _ in range(10):
            b.started(b.agent("only"))
        eventually(all_done, within=30, what="the end of every run")
        performed = Counter(workers.performed())
    assert set(performed.values()) == {1}
    assert set(Attempt.objects.values_list("claims", "fence", "status")) == {(1, 1, "done")}
