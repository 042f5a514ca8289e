"""What only an attacker sends: refused by every door before anything is kept, and never our own mistake."""

import random
import time
from typing import Any

import pytest

from hermes_workflow.admin.versions import difference
from hermes_workflow.core.errors import Malformed
from hermes_workflow.models import DesignVersion
from hermes_workflow.services import check_document
from runs import services
from runs.models import Event, Run
from tests import builders as b
from tests.api import Api
from tests.pages import browser

pytestmark = pytest.mark.django_db

BEFORE_AND_AFTER_TIME = ["9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00", "1969-12-31T23:59:59Z"]


@pytest.mark.parametrize("moment", BEFORE_AND_AFTER_TIME)
@pytest.mark.parametrize("name", ["since", "until"])
def test_a_moment_that_is_in_no_year_of_utc_is_malformed(api: Api, moment: str, name: str):
    api.get(f"/api/runs/?{name}={moment.replace('+', '%2B')}", status=400)


@pytest.mark.parametrize("moment", BEFORE_AND_AFTER_TIME)
@pytest.mark.parametrize("show", ["mine", "everyone", "answered"])
def test_a_place_in_the_inbox_that_is_in_no_year_of_utc_is_malformed(moment: str, show: str):
    response = browser(b.admin()).get("/inbox/", {"show": show, "after": f"{moment}_1"})
    assert response.status_code == 400


def test_an_output_that_looks_like_a_reference_is_never_followed_elsewhere():
    run_id = b.started(b.agent("draft"), perform="caller")
    b.performed(run_id, "draft", {"$ref": "javascript:alert(1)"})
    assert b.document(run_id)["outputs"] == {"draft": {"$ref": f"/api/runs/{run_id}/outputs/draft/"}}
    page = browser(b.admin()).get(f"/runs/{run_id}/").content.decode()
    assert 'href="javascript:' not in page
    assert Api(b.admin()).get(f"/api/runs/{run_id}/outputs/draft/") == {"$ref": "javascript:alert(1)"}


@pytest.mark.parametrize(
    "path", ["/runs/?name=%00", "/runs/?before=a%00", "/search/?q=%00", "/admin/auth/user/?username=%00", "/api/runs/?name=%00"]
)
def test_an_address_with_a_nul_is_refused(path: str):
    assert browser(b.admin()).get(path).status_code == 400


@pytest.mark.parametrize(
    "query", ["created_at__year=99999999999999", "seq__gt=1", "error__regex=(a%2B)%2B$", "started_by__password__startswith=p"]
)
def test_the_admin_filters_by_what_it_offers_alone(query: str):
    client = browser(b.admin())
    assert client.get(f"/admin/runs/run/?{query}").status_code == 400
    for offered in ("status__exact=done", "profile__id__exact=1"):
        assert client.get(f"/admin/runs/run/?{offered}").status_code == 200
    assert client.get("/admin/auth/user/?groups__id__exact=1&is_active__exact=1").status_code == 200
    assert client.get("/admin/hermes_workflow/design/?profile__id__exact=1").status_code == 200


def test_a_cookie_and_a_form_with_a_nul_are_refused():
    client = browser(b.admin())
    assert client.post("/account/timezone/", {"time\0zone": "UTC"}).status_code == 400
    assert client.post("/account/timezone/", {"timezone": "UTC"}).status_code == 302
    client.cookies.load({"other": "a\0b"})
    assert client.get("/inbox/").status_code == 400


def test_a_document_that_names_thousands_of_people_is_checked_in_a_few_queries(django_assert_max_num_queries: Any):
    b.person("ann")
    root = b.admin()
    names = [f"user:nobody-{number}" for number in range(99)]
    gates = [b.approval(f"gate{number}", "start", assignees=["user:ann", *names], escalate_to="group:none") for number in range(40)]
    with django_assert_max_num_queries(8):
        defects = check_document(root, "design", b.design(*gates))
    assert len(defects) == 40 * 100
    assert {(defect["field"], defect["msg"].partition(",")[0]) for defect in defects} == {
        ("assignees", "no such user or group"),
        ("escalate_to", "no such user or group"),
    }


def test_two_versions_of_very_many_lines_are_compared_within_a_second():
    chosen = random.Random(1)
    old, new = (DesignVersion(document=chosen.choices(range(150), k=40_000)) for _ in range(2))
    started = time.thread_time()
    assert difference(old, new)
    assert time.thread_time() - started < 2


def test_no_door_keeps_a_nul():
    run_id = b.started(b.approval("review"))
    before = Event.objects.count(), Run.objects.count()
    with pytest.raises(Malformed, match="reason: NUL"):
        services.cancel_run(principal=b.admin(), run_id=run_id, reason="a\0b")
    with pytest.raises(Malformed, match="idempotency_key: NUL"):
        b.started(b.approval("review"), key="a\0b")
    assert (Event.objects.count(), Run.objects.count()) == before
