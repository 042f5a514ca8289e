"""The scenarios: each takes an admin of a scratch database and gives its figures."""

import statistics
import time
from collections.abc import Callable
from typing import Any

from django.contrib.auth.models import Group, User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from approvals import selectors as inboxes
from approvals import services as approvals
from hermes_workflow import services as designs
from hermes_workflow.dialects.design import validate_designer_graph
from hermes_workflow.models import Design
from hermes_workflow.rights import REVIEWER, Principal
from runs import services, worker
from runs.management.bench.crowd import crowd
from runs.management.bench.documents import chain, fifty_nodes, gated
from runs.management.bench.lateness import lateness
from runs.models import Gate

STEPS = 10
PAGE = 50
CROWDS = (1_000, 100_000, 1_000_000)


def save(principal: Principal, name: str, document: dict[str, Any]) -> Design:
    """A design to run."""
    return designs.save_design(principal=principal, name=name, document=document).design


def w1(principal: Principal, *, rounds: int = 200) -> dict[str, Any]:
    """Sequential runs of 10 trivial steps, each step committed.

    Commits and statements are those of one step more; those of starting a run and claiming its first step are counted beside them.
    """
    design = save(principal, "w1", chain(STEPS))
    shorter, longer = _written(principal, design), _written(principal, save(principal, "w1-long", chain(4 * STEPS)))
    seconds = 0.0
    for _ in range(rounds):
        began = time.perf_counter()
        _run_to_the_end(principal, design)
        seconds += time.perf_counter() - began
    commits, statements = ((long - short) / (3 * STEPS) for short, long in zip(shorter, longer, strict=True))
    return {
        "steps_per_s": round(rounds * STEPS / seconds, 1),
        "ms_per_step": round(seconds / rounds / STEPS * 1000, 4),
        "commits_per_step": round(commits, 2),
        "statements_per_step": round(statements, 2),
        "commits_per_run": shorter[0],
        "statements_per_run": shorter[1],
        "steps": rounds * STEPS,
    }


def _written(principal: Principal, design: Design) -> tuple[int, int]:
    """Commits and statements of a run, the second one: the first fills the caches."""
    _run_to_the_end(principal, design)
    with CaptureQueriesContext(connection) as captured:
        _run_to_the_end(principal, design)
    texts = [query["sql"] for query in captured.captured_queries]
    connection.queries_log.clear()
    return sum(text == "COMMIT" for text in texts), sum(text not in ("BEGIN", "BEGIN IMMEDIATE", "COMMIT") for text in texts)


def _run_to_the_end(principal: Principal, design: Design) -> None:
    run, _ = services.start_run(principal=principal, design=design, input={}, origin="cli")
    worker.drain(run_id=run.pk)


def w2(principal: Principal, *, rounds: int = 300) -> dict[str, Any]:
    """A parked run is answered by a reviewer and has finished: rights, digest, decision, turn, end."""
    reviewer = Principal(User.objects.create_user("reviewer"))
    reviewer.user.groups.add(Group.objects.get_or_create(name=REVIEWER)[0])
    design = save(principal, "w2", gated())
    took: list[float] = []
    for _ in range(rounds):
        run, _new = services.start_run(principal=principal, design=design, input={}, origin="cli")
        gate = Gate.objects.get(run=run)
        began = time.perf_counter()
        approvals.answer_gate(principal=Principal(reviewer.user), gate_id=gate.pk, answer="approve", digest=gate.digest)
        took.append((time.perf_counter() - began) * 1000)
        run.refresh_from_db()
        assert run.status == "done"
    return {
        "p50_ms": round(statistics.median(took), 3),
        "p95_ms": round(percentile(took, 95), 3),
        "answers_per_s": round(1000 / statistics.mean(took), 1),
        "answers": rounds,
    }


def w4(principal: Principal, *, crowds: tuple[int, ...] = CROWDS, rounds: int = 100) -> dict[str, Any]:
    """The first inbox page of 50 and the capped count, among ever more open gates."""
    user = User.objects.create_user("reader")
    user.groups.add(Group.objects.get_or_create(name=REVIEWER)[0], Group.objects.get_or_create(name="legal")[0])
    design = save(principal, "w4", gated())
    run, _ = services.start_run(principal=principal, design=design, input={}, origin="cli")
    page: dict[str, float] = {}
    count: dict[str, float] = {}
    open_gates = 0
    for size in crowds:
        crowd(run, user, first=open_gates, last=size)
        open_gates = size
        page[str(size)] = _median_ms(lambda: inboxes.inbox(Principal(user), limit=PAGE), rounds)
        count[str(size)] = _median_ms(lambda: inboxes.count(Principal(user), cap=100), rounds)
    smallest, largest = page[str(crowds[0])], page[str(crowds[-1])]
    return {"page_ms": page, "count_to_100_ms": count, "page_ratio": round(largest / smallest, 2)}


def _median_ms(act: Callable[[], object], rounds: int) -> float:
    act()
    took = []
    for _ in range(rounds):
        began = time.perf_counter()
        act()
        took.append((time.perf_counter() - began) * 1000)
    return round(statistics.median(took), 3)


def validate(principal: Principal, *, rounds: int = 300) -> dict[str, Any]:
    """The rulebook over a graph of 50 nodes."""
    document, took = fifty_nodes(), []
    assert validate_designer_graph(document) == []
    for _ in range(rounds):
        began = time.perf_counter()
        validate_designer_graph(document)
        took.append((time.perf_counter() - began) * 1e6)
    edges = sum(len(node.get("after", ())) for node in document["nodes"])
    return {
        "nodes": len(document["nodes"]),
        "edges": edges,
        "median_us": round(statistics.median(took), 1),
        "p95_us": round(percentile(took, 95), 1),
    }


def percentile(values: list[float], of: int) -> float:
    """The value that `of` per cent do not exceed."""
    return sorted(values)[min(len(values) - 1, len(values) * of // 100)]


def w5(principal: Principal) -> dict[str, Any]:
    """How late the runs of 10,000 hourly schedules start; their design parks at a gate at once."""
    return lateness(principal, save(principal, "w5", gated()))


SCENARIOS: dict[str, Callable[[Principal], dict[str, Any]]] = {"w1": w1, "w2": w2, "w4": w4, "w5": w5, "validate": validate}
