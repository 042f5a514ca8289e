"""What only an attacker sends: refused by every door before anything is kept, and never our own mistake."""

import pytest

from hermes_workflow.core.errors import Malformed
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


def test_no_door_keeps_a_nul():
    run_id = b.started(b.approval("review"))
    before = Event.objects.count(), Run.objects.count()
    with pytest.raises(Malformed, match="reason: NUL"):
        services.cancel_run(principal=b.admin(), run_id=run_id, reason="a\0b")
    with pytest.raises(Malformed, match="idempotency_key: NUL"):
        b.started(b.approval("review"), key="a\0b")
    assert (Event.objects.count(), Run.objects.count()) == before
