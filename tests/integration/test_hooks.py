"""Inbound webhooks: who may start a run from outside, on what, and how often one call counts."""

import json
import time
from threading import Thread
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connections

from hermes_workflow import hooks, services
from hermes_workflow.core.errors import Invalid
from hermes_workflow.models import Design, Hook, Profile
from hermes_workflow.rights import DESIGNER, VIEWER
from runs import listing
from runs.api import hooks as door
from runs.models import Event, Run
from tests import builders as b
from tests.api import Api, error_of
from tests.bad_inputs import bad_inputs

ORDINARY = "J021"  # names a field that no form has; here the body is the run's input, and any field is
SECRET = "correct horse battery staple"
SCHEMA = {"type": "object", "required": ["order"], "properties": {"order": {"type": "integer"}}}

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def secret(monkeypatch):
    monkeypatch.setenv("HERMES_HOOK_ORDERS", SECRET)


@pytest.fixture
def owner():
    return b.person("dora", DESIGNER)


@pytest.fixture
def hook(owner, performer):
    b.profile()
    saved(owner, b.trigger(hook="orders"), b.approval("review"))
    return Hook.objects.get()


def saved(who, *nodes, name="flow", **more):
    return services.save_design(principal=who, name=name, document=b.design(*nodes), **more).design


def signed(body: bytes, *, at: float | None = None, secret: str = SECRET, request_id: str = "r-1", **headers: str) -> dict[str, str]:
    timestamp = str(int(time.time() if at is None else at))
    own = {"X-Webhook-Timestamp": timestamp, "X-Webhook-Signature-V2": hooks.signature(secret, timestamp, body), "X-Request-ID": request_id}
    return {**own, **headers}


def call(body: Any = None, *, slug: str = "orders", status: int | None = 202, **more: Any) -> Any:
    raw = body if isinstance(body, bytes) else json.dumps({} if body is None else body).encode()
    headers = {name.replace("_", "-"): value for name, value in signed(raw, **more).items()}
    return Api()("POST", f"/api/hooks/{slug}/", raw, status=status, **headers)


def test_a_signed_call_starts_a_run_on_its_body_in_the_owner_s_name(hook, owner):
    answer = call({"order": 7, "text": "Straße"})
    run = Run.objects.get()
    assert answer == {"ok": True, "status": "accepted", "run_id": run.pk}
    assert (run.origin, run.started_by, run.status) == ("hook", owner.user, "awaiting_approval")
    assert Event.objects.get(seq=1).body == {"order": 7, "text": "Straße"}
    assert run.origin in listing.ORIGINS


def test_the_same_request_id_and_body_is_the_same_run_also_signed_anew(hook):
    first = call({"order": 7})
    assert call({"order": 7}, status=200) == {**first, "status": "duplicate"}
    assert call({"order": 7}, status=200, at=time.time() - 60)["run_id"] == first["run_id"]
    assert Run.objects.count() == 1


def test_another_body_under_the_same_request_id_is_a_conflict(hook):
    call({"order": 7})
    assert "another body" in error_of(call({"order": 8}, status=409))
    assert Run.objects.count() == 1


def test_a_recorded_call_is_not_played_again_under_another_request_id(hook):
    at = time.time() - 30
    call({"order": 7}, at=at)
    assert "another X-Request-ID" in error_of(call({"order": 7}, at=at, request_id="r-2", status=409))
    call({"order": 7}, at=at - 1, request_id="r-2")
    assert Run.objects.count() == 2


def test_two_events_of_one_second_may_be_equal(hook):
    at = time.time()
    first = call({"order": 7}, at=at)
    second = call({"order": 7}, at=at, request_id="r-2")
    assert first["run_id"] != second["run_id"]
    assert call({"order": 7}, at=at, request_id="r-2", status=200)["run_id"] == second["run_id"]


@pytest.mark.parametrize("off", [-400, 400, -301, 310, -(10**9)])
def test_a_call_of_another_time_is_refused(hook, off):
    assert "within 300 seconds" in error_of(call({}, at=max(0, time.time() + off), status=401))
    assert not Run.objects.exists()


@pytest.mark.parametrize("off", [-290, 290])
def test_a_clock_may_be_off_by_some_minutes(hook, off):
    call({}, at=time.time() + off)


@pytest.mark.parametrize("timestamp", ["", "now", "-1", "1e9", "٣", "1 2", "9" * 13, "0x10"])
def test_a_timestamp_is_whole_seconds(hook, timestamp):
    given = signed(b"{}", **{"X-Webhook-Timestamp": timestamp.encode("latin1", "ignore").decode("latin1")})
    error_of(Api()("POST", "/api/hooks/orders/", b"{}", status=401, **given))


@pytest.mark.parametrize("signature", ["", "0" * 64, "é" * 64, "x" * 5000, SECRET])
def test_a_wrong_signature_is_refused(hook, signature):
    error_of(Api()("POST", "/api/hooks/orders/", b"{}", status=401, **signed(b"{}", **{"X-Webhook-Signature-V2": signature})))
    assert not Run.objects.exists()


def test_a_signature_of_another_body_or_secret_is_refused(hook):
    headers = signed(b'{"a": 1}')
    assert "signature" in error_of(Api()("POST", "/api/hooks/orders/", b'{"a": 2}', status=401, **headers))
    call({}, secret="another", status=401)


@pytest.mark.parametrize("request_id", ["", "a b", "é", "x" * 129, "x" * 300, "a\tb"])
def test_a_request_id_is_visible_ascii(hook, request_id):
    assert error_of(call({}, request_id=request_id, status=400)).startswith("X-Request-ID")


def test_unknown_switched_off_deleted_and_secretless_webhooks_look_alike(hook, owner, monkeypatch):
    unknown = call({}, slug="nothing-here", status=404)
    Hook.objects.update(enabled=False)
    assert call({}, status=404) == unknown
    Hook.objects.update(enabled=True)
    monkeypatch.delenv("HERMES_HOOK_ORDERS")
    assert call({}, status=404) == unknown
    monkeypatch.setenv("HERMES_HOOK_ORDERS", "")
    assert call({}, status=404, secret="") == unknown
    monkeypatch.setenv("HERMES_HOOK_ORDERS", SECRET)
    services.delete_design(principal=owner, design=hook.design)
    assert call({}, status=404) == unknown
    assert not Hook.objects.exists()
    assert not Run.objects.exists()


@pytest.mark.parametrize("slug", ["%00", "..", "Orders", "a%20b", "%F0%9F%98%80", "x" * 3000, "%ED%A0%80"])
def test_a_hostile_slug_is_not_found(hook, slug):
    assert call({}, slug=slug, status=None)["ok"] is False
    assert not Run.objects.exists()


def test_runs_end_with_the_rights_of_their_owner(hook, owner):
    owner.user.groups.clear()
    assert "may not start" in error_of(call({}, status=403))
    owner.user.groups.add(b.person("x", DESIGNER).user.groups.get())
    call({}, request_id="r-2")
    owner.user.is_active = False
    owner.user.save()
    call({}, request_id="r-3", status=403)
    Hook.objects.update(owner=None)
    call({}, request_id="r-4", status=403)
    assert Run.objects.count() == 1


def test_an_owner_who_left_the_profile_starts_nothing(hook, owner):
    Profile.objects.update(is_open=False)
    call({}, status=403)
    Profile.objects.get(name="default").members.add(owner.user)
    call({})


def test_a_design_that_sends_needs_the_admin_s_word(owner, performer):
    b.profile()
    design = b.saved(b.approval("review"))
    document = b.design(b.trigger(hook="orders"), b.approval("review"), b.output("out", deliver="channel", target="telegram:1"))
    design = services.save_design(principal=b.admin(), name="flow", document=document).design
    assert error_of(call({}, status=403)) == "the run would send to a channel, and this webhook may not"
    assert "telegram" not in str(call({}, status=403))
    Hook.objects.update(may_send=True)
    call({})
    assert Run.objects.get().design == design


def test_the_body_is_checked_against_the_trigger_s_schema_before_anything_is_written(hook, owner):
    saved(owner, b.trigger(hook="orders", schema=SCHEMA), b.approval("review"))
    assert "'order' is a required property" in error_of(call({}, status=400))
    assert "at $.order" in error_of(call({"order": "7"}, status=400))
    assert not Run.objects.exists()
    call({"order": 7})


def test_a_schema_that_is_none_is_the_designer_s_mistake_and_not_the_caller_s(hook, owner):
    saved(owner, b.trigger(hook="orders", schema={"type": "nonsense"}), b.approval("review"))
    assert "schema" in error_of(call({}, status=409))


@pytest.mark.parametrize("body", [b" ", b"[]", b"1", b"null", b'"x"', b"{", b"\xff", b'{"a": NaN}', b'{"a": 1, "a": 2}', b"[" * 5000])
def test_only_a_strict_object_is_a_body(hook, body):
    error_of(call(body, status=400))
    assert not Run.objects.exists()


@pytest.mark.parametrize("bad", [pytest.param(bad, id=bad.id) for bad in bad_inputs("json", kind="raw") if bad.id != ORDINARY])
def test_a_hostile_body_is_refused(hook, bad):
    raw = bad.value if isinstance(bad.value, bytes) else str(bad.value).encode("utf-8", "surrogatepass")
    began = time.thread_time()
    answer = call(raw, status=None)
    assert answer["ok"] is False, (bad.id, answer)
    assert time.thread_time() - began < 1
    assert not Run.objects.exists()


def test_a_large_body_is_refused_and_one_of_a_mebibyte_is_not(hook):
    frame = len(b'{"text": ""}')
    call(b'{"text": "%s"}' % (b"x" * (1024 * 1024 - frame)))
    error_of(call(b'{"text": "%s"}' % (b"x" * (1024 * 1024 - frame + 1)), status=413))
    error_of(call(b'{"text": "%s"}' % (b"x" * (3 * 1024 * 1024)), status=413))


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "", "multipart/form-data; boundary=x"])
def test_the_body_is_json_by_its_header(hook, content_type):
    given = signed(b"{}")
    error_of(Api()("POST", "/api/hooks/orders/", b"{}", status=415, content_type=content_type, **given))


def test_other_methods_are_refused_and_no_session_or_csrf_token_is_asked_for(hook):
    for method in ("GET", "PUT", "DELETE", "PATCH"):
        error_of(Api()(method, "/api/hooks/orders/", status=405))
    call({})


def test_too_many_calls_are_told_when_to_come_back_and_others_are_not_held_up(hook, monkeypatch):
    monkeypatch.setattr(door.PerCaller, "rate", "2/min")
    cache.clear()
    call({})
    call({}, status=200)
    api = Api()
    error_of(api("POST", "/api/hooks/orders/", b"{}", status=429, **signed(b"{}")))
    assert 0 < int(api.sent.headers["Retry-After"]) <= 60
    call({}, slug="another", status=404)


def test_fifty_calls_in_a_second_are_all_taken(hook):
    for number in range(50):
        call({}, request_id=f"r-{number}")
    assert Run.objects.count() == 50


def test_saving_makes_changes_and_removes_the_webhook_and_keeps_what_an_admin_set(hook, owner):
    assert (hook.slug, hook.node_id, hook.owner, hook.secret_env) == ("orders", "start", owner.user, "HERMES_HOOK_ORDERS")
    Hook.objects.update(may_send=True, secret_env="OTHER_SECRET")
    saved(owner, b.trigger("renamed", hook="orders"), b.approval("review"))
    kept = Hook.objects.get()
    assert (kept.pk, kept.node_id, kept.may_send, kept.secret_env) == (hook.pk, "renamed", True, "OTHER_SECRET")
    saved(owner, b.trigger(hook="incoming.orders-2"), b.approval("review"))
    fresh = Hook.objects.get()
    assert (fresh.slug, fresh.may_send, fresh.secret_env) == ("incoming.orders-2", False, "HERMES_HOOK_INCOMING_ORDERS_2")
    saved(owner, b.trigger(), b.approval("review"))
    assert not Hook.objects.exists()


def test_the_next_author_takes_over_from_one_who_may_not_start_any_more(hook, owner):
    other = b.person("dan", DESIGNER)
    saved(other, b.trigger(hook="orders"), b.approval("review"))
    assert Hook.objects.get().owner == owner.user
    owner.user.groups.clear()
    saved(other, b.trigger(hook="orders"), b.approval("again"))
    assert Hook.objects.get().owner == other.user


@pytest.mark.parametrize("slug", ["orders", "ORDERS".lower()])
def test_a_slug_belongs_to_one_design(hook, owner, slug):
    with pytest.raises(Invalid) as refused:
        saved(owner, b.trigger(hook=slug), b.approval("review"), name="other")
    (found,) = refused.value.extra["defects"]
    assert (found["node"], found["field"]) == ("start", "hook")
    assert not Design.objects.filter(slug="other").exists()


def test_two_slugs_never_share_a_secret(hook, owner, monkeypatch):
    saved(owner, b.trigger(hook="a-b"), b.approval("review"), name="first")
    with pytest.raises(Invalid):
        saved(owner, b.trigger(hook="a.b"), b.approval("review"), name="second")


def test_a_slug_is_free_again_once_its_design_is_deleted(hook, owner):
    services.delete_design(principal=owner, design=hook.design)
    saved(owner, b.trigger(hook="orders"), b.approval("review"), name="other")
    call({})


@pytest.mark.parametrize("slug", ["Orders", "a b", "../x", "x" * 65, "-x", 7, ["x"], "a/b", "ä"])
def test_a_slug_has_a_shape(hook, owner, slug):
    with pytest.raises(Invalid) as refused:
        saved(owner, b.trigger(hook=slug), b.approval("review"))
    assert [found["field"] for found in refused.value.extra["defects"]] == ["hook"]


def test_a_viewer_does_not_own_a_webhook_by_reading(hook):
    assert not hooks.may_start(b.person("vera", VIEWER).user, hook.design)


@pytest.mark.django_db(transaction=True)
def test_one_call_sent_many_times_at_once_is_one_run(performer):
    b.profile()
    saved(b.person("dora", DESIGNER), b.trigger(hook="orders"), b.approval("review"))
    answers: list[Any] = []

    def send(at: float) -> None:
        answers.append(call({"order": 1}, at=at, status=None))
        connections.close_all()

    now = time.time()
    threads = [Thread(target=send, args=(now - number % 2,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {answer["run_id"] for answer in answers} == {Run.objects.get().pk}
    assert sorted(answer["status"] for answer in answers) == ["accepted", *["duplicate"] * 7]
