"""An answer as a page sends it: read from the form, given to the one service, and what to say about it."""

import json
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse

from approvals import selectors, services
from hermes_workflow.core.documents import read_json
from hermes_workflow.core.errors import AlreadyDecided, HermesError, Malformed, NotFound, Stale
from hermes_workflow.pages import PageRequest
from hermes_workflow.words import sentence
from runs.models import Gate

CHANNEL = "web"


@dataclass(frozen=True, slots=True)
class Said:
    """An answer that was recorded, or why not."""

    gate: Gate
    answer: str
    comment: str = ""
    refusal: HermesError | None = None
    result: str = ""

    @property
    def toast(self) -> str:
        """What was recorded."""
        return f"{self.answer} recorded for {self.gate.run.design.slug}."

    @property
    def problem(self) -> dict[str, Any]:
        """The refusal as `answer_problem.html` takes it."""
        refusal = self.refusal
        assert refusal is not None
        if isinstance(refusal, AlreadyDecided) and refusal.extra.get("winner"):
            extra = refusal.extra
            via = "in the inbox" if extra.get("channel") == CHANNEL else extra.get("channel", "")
            return {
                "kind": "lost",
                "by": extra["winner"],
                "answer": extra.get("answer") or "performed",
                "at": extra["answered_at"],
                "via": via,
            }
        if isinstance(refusal, Stale):
            pending = refusal.extra.get("pending") or {}
            return {
                "kind": "stale",
                "says": sentence(refusal.msg),
                "show_url": reverse("gate", args=[pending.get("gate_id", self.gate.pk)]),
            }
        return {"kind": "refused", "says": sentence(refusal.msg), "hint": sentence(refusal.hint)}

    def context(self) -> dict[str, Any]:
        """For a whole page that shows the refusal in place, the comment kept."""
        said = sentence(self.refusal.msg) if self.refusal else ""
        return {"problem": self.problem, "comment": self.comment, "perform_error": said, "perform_value": self.result}

    def announce(self, response: HttpResponse, *, link: str = "Open run") -> HttpResponse:
        """Tell the page's scripts that it was recorded, and let every part that shows gates look again."""
        event = {"text": self.toast, "href": reverse("run", args=[self.gate.run_id]), "link": link}
        response["HX-Trigger"] = json.dumps({"hermes:answered": event})
        response["HX-Trigger-After-Settle"] = json.dumps({"hermes:inbox": ""})
        return response


def answer_from(request: PageRequest, gate_id: int, *, run_id: str | None = None) -> Said:
    """Record what the form says. Raises NotFound for a gate that the person may not see, or of another run."""
    gate = selectors.gate_for(request.principal, gate_id)
    if run_id is not None and gate.run_id != run_id:
        raise NotFound("there is no such gate in this run")
    form = request.POST
    comment = form.get("comment", "").replace("\r\n", "\n").strip()
    common: dict[str, Any] = {
        "principal": request.principal,
        "digest": form.get("digest") or None,
        "key": form.get("idempotency_key") or None,
        "channel": CHANNEL,
    }
    answer = form.get("answer") or form.get("answer_again") or ""
    try:
        if gate.kind == Gate.Kind.AGENT:
            answer = f"the result of {gate.key}"
            services.respond(run_id=gate.run_id, node_id=gate.key, gate_id=gate.pk, **_result(request), **common)
        else:
            services.answer_gate(gate_id=gate.pk, answer=answer, comment=comment, **common)
    except HermesError as refusal:
        return Said(gate, answer, comment, refusal, form.get("result", ""))
    return Said(gate, answer, comment)


def _result(request: PageRequest) -> dict[str, Any]:
    """The result of an agent step: text as it is, or strict JSON."""
    text = request.POST.get("result", "").replace("\r\n", "\n")
    if request.POST.get("as") == "structured":
        return {"structured": read_json(text)}
    if not text.strip():
        raise Malformed("output: write the result of this step first")
    return {"output": text}


def problem_part(request: PageRequest, said: Said, *, next_url: str = "") -> HttpResponse:
    """Why the answer was not recorded, for the form it came from."""
    assert said.refusal is not None
    return render(request, "components/answer_problem.html", {"problem": said.problem, "next_url": next_url}, status=said.refusal.status)
