"""What the demo performer finds: a stretch of the text and where it is."""

from typing import Any

Item = dict[str, Any]


def item(text: str, start: int, end: int, **more: Any) -> Item:
    """`{text, start, end, …}` in code points, such that `text[start:end]` is the item's own text."""
    return {"text": text[start:end], "start": start, "end": end, **more}


def lowered(text: str) -> str:
    """`text` in lower case with every character in its place (a few, such as İ, would become two). Quicker to search than ignoring case."""
    low = text.lower()
    return low if len(low) == len(text) else "".join(char.lower() if len(char.lower()) == 1 else char for char in text)
