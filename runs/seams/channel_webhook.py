"""Delivering through a webhook of a Hermes Agent that only delivers: signed, at one pinned address, following nothing."""

import hashlib
import hmac
import json
import os
import time
from http import HTTPStatus
from urllib.parse import quote, urlsplit

import httpx2

from hermes_workflow.channels import Place
from hermes_workflow.models import Channel
from runs.seams import http_faults
from runs.seams.addresses import Refused, pinned
from runs.seams.http import Leash, LetGo, Reply, client, exchange, header_text
from runs.seams.letter import Letter

SECONDS = 10.0
ANSWER = 65_536
TAKEN = {"delivered": "delivered", "duplicate": "delivered already, under the same key"}
REASONS = {
    401: "the signature was refused: compare the secret and the clocks",
    404: "there is no such route",
    413: "the message is too large",
    429: "the route has had enough for now",
    502: "the agent could not reach the chat",
}


def carry(channel: Channel, place: Place, letter: Letter) -> tuple[bool, str]:
    """Whether the agent delivered it, now or before, and otherwise why not."""
    parts = urlsplit(f"{channel.url.rstrip('/')}/webhooks/{quote(place.chat_id, safe='')}")
    try:
        address = pinned(parts)
    except Refused as refused:
        return False, str(refused)
    there = f"[{address}]" if ":" in address else address
    url = parts._replace(netloc=f"{there}:{parts.port}" if parts.port else there).geturl()
    body = json.dumps({"title": letter.title, "text": letter.text, "run_id": letter.run_id, "node_id": letter.node_id}).encode()
    headers = {"Host": parts.netloc, "Content-Type": "application/json", **signed(os.environ[channel.secret_env], body, letter.key)}
    leash = Leash.of(SECONDS, body=ANSWER)
    try:
        with client(leash) as caller:
            return _read(exchange(caller, "POST", url, content=body, headers=headers, extensions={"sni_hostname": parts.hostname}))
    except (LetGo, httpx2.HTTPError, httpx2.InvalidURL) as error:
        return False, http_faults.of_call(error, leash).msg


def signed(secret: str, body: bytes, key: str, *, now: float | None = None) -> dict[str, str]:
    """The headers that prove who sends it and let the receiver tell a repetition: HMAC-SHA256 over `<timestamp>.<body>`."""
    stamp = str(int(time.time() if now is None else now))
    proof = hmac.new(secret.encode(), stamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    return {"X-Webhook-Timestamp": stamp, "X-Webhook-Signature-V2": proof, "X-Request-ID": header_text(key)}


def _read(reply: Reply) -> tuple[bool, str]:
    if reply.status == HTTPStatus.OK:
        try:
            answer = json.loads(reply.body)
        except ValueError:
            answer = None
        said = answer.get("status") if isinstance(answer, dict) else None
        if isinstance(said, str) and said in TAKEN:
            return True, TAKEN[said]
        return False, "the agent answered 200 without saying that it delivered"
    if 300 <= reply.status < 400:
        return False, f"the agent answered {reply.status}, and a redirect is not followed"
    reason = REASONS.get(reply.status) or http_faults.words_in(reply.body) or "no reason given"
    return False, f"the agent answered {reply.status}: {reason}"
