"""The doors of the task queue: a ring drains due work, the schedule beats the pulse. Tasks carry ids only."""

from runs import health, worker
from runs import pulse as pulses


def drain(run_id: str | None = None) -> int:
    """Perform due attempts, those of `run_id` first."""
    return worker.drain(run_id=run_id)


def pulse() -> None:
    """One beat; the task queue's own schedule calls it each minute."""
    pulses.beat()


def canary() -> None:
    """Prove that tasks are taken and run."""
    health.sign(health.WORKERS)
