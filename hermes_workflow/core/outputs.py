"""The output of each node, put together from the history and the bodies of the events that hold them."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from hermes_workflow.core.history import History
from hermes_workflow.core.states import FALSE, PASSED

INPUT_SEQ = 1


def seqs_for(history: History, keys: Iterable[str]) -> set[int]:
    """The events whose bodies the outputs of `keys` need."""
    found: set[int] = set()
    for key in keys:
        if key == history.plan.trigger:
            found.add(INPUT_SEQ)
            continue
        state = history.steps.get(key)
        if state is None or not state.outcome:
            continue
        if "collect" in state.data:
            found |= seqs_for(history, map(partial(_today, history), state.data["collect"]))
        elif state.body_seq:
            found.add(state.body_seq)
    return found


def _today(history: History, collected: str) -> str:
    """A collected parent by its present name: one that is no step was the trigger, which a later version may call otherwise."""
    return collected if collected in history.steps else history.plan.trigger


def has_output(history: History, key: str) -> bool:
    """Whether a node ran to an output; a false condition has one, a skipped or failed step has none."""
    return key == history.plan.trigger or history.outcome(key) in (PASSED, FALSE)


def output_of(history: History, bodies: Mapping[int, Any], key: str) -> Any:
    """The value of one node that has an output."""
    if key == history.plan.trigger:
        return bodies.get(INPUT_SEQ)
    data = history.steps[key].data
    if "collect" in data:
        return {parent: output_of(history, bodies, _today(history, parent)) for parent in data["collect"]}
    if "result" in data:
        return {"result": data["result"]}
    if "answer" in data:
        return answer_output(data)
    return bodies.get(history.steps[key].body_seq)


def answer_output(data: Mapping[str, Any]) -> dict[str, Any]:
    """The output of a gate, as later steps and conditions read it."""
    return {"answer": data["answer"], "comment": data.get("comment", ""), "by": data.get("name", "")}


def outputs(history: History, bodies: Mapping[int, Any]) -> dict[str, Any]:
    """`{node: value}` of every step that has one, in plan order."""
    return {step.id: output_of(history, bodies, step.id) for step in history.plan.steps if has_output(history, step.id)}
