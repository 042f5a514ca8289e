"""Sending through Apprise, in a process of its own that is ended at its deadline."""

import json
import os
import sys
from pathlib import Path

from hermes_workflow.channels import Place, address, env_names
from hermes_workflow.models import Channel
from runs.seams import redaction
from runs.seams.letter import Letter
from runs.seams.processes import Ended, Limits, run
from runs.seams.program import PASSED_ON, workplace

COURIER = str(Path(__file__).with_name("courier.py"))
SECONDS = 45.0
OUTPUT = 16_384
ALSO_PASSED_ON = ("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")


def carry(channel: Channel, place: Place, letter: Letter) -> tuple[bool, str]:
    """Whether the service took it, and in its words why not; without the secrets of the address."""
    url = address(channel, place, os.environ)
    request = json.dumps({"url": url, "title": letter.title, "text": letter.text}).encode()
    limits = Limits(SECONDS, OUTPUT, OUTPUT)
    with workplace() as home:
        ended = run([sys.executable, "-I", COURIER], request, home=home, env=_environment(home), limits=limits, cancelled=lambda: False)
    ok, said = _read(ended)
    hidden = [value for name in env_names(channel) for value in _spellings(os.environ[name])]
    return ok, redaction.redact(said, [url, *hidden])


def _environment(home: str) -> dict[str, str]:
    passed = {name: os.environ[name] for name in (*PASSED_ON, *ALSO_PASSED_ON) if name in os.environ}
    return {"PATH": os.defpath, **passed, "HOME": home, "TMPDIR": home}


def _spellings(secret: str) -> list[str]:
    """A secret as a whole and in the parts that a service may quote alone."""
    parts = [part for part in secret.split(":") if len(part) >= redaction.SHORTEST_SECRET]
    return [secret, *parts]


def _read(ended: Ended) -> tuple[bool, str]:
    if ended.stopped == "timeout":
        return False, f"the service took longer than {SECONDS:g} seconds"
    try:
        answer = json.loads(ended.stdout)
        ok, said = bool(answer["ok"]), str(answer["said"])
    except (ValueError, KeyError, TypeError):
        return False, "the service could not be talked to"
    if ok:
        return True, "sent"
    return False, said or "the service did not take it"
