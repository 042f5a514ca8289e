"""Amounts of money in a text; a number without a currency, such as a percentage, is none."""

import re
from collections.abc import Iterable, Iterator

from hermes_workflow.performers.items import Item, item, lowered

CURRENCIES = {
    "EUR": ("EUR", "€", "euros", "euro"),
    "USD": ("USD", "US$", "$", "dollars", "dollar"),
    "GBP": ("GBP", "£", "pounds sterling", "pounds"),
    "CHF": ("CHF", "Franken", "francs"),
    "JPY": ("JPY", "¥", "yen"),
    "INR": ("INR", "₹", "rupees"),
    "CNY": ("CNY", "RMB", "yuan"),
    **{code: (code,) for code in ("AUD", "CAD", "CZK", "DKK", "HUF", "NOK", "NZD", "PLN", "SEK", "SGD", "BRL", "ZAR")},
}
SCALES = {
    1_000: ("k", "thousand", "Tsd.", "Tsd", "Tausend"),
    1_000_000: ("m", "million", "millions", "mn", "Mio.", "Mio", "Millionen"),
    1_000_000_000: ("bn", "b", "billion", "billions", "Mrd.", "Mrd", "Milliarden"),
}
CODE_OF = {name.lower(): code for code, names in CURRENCIES.items() for name in names}
SCALE_OF = {name.lower(): scale for scale, names in SCALES.items() for name in names}


def one_of(names: Iterable[str]) -> str:
    """An alternative of literal names, the longest first; a name that ends in a letter ends its word."""
    spelled = sorted(names, key=len, reverse=True)
    return "(?:" + "|".join(re.escape(name) + (r"(?!\w)" if name[-1].isalpha() else "") for name in spelled) + ")"


# Grouped thousands first, then a plain number; every repeat is bounded, so a megabyte of digits is read in linear time.
NUMBER = r"(?:[0-9]{1,3}(?:[., '’\u00a0\u202f][0-9]{3}){1,6}|[0-9]{1,15})(?:[.,][0-9]{1,4}|[.,][-–—]{1,2})?(?![0-9])"
GAP = r"[ \t\u00a0\u202f]?"
SCALE = rf"(?:{GAP}(?P<scale{{n}}>{one_of(SCALE_OF)}))?"
AMOUNT = re.compile(
    rf"(?<![\w.,])(?:(?P<before>{one_of(CODE_OF)}){GAP}(?P<first>{NUMBER}){SCALE.format(n=1)}"
    rf"|(?P<second>{NUMBER}){SCALE.format(n=2)}(?:{GAP}|-)(?P<after>{one_of(CODE_OF)}))"
)


def amounts(text: str) -> Iterator[Item]:
    """Every amount, with its `value` as a number and the code of its `currency`."""
    for found in AMOUNT.finditer(lowered(text)):
        number = found["first"] or found["second"]
        scale = SCALE_OF.get(found["scale1"] or found["scale2"] or "", 1)
        code = CODE_OF[found["before"] or found["after"]]
        yield item(text, found.start(), found.end(), value=round(value_of(number) * scale, 2), currency=code)


def value_of(number: str) -> float:
    """The number meant: a last group of three digits is thousands, any other part after a separator is decimals."""
    pieces = [piece for piece in re.split(r"[^0-9]+", number) if piece]
    marks = re.findall(r"[.,]", number)
    decimal = len(pieces) > 1 and (len(pieces[-1]) != 3 or (len(marks) > 1 and marks[-1] != marks[0]))
    whole = "".join(pieces[:-1] if decimal else pieces)
    return float(f"{whole}.{pieces[-1]}" if decimal else whole)
