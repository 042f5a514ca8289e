"""The order that graphs run in: a stable topological order, and the cycles where there is none."""

from collections.abc import Iterable, Iterator, Mapping
from heapq import heapify, heappop, heappush

from hermes_workflow.core.text import shorten

Parents = Mapping[str, Iterable[str]]


def ordered(ids: list[str], links: Iterable[tuple[str, str]]) -> list[str]:
    """A topological order that takes the lowest index first; links are `(from, to)`. Raises ValueError for a cycle."""
    index = {id_: at for at, id_ in enumerate(ids)}
    waits = dict.fromkeys(ids, 0)
    below: dict[str, list[str]] = {id_: [] for id_ in ids}
    for source, target in links:
        waits[target] += 1
        below[source].append(target)
    ready = [index[id_] for id_, count in waits.items() if not count]
    heapify(ready)
    found = []
    while ready:
        found.append(ids[heappop(ready)])
        for child in below[found[-1]]:
            waits[child] -= 1
            if not waits[child]:
                heappush(ready, index[child])
    if len(found) < len(ids):
        stuck = [id_ for id_ in ids if waits[id_]]
        raise ValueError(f"a cycle runs through or above {', '.join(shorten(id_, 40) for id_ in stuck[:5])}")
    return found


def cycles(parents: Parents) -> Iterator[list[str]]:
    """Cycles in run order, each led by its lowest node, until none is left without the nodes of those before."""
    left = _tangled({key: list(above) for key, above in parents.items()})
    while left:
        cycle = _a_cycle(left)
        yield cycle
        gone = set(cycle)
        left = _tangled({key: [one for one in above if one not in gone] for key, above in left.items() if key not in gone})


def _tangled(parents: dict[str, list[str]]) -> dict[str, list[str]]:
    """What is in a cycle or below one, with the parents that are too."""
    waits = {key: len(above) for key, above in parents.items()}
    below: dict[str, list[str]] = {key: [] for key in parents}
    for key, above in parents.items():
        for parent in above:
            below[parent].append(key)
    free = [key for key, count in waits.items() if not count]
    for key in free:  # grows while it is read
        for child in below[key]:
            waits[child] -= 1
            if not waits[child]:
                free.append(child)
    left = parents.keys() - set(free)
    return {key: [parent for parent in above if parent in left] for key, above in parents.items() if key in left}


def _a_cycle(left: dict[str, list[str]]) -> list[str]:
    """Walk up from the first node until one comes again."""
    order = {key: at for at, key in enumerate(left)}
    walked: dict[str, int] = {}
    key = next(iter(left))
    while key not in walked:
        walked[key] = len(walked)
        key = left[key][0]
    cycle = list(walked)[walked[key] :][::-1]
    lowest = cycle.index(min(cycle, key=order.__getitem__))
    return cycle[lowest:] + cycle[:lowest]
