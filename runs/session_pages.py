"""Transcripts as their pages show them: a list by key, newest first, and one with its messages."""

from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString

from hermes_workflow.core.documents import read_json
from hermes_workflow.core.errors import HermesError, Malformed, NotFound
from hermes_workflow.markdown import render_markdown, render_value
from hermes_workflow.rights import Principal
from hermes_workflow.words import shown
from runs import selectors
from runs.diagnostics import is_live, tokens_of
from runs.models import Attempt, Message, Session

SIZE = 50
FIRST_WORDS = 160
ENDS = {Attempt.Status.DONE: "done", Attempt.Status.FAILED: "failed"}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the person looks for; empty means any. `before` and `after` are the transcripts that a page ends at."""

    run: str = ""
    profile: str = ""
    before: str = ""
    after: str = ""

    def __post_init__(self) -> None:
        for name in ("before", "after"):
            value = getattr(self, name)
            if value and not (value.isascii() and value.isdigit() and len(value) <= 18):
                raise Malformed(f"{name}: must be the number of a transcript")


@dataclass(frozen=True, slots=True)
class SessionsPage:
    """One page, and where the pages beside it begin."""

    rows: list[dict[str, Any]]
    newer: str
    older: str


def sessions_page(*, principal: Principal, wanted: Wanted) -> SessionsPage:
    """Newest first. Raises NotFound for a run that the principal may not see."""
    rows = selectors.sessions_for(principal).defer("attempt__payload")
    if wanted.run:
        rows = rows.filter(attempt__run_id=selectors.run_named(principal, wanted.run).pk)
    if wanted.profile:
        rows = rows.filter(profile=wanted.profile)
    if wanted.after:
        found = list(rows.filter(pk__gt=int(wanted.after)).order_by("id")[: SIZE + 1])[::-1]
        more, found = len(found) > SIZE, found[-SIZE:]
        newer, older = more, True
    else:
        found = list((rows.filter(pk__lt=int(wanted.before)) if wanted.before else rows)[: SIZE + 1])
        newer, older = bool(wanted.before), len(found) > SIZE
        found = found[:SIZE]
    words = _first_words([session.pk for session in found])
    return SessionsPage(
        rows=[{**facts_of(session), "said": words.get(session.pk, "")} for session in found],
        newer=str(found[0].pk) if found and newer else "",
        older=str(found[-1].pk) if found and older else "",
    )


def session_page(*, principal: Principal, session_id: int) -> dict[str, Any]:
    """`{session, said: [{number, role, agent, html, source, at}]}`. Raises NotFound."""
    found = selectors.sessions_for(principal).filter(pk=session_id).first()
    if found is None:
        raise NotFound("there is no such transcript")
    return {"session": facts_of(found), "said": [_message(message) for message in found.messages.all()]}


def profiles_in(principal: Principal) -> list[str]:
    """The names of profiles that have performed something the principal may see, as far as the newest thousand tell."""
    recent = selectors.sessions_for(principal).select_related(None).values_list("profile", flat=True)[:1000]
    return sorted(set(recent))


def facts_of(session: Session) -> dict[str, Any]:
    """What the server knows of a transcript."""
    attempt = session.attempt
    state = "running" if is_live(attempt, session) else ENDS.get(Attempt.Status(attempt.status), "cancelled")
    return {
        "id": session.pk,
        "run_id": attempt.run_id,
        "design": attempt.run.design.slug,
        "node_id": attempt.key,
        "number": attempt.number,
        "profile": session.profile,
        "model": shown(session.model),
        "external_id": shown(session.external_id),
        "tokens": tokens_of(session.usage),
        "usage": sorted(session.usage.items()),
        "state": state,
        "live": state == "running",
        "started_at": session.started_at,
        "ended_at": session.ended_at,
        "seconds": (session.ended_at - session.started_at).total_seconds() if session.ended_at else None,
    }


def _first_words(ids: list[int]) -> dict[int, str]:
    """The first line of what was asked: what follows it may be what other agents said."""
    rows = Message.objects.filter(session_id__in=ids, number=1).values_list("session_id", "content")
    return {session_id: shown(content.strip().partition("\n")[0][:FIRST_WORDS]) for session_id, content in rows}


def _message(message: Message) -> dict[str, Any]:
    agent = message.role == "assistant"
    return {
        "number": message.number,
        "role": message.role,
        "agent": agent,
        "html": _rendered(message.content) if agent else "",
        "source": shown(message.content),
        "at": message.at,
    }


def _rendered(text: str) -> SafeString:
    """What an agent said: a JSON object or list as its parts, anything else as Markdown."""
    if text.lstrip()[:1] in ("{", "["):
        try:
            return render_value(read_json(text))
        except HermesError:
            pass
    return render_markdown(text)
