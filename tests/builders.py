"""Designs, people and runs for tests, each with as little said as the test is about."""

from typing import Any

from django.contrib.auth.models import Group, User

from hermes_workflow import services as designs
from hermes_workflow.core import events as e
from hermes_workflow.core.events import Event
from hermes_workflow.core.history import History
from hermes_workflow.core.plan import Plan
from hermes_workflow.core.scheduler import tests_for
from hermes_workflow.dialects.design import build_run_plan
from hermes_workflow.models import Design, Profile
from hermes_workflow.rights import ADMIN, Principal
from runs import engine, services, warm, worker
from runs.engine import Turn
from runs.models import Event as EventRow
from runs.models import Run

SCRIPTED = "scripted"
Node = dict[str, Any]


def trigger(id_: str = "start", **more: Any) -> Node:
    """Where a design begins."""
    return {"id": id_, "type": "trigger", **more}


def agent(id_: str, *after: str, **more: Any) -> Node:
    """An agent step; without parents it follows the node before it."""
    return _node(id_, "agent", after, {"prompt": f"do {id_}", **more})


def condition(id_: str, expression: str, *after: str, **more: Any) -> Node:
    """A condition."""
    return _node(id_, "condition", after, {"expression": expression, **more})


def approval(id_: str, *after: str, **more: Any) -> Node:
    """A gate."""
    return _node(id_, "approval", after, {"question": f"{id_}?", **more})


def output(id_: str, *after: str, **more: Any) -> Node:
    """An output."""
    return _node(id_, "output", after, more)


def note(id_: str, **more: Any) -> Node:
    """A note."""
    return {"id": id_, "type": "note", **more}


def _node(id_: str, kind: str, after: tuple[str, ...], more: dict[str, Any]) -> Node:
    placed = {"after": list(after)} if after else {}
    return {"id": id_, "type": kind, **placed, **more}


def design(*nodes: Node) -> dict[str, Any]:
    """A document: a trigger is put first if there is none, and a node without `after` follows the one before it."""
    given = list(nodes) if any(node["type"] == "trigger" for node in nodes) else [trigger(), *nodes]
    placed: list[Node] = []
    for node in given:
        follows = {} if node["type"] in ("trigger", "note") or "after" in node else {"after": [placed[-1]["id"]]}
        placed.append({**node, **follows})
    return {"nodes": placed}


def plan(*nodes: Node) -> Plan:
    """What `design(*nodes)` compiles to."""
    return build_run_plan(design(*nodes))


def profile(name: str = "default", performer: str = SCRIPTED, **more: Any) -> Profile:
    """A profile that everybody belongs to; the fixture `performer` does its steps."""
    found, _ = Profile.objects.update_or_create(name=name, defaults={"performer": performer, "is_open": True, **more})
    return found


def person(name: str, *roles: str) -> Principal:
    """A user who has the roles."""
    user, _ = User.objects.get_or_create(username=name)
    user.groups.add(*(Group.objects.get_or_create(name=role)[0] for role in roles))
    return Principal(user)


def admin() -> Principal:
    """Somebody who may do everything."""
    return person("root", ADMIN)


def saved(*nodes: Node, name: str = "flow", **more: Any) -> Design:
    """The design of that name with these nodes as its current version."""
    if not Profile.objects.filter(name="default").exists():
        profile()
    return designs.save_design(principal=admin(), name=name, document=design(*nodes), **more).design


def started(*nodes: Node, by: Principal | None = None, name: str = "flow", **more: Any) -> str:
    """A run of the nodes, as far as it goes without a performer. Returns its id."""
    return begun(saved(*nodes, name=name), by=by, **more)


def begun(chosen: Design, by: Principal | None = None, **more: Any) -> str:
    """A run of a saved design. Returns its id."""
    run, _ = services.start_run(principal=by or admin(), design=chosen, **{"origin": "api", **more})
    return run.pk


def work(run_id: str | None = None) -> int:
    """Let a worker do what is due. Returns how many attempts."""
    return worker.drain(run_id=run_id)


def ran(*nodes: Node, **more: Any) -> dict[str, Any]:
    """The run document after everything that is due was done."""
    run_id = started(*nodes, **more)
    work(run_id)
    return document(run_id)


def document(run_id: str) -> dict[str, Any]:
    """The run document as it stands."""
    return services.document_of(principal=admin(), run_id=run_id)


def read(run_id: str) -> dict[str, Any]:
    """The run document, read as any door reads it: deadlines honoured."""
    return services.read_run(principal=admin(), run_id=run_id)


def vote(run_id: str, key: str, answer: str, *, by: str = "ann", left: int | None = None, comment: str = "") -> Turn:
    """One person's answer, taken in as a fact."""

    def take_in(turn: Turn) -> None:
        data = {"round": turn.history.gates[key].round, "by": f"#{by}", "name": by, "answer": answer, "comment": comment}
        turn.record(Event(e.GATE_VOTED, key, {**data, "channel": "test", "left": left}))

    return engine.turn(run_id, take_in)


def performed(run_id: str, key: str, value: Any, *, structured: bool = True) -> Turn:
    """The chat agent's result for a parked agent step, taken in as facts."""

    def take_in(turn: Turn) -> None:
        gate, number = turn.history.gates[key], turn.history.state(key).number + 1
        turn.record(Event(e.GATE_ANSWERED, key, {"round": gate.round, "by": "bot", "name": "bot", "answer": ""}))
        data = {"number": number, "structured": structured, "tests": tests_for(turn.plan, key, value), "by": "bot"}
        turn.record(Event(e.STEP_COMPLETED, key, data, body=value))

    return engine.turn(run_id, take_in)


def events_of(run_id: str) -> list[Event]:
    """The stored history."""
    rows = EventRow.objects.filter(run_id=run_id).order_by("seq").values("type", "key", "data", "at", "seq", "v", "body")
    return [Event(**row) for row in rows]


def types_of(run_id: str) -> list[str]:
    """What happened, by name."""
    return [event.type for event in events_of(run_id)]


def history_of(run_id: str) -> History:
    """The fold of the stored events, from scratch."""
    run = Run.objects.get(pk=run_id)
    return History(warm.plan_of(run.plan_id), events_of(run_id))
