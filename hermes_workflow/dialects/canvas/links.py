"""Rules about the connections of a canvas: their ends, and how all nodes hang together."""

from collections.abc import Iterator

from hermes_workflow.core.text import shorten
from hermes_workflow.dialects.canvas.issues import Issue, edge_issue, issue, node_issue
from hermes_workflow.dialects.canvas.nodes import INPUT, OUTPUT, Canvas
from hermes_workflow.dialects.order import cycles


def objects(canvas: Canvas) -> Iterator[Issue]:
    """`shape`: every connection is an object."""
    for kind, name, value in canvas.strays:
        if kind == "edge_id":
            yield edge_issue("shape", name, "a connection must be an object", value)


def ends(canvas: Canvas) -> Iterator[Issue]:
    """`edge_node`: a connection's source and target are nodes of this canvas."""
    for link in canvas.links:
        for side, found in (("source", link.source), ("target", link.target)):
            if not found:
                yield edge_issue("edge_node", link.name, f"the {side} of a connection must be a node of this canvas", link.raw.get(side))


def handles(canvas: Canvas) -> Iterator[Issue]:
    """`edge_handle`: a connection goes from an output on the right to an input on the left."""
    for link in canvas.links:
        if not link.drawn:
            got = f"{shorten(link.raw.get('sourceHandle') or OUTPUT)} to {shorten(link.raw.get('targetHandle') or INPUT)}"
            yield edge_issue("edge_handle", link.name, f"a connection must go from an output to an input, got {got}")


def once(canvas: Canvas) -> Iterator[Issue]:
    """`duplicate`: two nodes are connected once."""
    seen: set[tuple[str, str]] = set()
    for link in canvas.links:
        pair = (link.source, link.target)
        if not (all(pair) and link.drawn):
            continue
        if pair in seen:
            source, target = (_shown(canvas, end) for end in pair)
            yield edge_issue("duplicate", link.name, f"{source} and {target} are connected already")
        seen.add(pair)


def connected(canvas: Canvas) -> Iterator[Issue]:
    """`disconnected`: with more than one node, each is connected to another."""
    if len(canvas.by_id) < 2:
        return
    joined = {end for link in canvas.joined for end in (link.source, link.target)}
    for key, node in canvas.by_id.items():
        if key not in joined:
            yield node_issue("disconnected", node.name, f"{_shown(canvas, key)} must be connected to another node")


def one_flow(canvas: Canvas) -> Iterator[Issue]:
    """`islands`: the nodes that are connected form one flow, whichever way the connections go."""
    flows = _flows(canvas)
    if len(flows) > 1:
        named = "; ".join(", ".join(_shown(canvas, key) for key in flow[:3]) + ("…" if len(flow) > 3 else "") for flow in flows[:3])
        yield issue("islands", f"all nodes must be connected into one flow, found {len(flows)}: {named}")


def _flows(canvas: Canvas) -> list[list[str]]:
    beside: dict[str, list[str]] = {}
    for link in canvas.joined:
        beside.setdefault(link.source, []).append(link.target)
        beside.setdefault(link.target, []).append(link.source)
    found: list[list[str]] = []
    seen: set[str] = set()
    for key in beside:
        if key in seen:
            continue
        seen.add(key)
        found.append([key])
        for one in found[-1]:  # grows while it is read
            fresh = [other for other in dict.fromkeys(beside[one]) if other not in seen]
            seen.update(fresh)
            found[-1].extend(fresh)
    return found


def acyclic(canvas: Canvas) -> Iterator[Issue]:
    """`cycle`: following the connections never leads back; each cycle is shown as its path in run order."""
    for cycle in cycles(canvas.parents):
        path = " -> ".join(shorten(canvas.by_id[key].name)[1:-1] for key in (*cycle, cycle[0]))
        yield node_issue("cycle", canvas.by_id[cycle[0]].name, f"connections must not lead back, got a cycle: {path}")


def _shown(canvas: Canvas, key: str) -> str:
    title = canvas.by_id[key].data.get("title")
    return shorten(title if isinstance(title, str) and title.strip() else canvas.by_id[key].name, 60)
