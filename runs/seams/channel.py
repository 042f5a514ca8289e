"""A channel, from its target to its receipt: what an admin configured decides where a message goes, and how."""

import os
from collections.abc import Callable

from hermes_workflow.channels import Place, place_in, split, unset
from hermes_workflow.models import Channel
from runs.seams import channel_apprise, channel_webhook, redaction
from runs.seams.letter import Letter

DETAIL_LIMIT = 400


def send(target: str, letter: Letter) -> tuple[bool, str]:
    """Whether it was taken, and what to say about it."""
    platform = split(target)[0]
    found = Channel.objects.filter(platform=platform).first()
    if found is None:
        return False, f"no channel is configured for {platform[:64]}"
    if not found.enabled:
        return False, f"the channel {platform} is switched off"
    try:
        place = place_in(found, target)
    except ValueError as fault:
        return False, str(fault)
    if missing := unset(found, os.environ):
        return False, f"the channel {platform} needs the environment variable {missing[0]}, which is not set"
    ok, said = _CARRIERS[found.kind](found, place, letter.quiet())
    return ok, redaction.redact(said, redaction.secret_values(dict(os.environ))).translate(redaction.CONTROLS)[:DETAIL_LIMIT]


_CARRIERS: dict[str, Callable[[Channel, Place, Letter], tuple[bool, str]]] = {
    Channel.Kind.APPRISE: channel_apprise.carry,
    Channel.Kind.HERMES: channel_webhook.carry,
}
