"""Where results go: a parcel in, one receipt per target out. What cannot be sent is said, never raised."""

from collections.abc import Callable
from dataclasses import dataclass

from runs.seams import channel, notification
from runs.seams.letter import Letter

SILENT = "[SILENT]"


@dataclass(frozen=True, slots=True)
class Parcel:
    """A text to send. `target` is `user:ann`, `group:legal` or `platform:chat_id`; sending twice under one key is harmless."""

    run_id: str
    node_id: str
    method: str
    target: str
    title: str
    text: str
    idempotency_key: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of one send attempt."""

    target: str
    ok: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Sent:
    """All receipts of a parcel."""

    receipts: tuple[Receipt, ...]


def send(parcel: Parcel) -> Sent:
    """Send it by its method. A text that is `[SILENT]` and nothing else says that there is nothing to send."""
    if parcel.text.strip() == SILENT:
        return Sent((Receipt(parcel.target, True, f"nothing to send: the text is {SILENT}"),))
    try:
        ok, detail = _METHODS[parcel.method](parcel)
    except Exception as error:
        ok, detail = False, f"not sent: {type(error).__name__}"
    return Sent((Receipt(parcel.target, ok, detail),))


def _notify(parcel: Parcel) -> tuple[bool, str]:
    reached = notification.notify(
        target=parcel.target, run_id=parcel.run_id, source=parcel.idempotency_key, title=parcel.title, text=parcel.text
    )
    return notified(parcel.target, reached)


def notified(target: str, reached: list[str]) -> tuple[bool, str]:
    """What the receipt of a notification says."""
    if reached:
        return True, f"shown to {', '.join(reached)}"
    return False, f"nobody to notify: {target} is not a user or group here"


def _channel(parcel: Parcel) -> tuple[bool, str]:
    return channel.send(parcel.target, Letter(parcel.run_id, parcel.node_id, parcel.title, parcel.text, parcel.idempotency_key))


_METHODS: dict[str, Callable[[Parcel], tuple[bool, str]]] = {"notification": _notify, "channel": _channel}
