"""Refusals: every error a caller can cause, each with the code and HTTP status that every door shows."""

from typing import Any


class HermesError(Exception):
    """The request was refused."""

    code = "refused"
    status = 400

    def __init__(self, msg: str = "", *, hint: str = "", **extra: Any) -> None:
        self.msg = msg or (type(self).__doc__ or "").strip().splitlines()[0]
        self.hint = hint
        self.extra = extra
        super().__init__(self.msg)

    def document(self) -> dict[str, Any]:
        """The one error shape: `{"ok": false, "error": {"code", "msg", "hint"?}, …extra}`."""
        error = {"code": self.code, "msg": self.msg}
        if self.hint:
            error["hint"] = self.hint
        return {"ok": False, "error": error, **self.extra}


class Malformed(HermesError):
    """The request cannot be read."""

    code = "malformed"


class AnswerNotOffered(HermesError):
    """The answer is not one of the options."""

    code = "answer_not_offered"


class Forbidden(HermesError):
    """You may see this but not do that."""

    code = "forbidden"
    status = 403


class NotFound(HermesError):
    """There is no such thing, or you may not see it."""

    code = "not_found"
    status = 404


class Conflict(HermesError):
    """The state does not allow this."""

    code = "conflict"
    status = 409


class AlreadyDecided(Conflict):
    """The gate is already answered."""

    code = "already_decided"


class Stale(Conflict):
    """What was shown has changed since."""

    code = "stale"


class NeedsNewerCode(Conflict):
    """A newer release wrote what this one cannot read."""

    code = "needs_newer_code"

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} needs newer code", hint="nothing is lost; upgrade what still runs the older release")


class KeyReused(Conflict):
    """The idempotency key was used before with another body."""

    code = "idempotency_key_reused"


class TooLarge(HermesError):
    """The body is too large."""

    code = "too_large"
    status = 413


class Invalid(HermesError):
    """The workflow is not valid."""

    code = "invalid"
    status = 422
