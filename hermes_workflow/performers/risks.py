"""Wording that a careful reader would stop at, by category."""

import re
from collections.abc import Iterator

from hermes_workflow.performers.items import Item, item, lowered

LABELS = {
    "absolute_promise": "Absolute promise",
    "availability": "Promise of availability",
    "liability": "Unlimited liability",
    "indemnity": "Indemnity",
    "penalty": "Penalty",
    "renewal": "Automatic renewal",
    "exclusivity": "Exclusivity",
    "lock_in": "No way out",
    "discretion": "One-sided discretion",
    "waiver": "Waiver of rights",
    "scope": "Very wide scope",
    "security": "Security claim",
    "irreversible": "Cannot be undone",
    "deadline": "Pressure of time",
}
# `_` stands for a gap between words. Alternatives start with a literal word, so each word of a text is looked at once.
WORDING = {
    "absolute_promise": (
        r"guarantee[sd]?|guaranteeing|100_?%|hundred_percent|without_(?:any_)?exceptions?|risk[- ]free|no_risks?|never_fails?|always_works?"
        r"|fully_satisf\w{1,10}|bug[- ]free|error[- ]free|flawless(?:ly)?|perfect(?:ly)?|in_any_case|at_all_times|under_all_circumstances"
        r"|garantier\w{1,6}|ausnahmslos|risikofrei|fehlerfrei"
    ),
    "availability": (
        r"zero(?:-|_)downtime|no_downtime|no_outages?|without_(?:any_)?(?:interruptions?|downtime)|uninterrupted|99\.9{2,5}_?%"
        r"|24/7|around_the_clock|always_available|ausfallsicher|unterbrechungsfrei"
    ),
    "liability": (
        r"(?:unlimited|uncapped)_liability|liability_(?:is|shall_be|remains|will_be)_(?:unlimited|uncapped)|liable_without_limit\w{0,6}"
        r"|fully_liable|liability_without_limit\w{0,6}|consequential_(?:damages|loss(?:es)?)|unbegrenzte_haftung|haftet_unbeschränkt"
    ),
    "indemnity": r"indemnif(?:y|ies|ied|ication)|hold_harmless|freistell\w{1,6}|schadlos",
    "penalty": r"penalt(?:y|ies)|liquidated_damages|late_fees?|forfeit\w{0,6}|surcharges?|vertragsstrafen?",
    "renewal": (
        r"auto(?:matic(?:ally)?)?[- ]?renew\w{0,6}|automatic(?:ally)?_(?:renew\w{0,6}|extend\w{0,3}|extension)|renews_automatically"
        r"|renewed_automatically|tacit(?:ly)?_renew\w{0,6}|evergreen|verlängert_sich_automatisch|automatisch_verlängert|stillschweigend\w{0,2}"
    ),
    "exclusivity": r"exclusiv(?:e|ely|ity)|sole_(?:supplier|provider|vendor)|non[- ]compete|ausschließlich(?:e[nrs]?)?|wettbewerbsverbot",
    "lock_in": (
        r"irrevocabl[ey]|perpetual(?:ly)?|in_perpetuity|non[- ](?:cancell?able|refundable)|no_refunds?|minimum_term"
        r"|(?:cannot|may_not)_(?:be_)?(?:cancel|terminat)\w{0,5}|unwiderruflich\w{0,2}|unkündbar\w{0,2}"
    ),
    "discretion": (
        r"sole_discretion|without_(?:prior_|further_)?notice|at_any_time_and_for_any_reason|for_any_reason|reserves?_the_right|unilateral(?:ly)?"
        r"|prices?_(?:may|can)_(?:change|increase)|nach_eigenem_ermessen|ohne_vorankündigung"
    ),
    "waiver": r"waiv(?:e[sd]?|ing|er)|as[- ]is|without_(?:any_)?warrant(?:y|ies)|no_warrant(?:y|ies)|disclaim(?:s|ed|er)?|verzichtet_auf",
    "scope": (
        r"(?:all|every|any)_(?:our_|of_our_)?(?:customers?|users?|clients?|claims|losses|countries)|any_and_all|worldwide|everyone|entire_company"
        r"|all_data|alle[nr]?_kund\w{2,5}|weltweit"
    ),
    "security": (
        r"unhackable|(?:fully|completely|totally|absolutely|100_?%)_(?:secure|safe|private|compliant|anonymous)|unbreakable"
        r"|military[- ]grade|cannot_be_hacked|no_data_(?:loss|breach\w{0,2})"
    ),
    "irreversible": (
        r"irreversibl[ey]|cannot_be_(?:undone|reversed|restored)|permanent(?:ly)?_(?:delet|remov|eras)\w{1,5}|drop_(?:table|database)|rm_-rf"
        r"|delet(?:e|es|ed|ing)_all|unwiederbringlich"
    ),
    "deadline": (
        r"immediate(?:ly)?|with_immediate_effect|time_is_of_the_essence|asap|as_soon_as_possible|no_later_than|within_(?:24|48)_hours"
        r"|last_chance|act_now|unverzüglich|sofort(?:ige[nrs]?)?"
    ),
}
GAP = r"[ \t\u00a0]{0,3}\n?[ \t\u00a0]{0,3}"
SPACE = rf"(?=[\s\u00a0]){GAP}"


def pattern(words: str) -> str:
    """One category's alternatives with real gaps: `_?` may be nothing, `_` is at least one blank or line break."""
    return words.replace("_?", GAP).replace("_", SPACE)


RISK = re.compile(r"(?<!\w)(?:" + "|".join(f"(?P<{name}>{pattern(words)})" for name, words in WORDING.items()) + r")(?!\w)")


def risks(text: str) -> Iterator[Item]:
    """Every risky wording, with its `category` and that category's `label`."""
    for found in RISK.finditer(lowered(text)):
        category = found.lastgroup or ""
        yield item(text, found.start(), found.end(), category=category, label=LABELS[category])
