"""Channels: what an admin's address may look like, and what a target means in it. People name chats, only admins name hosts."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from hermes_workflow.core.text import shorten
from hermes_workflow.models import Channel

HOSTED = frozenset({
    "46elks", "acs", "atalk", "awswhatsapp", "bluesky", "brevo", "bsky", "bulksms", "burstsms", "clickatell", "clicksend", "cliq", "cm",
    "d7sms", "dingtalk", "discord", "exotel", "feishu", "flock", "gchat", "groupme", "guilded", "httpsms", "ifttt", "incidentio",
    "infobip", "instagram", "jira", "kavenegar", "lark", "line", "mailersend", "mailgun", "msgbird", "nexmo", "o365", "octopush",
    "onesignal", "opsgenie", "pagerduty", "pagertree", "pbul", "plivo", "postmark", "pover", "prowl", "pushy", "reddit", "resend",
    "revolt", "ringc", "sendgrid", "sendpulse", "ses", "signl4", "simplepush", "sinch", "slack", "smtp2go", "sns", "sparkpost", "spike",
    "splunk", "telnyx", "tgram", "threema", "twilio", "twist", "twitter", "viber", "vonage", "webex", "wecombot", "whapi", "whatsapp",
    "workflow", "workflows", "wxteams", "x", "xmatters", "zalo", "zoom", "zulip",
})  # fmt: skip
"""Services with addresses of their own: the template holds only who sends and where to."""

OWN_HOST = frozenset({
    "evolution", "evolutions", "goalert", "goalerts", "gotify", "gotifys", "humhub", "humhubs", "mailto", "mailtos", "mastodon",
    "mastodons", "matrix", "matrixs", "misskey", "misskeys", "mmost", "mmosts", "nctalk", "nctalks", "ntfy", "ntfys", "onebot",
    "onebots", "rocket", "rockets", "signal", "signals", "synology", "synologys",
})  # fmt: skip
"""Services that people host themselves: the host is the template's, never the target's."""

PLATFORM = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}\Z")
CHAT = re.compile(r"(?!\.{1,2}\Z)[\w.:@#!+=~-]{1,200}\Z")
SLOT = re.compile(r"\{([^{}]*)\}")
PLAIN = re.compile(r"[\x21-\x7e]+\Z")


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a channel: a chat, and a thread of it where the channel has threads."""

    chat_id: str
    thread: str = ""


def split(target: str) -> tuple[str, str]:
    """`(platform, chat)` of a target: only the first colon separates, for ids hold colons too."""
    platform, _, chat = target.partition(":")
    return platform, chat


def place_in(channel: Channel, target: str) -> Place:
    """What the target means there. Raises ValueError with the reason why nothing may be sent to it."""
    chat = split(target)[1]
    if not CHAT.match(chat):
        raise ValueError(f"{shorten(chat)} is not the id of a chat: 1-200 letters, digits and any of . : @ # ! + = ~ - _")
    place = Place(chat)
    if "{thread}" in channel.url and ":" in chat:
        place = Place(*chat.rsplit(":", 1))
    if not place.chat_id or (place.chat_id != chat and not place.thread):
        raise ValueError(f"{shorten(chat)} must be a chat and, after a colon, a thread")
    if channel.chats and place.chat_id not in channel.chats and chat not in channel.chats:
        raise ValueError(f"{shorten(chat)} is not among the chats that {channel.platform} allows")
    return place


def target_fault(target: str, channels: Mapping[str, Channel]) -> str:
    """Why nothing can be sent to `target`; empty when something can.

    An installation without any channel takes every well-formed target: there, a delivery is recorded as not sent.
    """
    platform, chat = split(target)
    if not PLATFORM.match(platform) or not CHAT.match(chat):
        return 'must be "platform:chat_id", the chat_id of letters, digits and any of . : @ # ! + = ~ - _'
    if not channels:
        return ""
    if platform not in channels:
        return f"must be of a configured channel: {', '.join(sorted(channels))}"
    try:
        place_in(channels[platform], target)
    except ValueError as fault:
        return str(fault)
    return ""


def env_names(channel: Channel) -> list[str]:
    """The environment variables that it needs, each once."""
    found = [slot.removeprefix("env:") for slot in SLOT.findall(channel.url) if slot.startswith("env:")]
    return list(dict.fromkeys([*found, *([channel.secret_env] if channel.secret_env else [])]))


def unset(channel: Channel, environ: Mapping[str, str]) -> list[str]:
    """Those that are not set or empty."""
    return [name for name in env_names(channel) if not environ.get(name)]


def address(channel: Channel, place: Place, environ: Mapping[str, str]) -> str:
    """The template filled in; whatever a chat is called, it stays one piece of a path or of a query."""
    values = {"chat_id": quote(place.chat_id, safe=""), "thread": quote(place.thread, safe="")}
    values |= {f"env:{name}": quote(environ[name], safe=":") for name in env_names(channel)}
    return SLOT.sub(lambda slot: values[slot[1]], channel.url)


def url_fault(kind: str, url: str) -> str:
    """Why the address of a channel cannot be used; empty when it can."""
    if not PLAIN.match(url):
        return "must be one address of visible ASCII characters"
    if "{" in SLOT.sub("", url) or "}" in SLOT.sub("", url):
        return "has a brace that belongs to no place"
    return _webhook_fault(url) if kind == Channel.Kind.HERMES else _apprise_fault(url)


def _apprise_fault(url: str) -> str:
    scheme, separator, rest = url.partition("://")
    if not separator or scheme not in HOSTED | OWN_HOST:
        return f"must begin with an allowed service such as tgram://, discord:// or ntfys://, got {shorten(scheme)}"
    slots = SLOT.findall(url)
    if unknown := [slot for slot in slots if slot not in ("chat_id", "thread") and not slot.startswith("env:")]:
        return f"may hold {{chat_id}}, {{thread}} and {{env:NAME}}, got {shorten(unknown[0])}"
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    if {"chat_id", "thread"} & set(SLOT.findall(authority)):
        return "must have {chat_id} and {thread} after the host: a target never chooses where the site connects to"
    if scheme in HOSTED and not any(slot.startswith("env:") for slot in slots):
        return "must take its secret from the environment, as {env:NAME}"
    if _password(authority) and not SLOT.search(_password(authority)):
        return "must take its password from the environment, as {env:NAME}"
    return ""


def _password(authority: str) -> str:
    return authority.rpartition("@")[0].partition(":")[2]


def _webhook_fault(url: str) -> str:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "cannot be read"
    if parts.scheme not in ("http", "https") or not host:
        return "must be the https:// address of a Hermes Agent's webhooks; http:// only for a private address"
    if "@" in parts.netloc or parts.query or parts.fragment or SLOT.search(url):
        return "must have no password, query, fragment or placeholder"
    return ""
