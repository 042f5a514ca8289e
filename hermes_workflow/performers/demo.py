"""The demo performer: finds the key sentences, dates, amounts and risky wording of a text, each with its place in it.

It reads one `hermes.performer.v1` request on stdin and writes one JSON object on stdout. The same text always gives the same answer; the
prompt changes nothing and is only repeated in the provenance. Items are `{text, start, end, …}` in code points with
`text[start:end] == item["text"]`; `counts` tells how many there are even where a long list was shortened.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from hermes_workflow.performers.amounts import amounts
from hermes_workflow.performers.dates import dates
from hermes_workflow.performers.items import Item
from hermes_workflow.performers.risks import risks
from hermes_workflow.performers.sentences import key_sentences, summary

MOST_ITEMS = 500
NOTE_CHARS = 400
PREFERRED = ("text", "output", "summary")


def analyse(text: str) -> dict[str, Any]:
    """The whole answer to a text."""
    facts = {"risks": list(risks(text)), "amounts": list(amounts(text)), "dates": list(dates(text))}
    found: dict[str, list[Item]] = {**facts, "sentences": key_sentences(text, [fact for some in facts.values() for fact in some])}
    return {
        "summary": summary(found["sentences"]),
        **{name: items[:MOST_ITEMS] for name, items in found.items()},
        "counts": {name: len(items) for name, items in found.items()},
    }


def text_of(request: Mapping[str, Any]) -> str:
    """The text to work on: `input.text`, else what the steps before answered, else any other text of the input."""
    given = request.get("input")
    if isinstance(given, Mapping) and isinstance(given.get("text"), str) and given["text"].strip():
        return str(given["text"])
    for source in (request.get("context"), given):
        found = "\n\n".join(part for value in values_of(source) for part in texts(value))
        if found:
            return found
    return ""


def values_of(source: Any) -> list[Any]:
    """The values of an object; nothing for anything else."""
    return list(source.values()) if isinstance(source, Mapping) else []


def texts(value: Any) -> Iterator[str]:
    """The texts in one output: the one it is about, else every one in it."""
    if isinstance(value, str):
        yield from [value] if value.strip() else []
    elif isinstance(value, Mapping):
        about = next((value[name] for name in PREFERRED if isinstance(value.get(name), str)), None)
        for inner in [about] if about is not None else value.values():
            yield from texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """What is printed for a request: the structured answer, or why there is none."""
    text = text_of(request)
    if not text:
        return {
            "error": {
                "kind": "empty_result",
                "msg": "there is no text to work on: give the run a text or put a step that answers one before this",
            }
        }
    asked = "".join(islice((char for char in str(request.get("prompt") or "") if char.isprintable()), NOTE_CHARS))
    return {
        "structured": analyse(text),
        "provenance": {"runner": "demo", "model": "demo", "notes": f"asked: {asked}" if asked else "not asked anything"},
    }


def main() -> int:
    """Answer the request on stdin. Exit 1 when there is nothing to work on, 2 when the request cannot be read."""
    try:
        request = json.loads(sys.stdin.buffer.read())
    except ValueError as error:
        print(f"the request is not JSON: {error}", file=sys.stderr)
        return 2
    if not isinstance(request, dict):
        print("the request is not a JSON object", file=sys.stderr)
        return 2
    document = answer(request)
    print(json.dumps(document))
    if "error" in document:
        print(document["error"]["msg"], file=sys.stderr)
    return int("error" in document)


if __name__ == "__main__":
    sys.exit(main())
