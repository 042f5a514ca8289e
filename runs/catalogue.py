"""Which models the steps of a profile may ask for: what an admin listed, else what the profile's endpoint offers now."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx2
from django.core.cache import cache

from hermes_workflow.core.documents import digest, read_json
from hermes_workflow.core.errors import HermesError
from hermes_workflow.models import Profile
from runs import engine
from runs.seams import http, http_faults
from runs.seams.answers import Unusable
from runs.seams.hermes_agent import HermesAgent
from runs.seams.openai_endpoint import Endpoint
from runs.seams.settings import secret

FRESH_FOR = 60
SECONDS = 5.0
BODY_LIMIT = 1_048_576
MOST, LONGEST = 1000, 128


@dataclass(frozen=True, slots=True)
class Offered:
    """Models, the profile's own first; `absent` says why there are none, or why there may be more."""

    models: tuple[str, ...]
    absent: str = ""


def offered(profile: Profile, *, live: bool = True) -> Offered:
    """The models of a profile; `live` lets its endpoint be asked, once a minute at most."""
    own = (profile.model,) if profile.model else ()
    if profile.performer == Profile.Performer.NONE:
        return Offered((), f"profile {profile.name} has no performer: whoever answers its steps chooses the model")
    if not profile.allow_model_override:
        return Offered(own, "" if own else f"profile {profile.name} names no model: its performer chooses")
    if profile.catalogue:
        return Offered(tuple(dict.fromkeys((*own, *profile.catalogue))))
    if profile.performer not in LISTING:
        return Offered(own, f"profile {profile.name} has no catalogue: any model may be named")
    found = _listed(profile) if live else Offered((), f"the endpoint of profile {profile.name} was not asked")
    return Offered(tuple(dict.fromkeys((*own, *found.models))), found.absent)


def _listed(profile: Profile) -> Offered:
    key = f"models:{digest([profile.pk, profile.performer, profile.settings])}"
    known = cache.get(key)
    if known is None:
        known = _asked(profile)
        cache.set(key, known, FRESH_FOR)
    found: Offered = known
    return found


def _asked(profile: Profile) -> Offered:
    """Ask the endpoint; whatever goes wrong is a reason and no error of ours."""
    assert engine.outside_transactions(), "an endpoint is never asked inside a transaction"
    try:
        address, variable = LISTING[profile.performer](profile.settings)
    except HermesError as refusal:
        return Offered((), f"profile {profile.name}: {refusal.msg}")
    if variable and not secret(variable):
        return Offered((), f"the environment variable {variable} is not set for this web process")
    headers = {"Authorization": f"Bearer {secret(variable)}"} if variable else {}
    leash = http.Leash(time.monotonic() + SECONDS, body=BODY_LIMIT)
    try:
        with http.client(leash, headers=headers) as caller:
            reply = http.exchange(caller, "GET", address)
        if reply.status != httpx2.codes.OK:
            raise http_faults.of_status(reply.status, reply.headers, reply.body)
        return Offered(_models_in(reply.body))
    except Unusable as unusable:
        return _failed(profile, unusable, variable)
    except (http.LetGo, httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
        return _failed(profile, http_faults.of_call(error, leash), variable)


def _failed(profile: Profile, unusable: Unusable, variable: str) -> Offered:
    shown = http_faults.failed(unusable, hidden=[secret(variable)] if variable else [])
    return Offered((), f"the endpoint of profile {profile.name} lists no models: {shown.msg}")


def _models_in(body: bytes) -> tuple[str, ...]:
    """The ids of `{"data": [{"id"}]}`. Raises Unusable."""
    try:
        document = read_json(body)
    except HermesError as refusal:
        raise Unusable("invalid_output", "invalid_json", refusal.msg) from None
    entries = document.get("data") if isinstance(document, dict) else None
    if not isinstance(entries, list):
        raise Unusable("invalid_output", "invalid_response", "its answer holds no list of models")
    ids = [entry.get("id") for entry in entries[:MOST] if isinstance(entry, dict)]
    return tuple(id_ for id_ in ids if isinstance(id_, str) and 0 < len(id_) <= LONGEST)


def _of_openai(settings: Mapping[str, Any]) -> tuple[str, str]:
    endpoint = Endpoint.read(settings)
    return f"{endpoint.base_url}/models", endpoint.api_key_env


def _of_hermes(settings: Mapping[str, Any]) -> tuple[str, str]:
    agent = HermesAgent.read(settings)
    return f"{agent.runs_url.removesuffix('/runs')}/models", agent.api_key_env


LISTING = {Profile.Performer.OPENAI.value: _of_openai, Profile.Performer.HERMES.value: _of_hermes}
"""For performers whose endpoint lists its models: the address, and the variable with the key. Raises Malformed."""
