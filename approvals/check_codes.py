"""The few characters that stand for what a person was shown: typed back with an answer, they bind it to that question."""

from django.utils.crypto import constant_time_compare, salted_hmac

from runs.models import Gate

SALT = "approvals.check-code"
LENGTH = 6


def check_code(gate: Gate) -> str:
    """Six hex characters for this gate as it is shown. They are keyed: no text can be made up that has the code of another."""
    return salted_hmac(SALT, f"{gate.pk}:{gate.digest}", algorithm="sha256").hexdigest()[:LENGTH]


def meant_by(code: str, gates: list[Gate]) -> Gate | None:
    """The gate that was shown with the code."""
    return next((gate for gate in gates if constant_time_compare(check_code(gate), code.lower())), None)
