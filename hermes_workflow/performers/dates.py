"""Calendar dates in a text, as people write them in English and German."""

import re
from collections.abc import Iterator

from hermes_workflow.performers.items import Item, item

MONTHS = (
    ("January", "Januar", "Jan"),
    ("February", "Februar", "Feb"),
    ("March", "März", "Mar", "Mrz"),
    ("April", "Apr"),
    ("May", "Mai"),
    ("June", "Juni", "Jun"),
    ("July", "Juli", "Jul"),
    ("August", "Aug"),
    ("September", "Sept", "Sep"),
    ("October", "Oktober", "Oct", "Okt"),
    ("November", "Nov"),
    ("December", "Dezember", "Dec", "Dez"),
)
NUMBER_OF = {name.lower(): number for number, names in enumerate(MONTHS, 1) for name in names}
DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)

# "may" is a verb and "mar" one too: a month starts with a capital. Repeats are bounded, so a megabyte is read in linear time.
MONTH = (
    "(?:"
    + "|".join(sorted({form for names in MONTHS for name in names for form in (name, name.upper())}, key=len, reverse=True))
    + r")\b\.?"
)
GAP = r"[ \t\u00a0]{0,3}\n?[ \t\u00a0]{0,3}"
DAY = r"[0-3]?[0-9]"
YEAR = r"(?:1[5-9]|2[0-9])[0-9]{2}"
TIME = r"[T ][0-2][0-9]:[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,9})?)?(?:Z|[+-][0-2][0-9]:?[0-5][0-9])?"
DATE = re.compile(
    rf"(?<![\w/.,-])(?:"
    rf"(?P<iso>{YEAR}[-/][01][0-9][-/][0-3][0-9])(?:{TIME})?"
    rf"|(?P<dotted>{DAY}\.[ ]?[01]?[0-9]\.[ ]?(?:{YEAR}|[0-9]{{2}}))"
    rf"|(?P<slashed>{DAY}(?P<sep>[/-])[0-3]?[0-9](?P=sep)(?:{YEAR}|[0-9]{{2}}))"
    rf"|(?P<d1>{DAY})(?:st|nd|rd|th|\.)?{GAP}(?:of{GAP})?(?P<m1>{MONTH})(?:,?{GAP}(?P<y1>{YEAR}))?"
    rf"|(?P<m2>{MONTH}){GAP}(?:(?P<d2>{DAY})(?:st|nd|rd|th)?(?![0-9])(?:,?{GAP}(?P<y2>{YEAR}))?|(?P<y3>{YEAR}))"
    rf")(?![\w/-]|[.,][0-9])"
)


def dates(text: str) -> Iterator[Item]:
    """Every date, with `iso` where the day is certain and null where it is not (03/04/2026, a day without a year)."""
    for found in DATE.finditer(text):
        known = parts(found)
        if known is not None:
            yield item(text, found.start(), found.end(), iso=iso(*known))


def parts(found: re.Match[str]) -> tuple[int, int, int] | None:
    """Year, month and day, 0 for what is unknown; None for what is no date after all."""
    if found["iso"]:
        year, month, day = (int(part) for part in re.split("[-/]", found["iso"]))
    elif found["dotted"]:
        day, month, year = (int(part) for part in found["dotted"].split("."))
    elif found["slashed"]:
        return slashed(*(int(part) for part in found["slashed"].split(found["sep"])))
    else:
        day = int(found["d1"] or found["d2"] or 0)
        month = NUMBER_OF[(found["m1"] or found["m2"]).rstrip(".").lower()]
        year = int(found["y1"] or found["y2"] or found["y3"] or 0)
        return (year, month, day) if day <= DAYS[month - 1] and (day or year) else None
    return certain(year, month, day)


def slashed(first: int, second: int, year: int) -> tuple[int, int, int] | None:
    """Day/month or month/day: only a number above 12 tells them apart."""
    if first > 12:
        return certain(year, second, first)
    if second > 12 or first == second:
        return certain(year, first, second)
    return (0, first, second) if first and second else None


def certain(year: int, month: int, day: int) -> tuple[int, int, int] | None:
    """The three numbers if there can be such a day."""
    year += 2000 if year < 100 else 0
    return (year, month, day) if 1 <= month <= 12 and 1 <= day <= DAYS[month - 1] else None


def iso(year: int, month: int, day: int) -> str | None:
    """`2026-12-15`, or `2026-12` for a month; None when the year is unknown."""
    if not year:
        return None
    return f"{year:04}-{month:02}-{day:02}" if day else f"{year:04}-{month:02}"
