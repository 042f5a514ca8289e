"""The doors of the task queue: a ring drains due work, the schedule beats the pulse. Tasks carry ids only."""

from runs import crew, health
from runs import pulse as pulses

PATIENCE = 1.0  # seconds: a longer step goes on without the task, which makes room for the next


def drain(run_id: str | None = None) -> int:
    """Have due attempts performed, those of `run_id` first. Returns how many were before the task was over."""
    health.sign_again(health.WORKERS)
    shift = crew.of_this_process().work(run_id)
    if shift is None:
        return 0
    shift.join(PATIENCE)
    return shift.done


def pulse() -> None:
    """One beat; the task queue's own schedule calls it each minute."""
    pulses.beat()


def canary() -> None:
    """Prove that tasks are taken and run."""
    health.sign(health.WORKERS)
