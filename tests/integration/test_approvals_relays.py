"""Bots: they relay a linked person's decision with that person's rights, and never decide themselves."""

from datetime import timedelta

import pytest
import time_machine
from django.utils import timezone

from approvals import links, selectors
from approvals.models import ChatIdentity, Decision
from approvals.services import Source, answer_gate, confirm_link, remove_link, respond
from hermes_workflow.core import events as e
from hermes_workflow.core.errors import AlreadyDecided, Conflict, Forbidden, Malformed, NotFound, Stale
from hermes_workflow.rights import VIEWER, Principal
from tests import builders as b
from tests.integration import approvals_builders as a

pytestmark = pytest.mark.django_db


def untouched(run_id: str) -> bool:
    return e.GATE_VOTED not in b.types_of(run_id) and not Decision.objects.exists()


def test_a_bot_never_decides():
    gate = a.parked()
    with pytest.raises(Forbidden, match="bot never decides"):
        answer_gate(principal=a.bot(), gate_id=gate.pk, answer="approve")
    with pytest.raises(Forbidden, match="bot never decides"):
        respond(principal=a.bot(name="other"), run_id=gate.run_id, node_id="review", answer="approve")
    assert untouched(gate.run_id)


def test_a_relayed_decision_is_the_persons_and_names_the_bot_and_the_message():
    gate, ann, robot = a.parked(), a.reviewer("ann"), a.bot("read", "relay")
    a.linked(ann, "tg-1")
    a.relay(robot, gate, "reject", comment="not yet")
    decision = Decision.objects.get()
    assert (decision.by, decision.on_behalf_of, decision.person) == (robot.user, ann.user, ann.user)
    assert (decision.channel, decision.message_id, decision.digest_seen) == ("telegram", "m-1", gate.digest)
    assert b.document(gate.run_id)["outputs"]["review"] == {"answer": "reject", "comment": "not yet", "by": "ann"}


def test_a_source_from_anyone_but_a_bot_is_malformed():
    gate = a.parked()
    ann = a.reviewer("ann")
    a.linked(ann, "tg-1")
    with pytest.raises(Malformed, match="source"):
        a.relay(ann, gate)
    assert untouched(gate.run_id)


def test_an_account_that_nobody_confirmed_is_refused_with_a_link_and_nothing_is_written():
    gate = a.parked()
    with pytest.raises(Forbidden) as refused:
        a.relay(a.bot(), gate)
    link = refused.value.extra["link"]
    assert link["url"].startswith("/account/link/?code=")
    assert link["url"] in refused.value.hint
    assert links.read_code(link["code"]) == ("telegram", "tg-1")
    assert untouched(gate.run_id)
    assert not ChatIdentity.objects.exists()


def test_the_persons_rights_count_as_they_are_now():
    ann, robot = a.reviewer("ann"), a.bot()
    a.linked(ann, "tg-1")
    gate = a.parked()
    ann.user.groups.clear()
    ann.user.groups.add(*b.person("vic", VIEWER).user.groups.all())
    with pytest.raises(Forbidden, match="reviewer"):
        a.relay(robot, gate)
    ann.user.is_active = False
    ann.user.save()
    with pytest.raises(Forbidden):
        a.relay(robot, gate)
    assert untouched(gate.run_id)


def test_a_bot_that_may_not_relay_is_refused():
    gate = a.parked()
    a.linked(a.reviewer("ann"), "tg-1")
    with pytest.raises(Forbidden):
        a.relay(a.bot("read", "start"), gate)
    assert untouched(gate.run_id)


def test_a_bot_linked_as_a_person_does_not_decide_either():
    gate = a.parked()
    other = a.bot(name="other")
    a.linked(other, "tg-1")
    with pytest.raises(Forbidden, match="bot never decides"):
        a.relay(a.bot(), gate)


def test_a_gate_may_be_for_the_site_only():
    gate = a.parked(relay=False)
    ann = a.reviewer("ann")
    a.linked(ann, "tg-1")
    with pytest.raises(Forbidden, match="on the site"):
        a.relay(a.bot(), gate)
    answer_gate(principal=ann, gate_id=gate.pk, answer="approve")


def test_a_relay_is_bound_to_what_the_person_was_shown():
    gate = a.parked()
    a.linked(a.reviewer("ann"), "tg-1")
    with pytest.raises(Malformed, match="digest"):
        a.relay(a.bot(), gate, digest=None)
    with pytest.raises(Stale):
        a.relay(a.bot(name="other"), gate, digest="sha256:old")
    assert untouched(gate.run_id)


def test_a_message_decides_once():
    first, second = a.parked(name="first"), a.parked(name="second")
    a.linked(a.reviewer("ann"), "tg-1")
    robot = a.bot()
    a.relay(robot, first)
    with pytest.raises(Conflict, match="message has decided"):
        a.relay(robot, second)
    assert b.document(second.run_id)["status"] == "awaiting_approval"
    a.relay(robot, second, message="m-2")


def test_a_relay_with_a_key_replays():
    gate = a.parked()
    a.linked(a.reviewer("ann"), "tg-1")
    robot = a.bot()
    assert a.relay(robot, gate, key="k") == a.relay(robot, gate, key="k")
    assert Decision.objects.count() == 1


def test_a_person_who_answered_on_the_site_does_not_answer_again_through_a_bot():
    gate = a.parked(quorum=2)
    ann = a.reviewer("ann")
    a.linked(ann, "tg-1")
    answer_gate(principal=ann, gate_id=gate.pk, answer="approve")
    with pytest.raises(AlreadyDecided, match="you have already"):
        a.relay(a.bot(), gate)
    assert Decision.objects.count() == 1


@pytest.mark.parametrize(
    "source",
    [
        Source("", "tg-1", "m"),
        Source("telegram", "", "m"),
        Source("telegram", "tg-1"),
        Source("telegram", "tg-1", "m" * 256),
        Source("t" * 65, "tg-1", "m"),
        Source("telegram", "tg\x00", "m"),
        Source("telegram", 5, "m"),
        Source("telegram", "tg-1", message_id=None),
        Source("telegram", "tg-1", message_url="javascript:alert(1)"),
        Source("telegram", "tg-1", "m", message_url="https://t.me/a b"),
    ],
)
def test_a_source_is_read_strictly(source):
    gate = a.parked()
    a.linked(a.reviewer("ann"), "tg-1")
    with pytest.raises(Malformed, match="source"):
        a.relay(a.bot(), gate, source=source)
    assert untouched(gate.run_id)


def test_confirming_a_code_links_the_account_once():
    ann, bob = a.reviewer("ann"), a.reviewer("bob")
    code = links.link_code("telegram", "tg-1")
    assert confirm_link(principal=ann, code=code) == confirm_link(principal=ann, code=code)
    with pytest.raises(Conflict):
        confirm_link(principal=bob, code=code)
    assert [(row.user, row.external_id) for row in selectors.links_of(ann)] == [(ann.user, "tg-1")]
    gate = a.parked()
    a.relay(a.bot(), gate)
    assert b.document(gate.run_id)["status"] == "done"


def test_a_code_that_is_old_or_changed_or_for_something_else_is_refused_in_the_same_words():
    ann, code = a.reviewer("ann"), links.link_code("telegram", "tg-1")
    said = set()
    for bad in (code[:-1] + ("A" if code[-1] != "A" else "B"), "", "x:y:z", code + "\x00"):
        with pytest.raises(Forbidden) as refused:
            confirm_link(principal=ann, code=bad)
        said.add(refused.value.msg)
    with time_machine.travel(timezone.now() + timedelta(minutes=16)), pytest.raises(Forbidden) as refused:
        confirm_link(principal=ann, code=code)
    assert said == {refused.value.msg}
    assert not ChatIdentity.objects.exists()


def test_only_a_person_on_the_site_confirms():
    code = links.link_code("telegram", "tg-1")
    robot = a.bot()
    for principal in (robot, Principal(a.reviewer("ann").user, robot.token)):
        with pytest.raises(Forbidden):
            confirm_link(principal=principal, code=code)


def test_a_removed_link_relays_no_more_and_only_its_owner_removes_it():
    ann = a.reviewer("ann")
    identity = a.linked(ann, "tg-1")
    with pytest.raises(NotFound):
        remove_link(principal=a.reviewer("bob"), identity_id=identity.pk)
    remove_link(principal=ann, identity_id=identity.pk)
    with pytest.raises(Forbidden):
        a.relay(a.bot(), a.parked())
