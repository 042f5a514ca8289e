"""Why a step or a run failed: a closed table of kinds, each with the one sentence that tells a person what to do."""

import re

HINTS: dict[str, str] = {
    "rate_limited": "The provider is limiting requests; it is tried again later, or raise the limit with the provider.",
    "auth": "Check the credentials of this profile; the provider did not accept them.",
    "timeout": "Give the step more minutes, or let it do less.",
    "approval_timeout": "Nobody answered in time; retry the run to ask again.",
    "rejected": "A reviewer stopped this run; read the comment before you retry it.",
    "blocked": "Remove what blocks the step, then retry the run.",
    "model_denied": "Choose a model that this profile is allowed to use.",
    "model_unknown": "Choose a model that the provider offers.",
    "context_overflow": "Shorten the input or choose a model with a larger context.",
    "unreachable": "Check the address and the network of the performer, then retry.",
    "empty_result": "The performer answered nothing; check the prompt and the input.",
    "invalid_output": "The answer does not have the agreed shape; check the performer or the schema of the step.",
    "output_too_large": "Let the step answer less, or raise the output limit of the profile.",
    "performer_missing": "Configure a performer for this profile, or choose another profile.",
    "performer_failed": "Read the attempt's diagnostics, mend the performer, then retry the run.",
    "worker_lost": "The worker died three times during this step; check its memory and logs, then retry.",
    "cancelled_by_owner": "The run was cancelled; start it again if that was a mistake.",
    "internal": "This is our mistake; keep the run and report it with its id.",
}

RATE_LIMIT = re.compile(
    r"\b429\b|\brate[\s_-]?limit|too many requests|requests? per (?:minute|second|day)|quota exceeded|resource[\s_]exhausted", re.IGNORECASE
)
LONGEST_READ = 65_536


def hint_for(kind: str) -> str:
    """The hint of a kind. Raises KeyError for a kind outside the table."""
    return HINTS[kind]


def diagnose(text: str) -> str | None:
    """The kind that a performer's own words give away; None when they give away nothing."""
    return "rate_limited" if RATE_LIMIT.search(text[:LONGEST_READ]) else None
