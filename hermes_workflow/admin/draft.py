"""From the editor's form to a document: what was typed is laid over the document the form was made from."""

import re
from collections.abc import Mapping
from typing import Any

from django.http import QueryDict

from hermes_workflow.admin.looks import ABSENT, LOOKS, pretty, read_back
from hermes_workflow.admin.moves import rename
from hermes_workflow.admin.node_fields import AFTER, ID, KIND, OWN, NodeField, fields_of
from hermes_workflow.core.documents import LIMIT, read_json
from hermes_workflow.core.errors import Malformed, TooLarge
from hermes_workflow.core.text import shorten
from hermes_workflow.dialects.design.nodes import MAX_NODES, usable_id
from hermes_workflow.fields import dumps

RAW = "~json"
WHOLE_NODE = "node"
META = frozenset({"csrfmiddlewaretoken", "action", "mode", "source", "document", "base_version", "dirty"})
DETAILS = frozenset({"name", "title", "description", "profile", "note", "separate_duties"})
_NODE_FIELD = re.compile(r"n([0-9]{1,2})-([a-z_]{1,32})(~json)?\Z")
_KNOWN = {field.name for own in OWN.values() for field in own} | {ID.name, KIND.name, AFTER.name, WHOLE_NODE}


def refuse_unknown(data: Mapping[str, Any]) -> None:
    """A form has the fields that we gave it. Raises Malformed naming the first other one."""
    for name in data:
        found = _NODE_FIELD.match(name)
        if name not in META and name not in DETAILS and not (found and found[2] in _KNOWN):
            raise Malformed(f"{shorten(name)[1:-1]}: unknown or read-only field")


def has_fields(document: Any) -> bool:
    """Whether the document can be shown as typed fields at all."""
    nodes = document.get("nodes") if isinstance(document, dict) else None
    return isinstance(nodes, list) and len(nodes) <= MAX_NODES


def document_of(data: QueryDict) -> Any:
    """The document that the form says. Raises Malformed or TooLarge for text that is no JSON."""
    if data.get("mode") == "json":
        return read_json(data.get("document", ""))
    source = read_json(data.get("source", ""))
    if not has_fields(source):
        return source
    nodes = [_node(data, index, node) for index, node in enumerate(source["nodes"])]
    changed = rename({**source, "nodes": nodes}, _new_names(source["nodes"], nodes))
    if len(dumps(changed).encode("utf-8", "replace")) > LIMIT:
        raise TooLarge(f"document: at most {LIMIT:,} bytes")
    return changed


def _node(data: QueryDict, index: int, node: Any) -> Any:
    prefix = f"n{index}-"
    if not isinstance(node, dict):
        return _changed(data, NodeField(WHOLE_NODE, "", "json"), prefix, node)
    changed = dict(node)
    for field in fields_of(node.get("type"), after="after" in node):
        value = _changed(data, field, prefix, node.get(field.name, ABSENT))
        if value is not ABSENT:
            changed[field.name] = value
        else:
            changed.pop(field.name, None)
    return changed


def _changed(data: QueryDict, field: NodeField, prefix: str, before: Any) -> Any:
    name = prefix + field.name
    if name + RAW in data:
        return read_back("json", data.getlist(name + RAW), before)
    return read_back(field.look, data.getlist(name), before) if name in data else before


def _new_names(before: list[Any], after: list[Any]) -> dict[str, str]:
    """Nodes with an id of their own that now have another of their own."""
    old, new = _ids(before), _ids(after)
    pairs = zip(old, new, strict=True)
    return {was: now for was, now in pairs if was != now and _own(was, old) and _own(now, new)}


def _ids(nodes: list[Any]) -> list[Any]:
    return [node.get("id") if isinstance(node, dict) else None for node in nodes]


def _own(id_: Any, ids: list[Any]) -> bool:
    return usable_id(id_) and ids.count(id_) == 1


def shown(field: NodeField, value: Any) -> tuple[str, str | list[str]]:
    """How a field shows a value: its look, or `json` for a value that its look cannot give back, and the text or texts in it."""
    look = LOOKS[field.look]
    if look.fits(value):
        return field.look, look.show(value) or ("" if field.look != "set" else [])
    return "json", pretty(value)
