"""Codes that people make on the site and type in a chat: one use, ten minutes, few wrong tries."""

import re
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.urls import reverse
from django.utils import timezone

from approvals.codes import ALPHABET, TRIES_OF_ACCOUNT, TRIES_OF_BOT, TooManyTries, new_code, redeem
from approvals.models import ChatIdentity, LinkCode, LinkTry
from approvals.services import Source
from hermes_workflow.core.errors import Conflict, Forbidden, Malformed
from hermes_workflow.models import Token
from hermes_workflow.rights import Principal
from tests import builders as b
from tests.api import Api, error_of
from tests.integration import approvals_builders as a
from tests.pages import browser

pytestmark = pytest.mark.django_db


def heard(account: str = "tg-1") -> Source:
    return Source(channel="telegram", external_id=account, message_id="m")


def use(robot: Principal, code: str, account: str = "tg-1") -> ChatIdentity:
    return redeem(principal=robot, source=heard(account), code=code)


def test_a_code_links_the_account_it_is_typed_from_once() -> None:
    ann, robot = a.reviewer("ann"), a.bot()
    code, until = new_code(principal=ann)
    assert re.fullmatch(f"[{ALPHABET}]{{4}}-[{ALPHABET}]{{4}}", code)
    assert timedelta(minutes=9) < until - timezone.now() <= timedelta(minutes=10)
    assert use(robot, code.lower().replace("-", "")).user == ann.user
    with pytest.raises(Forbidden):
        use(robot, code, "tg-2")
    assert [row.external_id for row in ChatIdentity.objects.all()] == ["tg-1"]


def test_what_is_stored_is_not_the_code() -> None:
    code, _ = new_code(principal=a.reviewer("ann"))
    stored = LinkCode.objects.get().digest
    assert code.replace("-", "").lower() not in stored.lower()
    assert len(stored) == 64


def test_a_new_code_ends_the_one_before() -> None:
    ann, robot = a.reviewer("ann"), a.bot()
    first, _ = new_code(principal=ann)
    second, _ = new_code(principal=ann)
    with pytest.raises(Forbidden):
        use(robot, first)
    assert use(robot, second).user == ann.user


def test_a_code_that_is_old_wrong_or_of_somebody_who_left_is_refused_in_the_same_words() -> None:
    ann, robot = a.reviewer("ann"), a.bot()
    code, _ = new_code(principal=ann)
    said = set()
    for wrong in ("", "ABCD-EFGH", code + "A", "é" * 300):
        with pytest.raises(Forbidden) as refused:
            use(robot, wrong, f"tg-{wrong[:9]}")
        said.add(refused.value.msg)
    with time_machine.travel(timezone.now() + timedelta(minutes=11)), pytest.raises(Forbidden) as refused:
        use(robot, code)
    said.add(refused.value.msg)
    ann.user.is_active = False
    ann.user.save()
    with pytest.raises(Forbidden) as refused:
        use(robot, code)
    assert said == {refused.value.msg}
    assert not ChatIdentity.objects.exists()


def test_an_account_of_somebody_else_stays_theirs_and_the_code_stays_good() -> None:
    ann, robot = a.reviewer("ann"), a.bot()
    a.linked(a.reviewer("bob"), "tg-1")
    code, _ = new_code(principal=ann)
    with pytest.raises(Conflict):
        use(robot, code)
    assert use(robot, code, "tg-2").user == ann.user


def test_guessing_ends_soon_for_an_account_whichever_bot_it_asks() -> None:
    ann = a.reviewer("ann")
    bots = [a.bot(name=f"bot-{number}") for number in range(3)]
    for number in range(TRIES_OF_ACCOUNT):
        with pytest.raises(Forbidden):
            use(bots[number % 3], "AAAA-AAAA")
    code, _ = new_code(principal=ann)
    with pytest.raises(TooManyTries):
        use(bots[0], code)
    assert use(bots[0], code, "tg-2").user == ann.user
    with time_machine.travel(timezone.now() + timedelta(minutes=11)):
        with pytest.raises(Forbidden):
            use(bots[0], "AAAA-AAAA")
        assert LinkTry.objects.count() == 1


def test_guessing_ends_for_a_bot_that_makes_up_accounts() -> None:
    robot = a.bot()
    for number in range(TRIES_OF_BOT):
        with pytest.raises(Forbidden):
            use(robot, "AAAA-AAAA", f"made-up-{number}")
    with pytest.raises(TooManyTries):
        use(robot, "AAAA-AAAA", "made-up-again")


def test_only_a_bot_that_relays_passes_a_code_on_and_only_a_person_on_the_site_makes_one() -> None:
    ann, robot = a.reviewer("ann"), a.bot("read", "start")
    code, _ = new_code(principal=ann)
    with pytest.raises(Forbidden):
        use(robot, code)
    with pytest.raises(Malformed):
        use(a.reviewer("bob"), code)
    for principal in (robot, Principal(ann.user, robot.token)):
        with pytest.raises(Forbidden):
            new_code(principal=principal)


def test_a_person_makes_a_code_on_the_account_page_and_sees_the_account_once_it_was_typed() -> None:
    ann = a.reviewer("ann")
    client = browser(ann)
    assert "hx-get" not in client.get("/account/").text.partition('id="chat-accounts"')[2].partition(">")[0]
    page = client.post("/account/chat/code/").text
    typed = page.partition('<code id="chat-code">')[2].partition("</code>")[0]
    assert typed.startswith("/workflow link ")
    assert typed not in client.get("/account/").text
    assert 'hx-get="/account/chat/"' in client.get("/account/chat/").text
    _, secret = Token.objects.create(a.bot().user, name="chat", bot=True, scopes=[])
    source = {"channel": "telegram", "external_id": "tg-ann", "message_id": "m"}
    said = Api(secret=secret).post("/api/chat/command/", {"text": typed, "source": source})
    assert "speaks for ann" in said["text"]
    part = client.get("/account/chat/").text
    assert "tg-ann" in part
    assert "hx-get" not in part
    assert client.post(reverse("account-unlink", args=[ChatIdentity.objects.get().pk])).status_code == 302
    assert not ChatIdentity.objects.exists()


@pytest.mark.parametrize("code", ["", "-", "x" * 255, "' OR 1=1", "ABCD EFGH"])
def test_a_hostile_code_is_refused_over_the_api(code: str) -> None:
    _, secret = Token.objects.create(a.bot().user, name="chat", bot=True, scopes=[])
    body: dict[str, Any] = {"text": f'/workflow link "{code}"', "source": {"channel": "t", "external_id": "e", "message_id": "m"}}
    answer = Api(secret=secret).post("/api/chat/command/", body, status=None)
    assert answer.get("data", {}).get("linked") is None
    if not answer["ok"]:
        assert error_of({name: answer[name] for name in ("ok", "error")})
    assert not ChatIdentity.objects.exists()


def test_the_page_that_makes_a_code_wants_a_form_of_its_own() -> None:
    client = browser(b.person("vic"), enforce_csrf_checks=True)
    assert client.get("/account/chat/code/").status_code == 405
    assert client.post("/account/chat/code/").status_code == 403
    assert not LinkCode.objects.exists()
