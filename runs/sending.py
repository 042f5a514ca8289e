"""The switch before anything leaves: who starts a run that sends to channels must be allowed to, and a bot must have a person's word."""

from hermes_workflow.core.errors import Conflict, Forbidden
from hermes_workflow.core.plan import Plan
from hermes_workflow.rights import Principal


class ConfirmationRequired(Conflict):
    """The run would send to a channel, and no person confirmed that."""

    code = "confirmation_required"


def sends_to(plan: Plan) -> list[str]:
    """The channels that a run of the plan may send to, in the order of its steps, each once."""
    found = [step.spec["target"] for step in plan.steps if step.kind == "output" and step.spec.get("deliver") == "channel"]
    return list(dict.fromkeys(found))


def require(principal: Principal, plan: Plan, *, confirmed: bool) -> None:
    """A bot's run sends only with the scope `send` of its token and a person's confirmation; people who start a run are asked nothing.

    Raises Forbidden (the scope), ConfirmationRequired (with `targets`).
    """
    require_for(principal, sends_to(plan), confirmed=confirmed)


def require_for(principal: Principal, targets: list[str], *, confirmed: bool) -> None:
    """As `require`, for these channels."""
    if not targets or not principal.is_bot:
        return
    if not principal.may("send"):
        raise Forbidden("this token may have nothing sent to a channel", hint="an admin makes tokens with the scope send")
    if not confirmed:
        where = ", ".join(targets)
        hint = f"ask the person whether to send to {where}, then repeat with confirm: true"
        raise ConfirmationRequired(f"this would send to {where}", hint=hint, targets=targets)
