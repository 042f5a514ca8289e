"""Rules about one node and its fields; null counts as absent, unknown keys are nobody's business."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from hermes_workflow.core.text import shorten
from hermes_workflow.dialects.defects import Defect, defect
from hermes_workflow.dialects.design.nodes import DEFAULT_OPTIONS, KINDS, MAX_ID, Graph, Named, nfc, usable_id

MAX_RETRIES = 3
MAX_MINUTES = 4320
MAX_LINE = 200
MAX_ITEMS = 100
SLUG = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}\Z")
JOINS = ("all", "any")
TIMEOUTS = ("reject", "escalate")
DELIVERIES = ("notification", "channel")
COLORS = ("yellow", "blue", "green", "red", "")
_PERSON = re.compile(r"(?:user|group):\S")
_PEOPLE = 'must be "user:name" or "group:name"'


def objects(graph: Graph) -> Iterator[Defect]:
    """Every node is an object."""
    for name, value in graph.strays:
        yield defect(name, "", "must be an object", value)


def ids(graph: Graph) -> Iterator[Defect]:
    """Every node has an id: 1-128 characters, no surrounding space, no control, bidirectional or zero-width character."""
    for name, node in graph.nameless:
        yield defect(name, "id", f"must be text of 1-{MAX_ID} visible characters without surrounding space", node.get("id"))


def unique_ids(graph: Graph) -> Iterator[Defect]:
    """An id is used once, compared after Unicode normalisation (NFC)."""
    if len(graph.by_id) == len(graph.all):
        return
    for name, node in graph.all:
        id_: Any = node.get("id")
        if usable_id(id_) and graph.by_id[nfc(id_)][1] is not node:
            yield defect(name, "id", f"must be unique: {shorten(id_)} is already the id of another node")


def one_trigger(graph: Graph) -> Iterator[Defect]:
    """There is exactly one trigger."""
    names = [name for name, _ in graph.of["trigger"]]
    if len(names) != 1:
        listed = f" ({', '.join(shorten(name, 24) for name in names[:3])})" if names else ""
        yield defect("", "trigger", f"exactly one trigger is needed, found {len(names)}{listed}")


def known_kinds(graph: Graph) -> Iterator[Defect]:
    """A node's type is trigger, agent, condition, approval, output or note."""
    if sum(map(len, graph.of.values())) == len(graph.all):
        return
    for name, node in graph.all:
        kind = node.get("type")
        if not isinstance(kind, str) or kind not in KINDS:
            yield defect(name, "type", f"must be one of {', '.join(KINDS)}", kind)


def required_texts(graph: Graph) -> Iterator[Defect]:
    """An agent has a prompt, a condition an expression, an approval a question: text that is not blank."""
    for kind, field in (("agent", "prompt"), ("condition", "expression"), ("approval", "question")):
        for name, node in graph.of[kind]:
            text = node.get(field)
            if not isinstance(text, str) or not text or text.isspace():
                yield defect(name, field, "is required: text that is not blank", *(() if text is None else (text,)))


def joins(graph: Graph) -> Iterator[Defect]:
    """A step's join is all or any: whether every parent must have run, or one of them."""
    return _each(graph.steps, "join", _one_of(JOINS), f"must be {' or '.join(JOINS)}")


def retries(graph: Graph) -> Iterator[Defect]:
    """An agent's retries is a whole number from 0 to 3."""
    return _counts(graph.of["agent"], "retries", 0, MAX_RETRIES)


def time_limits(graph: Graph) -> Iterator[Defect]:
    """The timeout_minutes of an agent or an approval is a whole number from 1 to 4320 (three days)."""
    yield from _counts(graph.of["agent"], "timeout_minutes", 1, MAX_MINUTES)
    yield from _counts(graph.of["approval"], "timeout_minutes", 1, MAX_MINUTES)


def performers(graph: Graph) -> Iterator[Defect]:
    """An agent's profile is the slug of a profile, its model the name of a model, its schema an object."""
    agents = graph.of["agent"]
    yield from _each(agents, "profile", _slug, "must be a profile's slug: 1-64 of a-z 0-9 _ . -, starting with a letter or digit")
    yield from _each(agents, "model", _line, f"must be a model's name of at most {MAX_LINE} characters")
    yield from _each(agents, "schema", lambda value: isinstance(value, dict), "must be a JSON Schema object")


def options(graph: Graph) -> Iterator[Defect]:
    """An approval's options are a list of 1-100 unique texts, not blank and at most 200 characters; absent means approve and reject."""
    for name, node in graph.of["approval"]:
        offered = node.get("options")
        if offered is None:
            continue
        if not isinstance(offered, list) or not 0 < len(offered) <= MAX_ITEMS:
            yield defect(name, "options", f"must be a list of 1-{MAX_ITEMS} texts", offered)
            continue
        seen: set[str] = set()
        for option in offered:
            if not isinstance(option, str) or not 0 < len(option) <= MAX_LINE or option.isspace():
                yield defect(name, "options", f"each must be text of 1-{MAX_LINE} characters that is not blank", option)
            elif option in seen:
                yield defect(name, "options", f"each must be unique: {shorten(option)} is offered twice")
            else:
                seen.add(option)


def stop_options(graph: Graph) -> Iterator[Defect]:
    """An approval's stop_on lists some of its options: the ones that fail the run."""
    for name, node in graph.of["approval"]:
        stops, offered = node.get("stop_on"), node.get("options")
        if stops is None:
            continue
        if not isinstance(stops, list):
            yield defect(name, "stop_on", "must be a list of options", stops)
            continue
        known = DEFAULT_OPTIONS if offered is None else offered if isinstance(offered, list) else ()
        for stop in stops:
            if not isinstance(stop, str) or stop not in known:
                yield defect(name, "stop_on", "must name options of this approval", stop)


def deadlines(graph: Graph) -> Iterator[Defect]:
    """An approval's on_timeout is reject or escalate, its escalate_to "user:name" or "group:name", its relay true or false."""
    gates = graph.of["approval"]
    yield from _each(gates, "on_timeout", _one_of(TIMEOUTS), f"must be {' or '.join(TIMEOUTS)}")
    yield from _each(gates, "escalate_to", lambda value: value == "" or _person(value), _PEOPLE)
    yield from _each(gates, "relay", lambda value: isinstance(value, bool), "must be true or false")


def voters(graph: Graph) -> Iterator[Defect]:
    """An approval's assignees are up to 100 of "user:name" or "group:name", its quorum a whole number from 1 to 100 they can reach."""
    for name, node in graph.of["approval"]:
        people, quorum = node.get("assignees"), node.get("quorum")
        if people is not None:
            yield from _assignees(name, people)
        if quorum is None:
            continue
        if type(quorum) is not int or not 1 <= quorum <= MAX_ITEMS:
            yield defect(name, "quorum", f"must be a whole number from 1 to {MAX_ITEMS}", quorum)
        elif (reach := _reach(people)) < quorum:
            yield defect(name, "quorum", f"must not be above the number of assignees, which is {reach}", quorum)


def _assignees(name: str, people: Any) -> Iterator[Defect]:
    if not isinstance(people, list) or len(people) > MAX_ITEMS:
        yield defect(name, "assignees", f"must be a list of at most {MAX_ITEMS}, each {_PEOPLE[8:]}", people)
        return
    for person in people:
        if not _person(person):
            yield defect(name, "assignees", f"each {_PEOPLE}", person)


def _reach(people: Any) -> int:
    """How many votes there can be; a group may hold any number."""
    if not isinstance(people, list) or not people or not all(isinstance(person, str) and person.startswith("user:") for person in people):
        return MAX_ITEMS
    return len(set(people))


def deliveries(graph: Graph) -> Iterator[Defect]:
    """An output's deliver is notification (target "user:name", "group:name" or none) or channel (target "platform:chat_id")."""
    for name, node in graph.of["output"]:
        deliver, target = node.get("deliver"), node.get("target")
        if deliver is not None and (not isinstance(deliver, str) or deliver not in DELIVERIES):
            yield defect(name, "deliver", f"must be {' or '.join(DELIVERIES)}", deliver)
        elif deliver == "channel" and not _channel(target):
            yield defect(name, "target", 'must be "platform:chat_id" for a channel', target)
        elif deliver == "notification" and target not in (None, "") and not _person(target):
            yield defect(name, "target", f"{_PEOPLE} for a notification, or absent for whoever started the run", target)
        elif target is not None and not isinstance(target, str):
            yield defect(name, "target", "must be text", target)


def triggers(graph: Graph) -> Iterator[Defect]:
    """A trigger's cron and timezone are short texts, its hook the slug of an inbound webhook, its schema for what comes in an object."""
    nodes = graph.of["trigger"]
    yield from _each(nodes, "cron", _line, f"must be text of at most {MAX_LINE} characters")
    yield from _each(nodes, "timezone", _line, f"must be text of at most {MAX_LINE} characters")
    yield from _each(nodes, "hook", _slug, "must be the slug of a webhook: 1-64 of a-z 0-9 _ . -, starting with a letter or digit")
    yield from _each(nodes, "schema", lambda value: isinstance(value, dict), "must be a JSON Schema object")


def notes(graph: Graph) -> Iterator[Defect]:
    """A note's text is text; its color is yellow, blue, green, red or empty."""
    yield from _each(graph.of["note"], "text", lambda value: isinstance(value, str), "must be text")
    yield from _each(graph.of["note"], "color", _one_of(COLORS), f"must be {', '.join(COLORS[:4])} or empty")


def _counts(nodes: list[Named], field: str, low: int, high: int) -> Iterator[Defect]:
    allowed = range(low, high + 1)
    for name, node in nodes:
        value = node.get(field)
        if value is not None and (type(value) is not int or value not in allowed):
            yield defect(name, field, f"must be a whole number from {low} to {high}", value)


def _each(nodes: list[Named], field: str, holds: Callable[[Any], bool], accepted: str) -> Iterator[Defect]:
    for name, node in nodes:
        value = node.get(field)
        if value is not None and not holds(value):
            yield defect(name, field, accepted, value)


def _one_of(words: tuple[str, ...]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and value in words


def _line(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= MAX_LINE


def _slug(value: Any) -> bool:
    return isinstance(value, str) and (value == "" or SLUG.match(value) is not None)


def _person(value: Any) -> bool:
    return _line(value) and _PERSON.match(value) is not None


def _channel(value: Any) -> bool:
    if not _line(value):
        return False
    platform, _, chat = value.partition(":")
    return bool(platform.strip() and chat.strip())
