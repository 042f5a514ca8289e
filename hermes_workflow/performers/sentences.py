"""The sentences of a text, and which of them say the most."""

import math
import re
from collections.abc import Iterable, Iterator

from hermes_workflow.performers.items import Item, item

MOST = 8
SUMMARY = 3
LONGEST = 400
EARLY = 0.35
FACT = 0.25

# Possessive repeats never try again, so a megabyte of dots or line breaks is read in linear time.
ENDING = re.compile(
    r"(?<![.!?…])[.!?…]++[\"'”’»)\]]{0,4}+(?=\s)|[。！？]|(?:\n[ \t\r]*+){2,}+|\n(?=[ \t]{0,12}(?:[-*•–#>|]|[0-9]{1,3}[.)])[ \t])"
)
ABBREVIATION = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|prof|st|no|nr|vs|inc|ltd|co|corp|approx|ca|etc|art|abs|sec|fig|e\.g|i\.e|z\.b|d\.h|u\.a|bzw|ggf|inkl|mio|mrd|tsd"
    r"|jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec|dez|okt)|\b[a-z]|\b[0-9]{1,2})\Z",
    re.IGNORECASE,
)
MARKUP = re.compile(r"(?:(?:[-*•–>|]|#{1,6}|[0-9]{1,3}[.)])[ \t]++)*+")
WORD = re.compile(r"[^\W\d_]{3,}")
COMMON = frozenset(
    """
    about above after again all also and any are because been before being between both but can could did does doing down during each
    few for from further had has have having here hers him his how into its itself just more most not now off once only other our ours
    out over own per same she should some such than that the their theirs them then there these they this those through too under
    until upon very was were what when where which while who whom why will with would you your yours may must shall aber alle als also
    auch auf aus bei bin bis das dass dem den der des die dies diese dieser dieses doch dort durch ein eine einem einen einer eines
    für hat haben hier ich ihr ihre ist jede jeder kann kein keine mit muss nach nicht noch nur oder ohne sehr sein seine sich sie
    sind soll über und uns unser unter vom von vor war was weil wenn werden wie wir wird zum zur
    """.split()  # noqa: SIM905 - a list of words reads better than 200 quoted ones
)


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Where each sentence, heading or list entry stands, without its bullet and surrounding blanks."""
    start = 0
    for found in ENDING.finditer(text):
        if not goes_on(text, found):
            yield from trimmed(text, start, found.end())
            start = found.end()
    yield from trimmed(text, start, len(text))


def goes_on(text: str, ending: re.Match[str]) -> bool:
    """Whether a full stop belongs to an abbreviation, or an ordinal, in mid-sentence."""
    if ending.group() != ".":
        return False
    following = text[ending.end() + 1 : ending.end() + 2]
    return following.islower() or bool(ABBREVIATION.search(text, max(ending.start() - 12, 0), ending.start()))


def trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The stretch without blanks and markup around it; nothing if it holds no letter or digit."""
    inner = text[start:end].rstrip()
    end = start + len(inner)
    start = end - len(inner.lstrip())
    mark = MARKUP.match(text, start, end)
    start = mark.end() if mark else start
    if any(char.isalnum() for char in text[start : min(end, start + LONGEST)]):
        yield start, end


def key_sentences(text: str, facts: Iterable[Item]) -> list[Item]:
    """The sentences that say the most, in their order: by the weight of their words, early ones and those with facts first."""
    found = list(sentences(text))
    words = [[word for word in WORD.findall(text[start:end].lower()) if word not in COMMON] for start, end in found]
    weights = weigh(words)
    marked = {index_at(found, fact["start"]) for fact in facts}
    scores = [score(words[n], weights, n, len(found)) * (1 + FACT * (n in marked)) for n in range(len(found))]
    wanted = min(MOST, max(SUMMARY, math.ceil(len(found) / 4)))
    best = sorted(range(len(found)), key=lambda n: (-scores[n], n))[:wanted]
    return [item(text, found[n][0], shorter(text, *found[n]), score=round(scores[n], 3)) for n in sorted(best)]


def weigh(words: list[list[str]]) -> dict[str, float]:
    """How much a word says: it grows with its use, slowly, so that a word in every sentence does not decide alone."""
    counts: dict[str, int] = {}
    for word in (word for line in words for word in line):
        counts[word] = counts.get(word, 0) + 1
    return {word: 1 + math.log(count) for word, count in counts.items()}


def score(words: list[str], weights: dict[str, float], position: int, total: int) -> float:
    """The mean weight of the words, damped for very short sentences, with a bonus that fades through the text."""
    if not words:
        return 0.0
    mean = sum(weights[word] for word in set(words)) / math.sqrt(len(words) * 6)
    return mean * min(1.0, len(words) / 5) * (1 + EARLY * (1 - position / total))


def index_at(found: list[tuple[int, int]], place: int) -> int:
    """The sentence that holds a place, by bisection."""
    low, high = 0, len(found)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if found[middle][1] <= place else (low, middle)
    return low


def shorter(text: str, start: int, end: int) -> int:
    """The end of a sentence, moved forward to a word's end when it is longer than 400 characters."""
    if end - start <= LONGEST:
        return end
    blank = text.rfind(" ", start + LONGEST // 2, start + LONGEST)
    return blank if blank > 0 else start + LONGEST


def summary(items: list[Item]) -> str:
    """The two or three sentences with the highest score, in the order of the text."""
    best = sorted(items, key=lambda found: (-found["score"], found["start"]))[:SUMMARY]
    return " ".join(" ".join(found["text"].split()) for found in sorted(best, key=lambda found: found["start"]))
