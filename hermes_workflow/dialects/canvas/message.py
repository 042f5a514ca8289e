"""The one message that a canvas node is given: what the nodes before it answered, its skills, its task, and its images."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hermes_workflow.core.plan import Plan, Step
from hermes_workflow.core.prompts import RENDERED_LIMIT, as_text

SYSTEM_CONTEXT = """\
You are executing one node in a workflow.

Work on the current node task alone. The upstream results in the message are context: use them, and do not do that work again. \
Where they contradict each other, say so and go on with the answer that is best supported.

Return the result of this node clearly and in few words, and leave the workflow itself out of it unless the task is about it."""
NO_TASK = "Execute the current workflow node."
SHORTEST_RESULT = 1_000
IMAGE_TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}


def message(plan: Plan, step: Step, *, results: Mapping[str, Any], given: str | None, skills: Mapping[str, str]) -> str:
    """The text for a step: upstream results in the order of the connections, the selected skills, the current task.

    `results` holds the outputs of the nodes before it; `given` is what the run was started with, and takes the place of the task of a
    node that the run starts at; `skills` is the text of each selected skill. Results that would push the task out are cut, visibly.
    """
    task = [*_skills(step, skills), "", "[Current task]", _task(step, given)]
    upstream = [(_called(plan, edge.source), as_text(results.get(edge.source, ""))) for edge in plan.parents[step.id]]
    room = RENDERED_LIMIT - sum(map(len, task)) - 100 * len(upstream)
    return "\n".join([*_upstream(upstream, room), *task]).strip()


def _upstream(results: list[tuple[str, str]], room: int) -> Iterator[str]:
    if results:
        yield "[Workflow upstream results]"
    fits = sum(len(text) for _, text in results) <= room
    most = max(SHORTEST_RESULT, room // max(1, len(results)))
    for title, text in results:
        yield from ("", f"[Upstream: {title}]", text if fits or len(text) <= most else _cut(text, most))


def _cut(text: str, most: int) -> str:
    return f"{text[:most]}\n[{len(text) - most} characters left out]"


def _skills(step: Step, texts: Mapping[str, str]) -> Iterator[str]:
    if names := step.spec["skills"]:
        yield from ("", "[Workflow selected skills]")
        for name in names:
            yield from ("", f"[Skill: {name}]", texts[name])


def _task(step: Step, given: str | None) -> str:
    task = step.spec["prompt"] if given is None else given
    return task if task.strip() else NO_TASK


def _called(plan: Plan, key: str) -> str:
    return plan.step[key].spec["title"] or key


def given_to(plan: Plan, step: Step, started: Mapping[str, Any], value: Any) -> str | None:
    """What of the run's input is for this step: all of it where the run starts, nothing below; an empty input is none.

    `started` is what the run's first event says, and `value` its input: `text` of it where there is one, else the whole as JSON.
    """
    starts = started.get("starts") or [first.id for first in plan.steps if not plan.parents[first.id]]
    if not value or step.id not in starts:
        return None
    return value["text"] if isinstance(value, Mapping) and isinstance(value.get("text"), str) else as_text(value)


def images_of(paths: Iterable[str]) -> tuple[dict[str, str], ...]:
    """The image blocks of a node's attachments, `{type, name, path, media_type}`: other files are never sent as images."""
    found = []
    for path in paths:
        name = path.replace("\\", "/").rsplit("/", 1)[-1]
        if media_type := IMAGE_TYPES.get(name[name.rfind(".") :].lower() if "." in name else ""):
            found.append({"type": "image", "name": name, "path": path, "media_type": media_type})
    return tuple(found)
