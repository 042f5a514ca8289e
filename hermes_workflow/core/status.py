"""The status of a run as its history gives it."""

from hermes_workflow.core.history import History


def status_of(history: History) -> str:
    """running, awaiting_approval, awaiting_agent, waiting, done, failed or cancelled."""
    if history.ended:
        return history.ended
    if history.stuck:
        return "waiting"
    if history.open_attempts or history.undecided:
        return "running"
    kinds = {history.gates[key].kind for key in history.open_gates}
    if kinds - {"agent"}:
        return "awaiting_approval"
    return "awaiting_agent" if kinds else "waiting"
