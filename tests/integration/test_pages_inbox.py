"""The inbox page: what it lists and counts, what it keeps, and what reading it never does."""

from datetime import timedelta

import pytest
import time_machine
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from approvals.services import answer_gate, respond
from hermes_workflow.models import Preference
from hermes_workflow.rights import OPERATOR, VIEWER, Principal
from hermes_workflow.templatetags.hermes import icon as as_icon
from runs.models import Event, Gate, Run
from runs.subjects import subjects_of
from tests import builders as b
from tests.fakes import text
from tests.integration.approvals_builders import parked, reviewer
from tests.pages import browser, part

pytestmark = pytest.mark.django_db(transaction=True)

PLACES = ["/", "/inbox/", "/inbox/?show=everyone", "/runs/", "/designs/", "/account/", "/notices/", "/search/?q=flow", "/counts/"]


@pytest.mark.parametrize("path", [*PLACES, "/inbox/1/", "/runs/abcdef/", "/designs/flow/", "/account/link/"])
def test_every_page_asks_for_sign_in_first_and_leads_back(client, path):
    response = client.get(path)
    assert response.status_code == 302
    assert response.headers["Location"].startswith("/login/?next=/")


def test_a_part_of_a_page_sends_the_whole_page_to_the_sign_in(client):
    response = client.get("/inbox/", headers={**part("gate-rows"), "HX-Current-URL": "http://testserver/inbox/7/"})
    assert response.headers["HX-Redirect"] == "/login/?next=/inbox/7/"


@pytest.mark.parametrize("address", ["http://[", "//[x", "http://[::1/"])
def test_a_part_around_which_there_is_no_page_leads_to_the_first_page(client, address):
    response = client.get("/inbox/", headers={**part("gate-rows"), "HX-Current-URL": address})
    assert response.headers["HX-Redirect"] == "/login/?next=/"


@pytest.mark.parametrize("path", PLACES)
def test_reading_changes_nothing(path):
    parked()
    before = Event.objects.count()
    client = browser(reviewer("ann"))
    for method in (client.get, client.head):
        assert method(path).status_code in (200, 405)
    assert Event.objects.count() == before


def test_the_list_the_tabs_and_the_badge_count_alike():
    for name in ("one", "two", "three"):
        parked(name=name)
    reviewer("ben")
    parked(name="four", assignees=["user:ben"])
    page = browser(reviewer("ann")).get("/inbox/").text
    assert page.count('class="gate-row ') == 3
    assert '<span id="count-mine">3</span>' in page
    assert '<span id="count-all">4</span>' in page
    assert 'id="inbox-badge-top" >3<' in page


def test_oldest_waits_first_and_the_first_is_shown_beside():
    first, second = parked(), parked(name="other")
    page = browser(reviewer("ann")).get("/inbox/").text
    assert page.index(f'id="gate-row-{first.pk}"') < page.index(f'id="gate-row-{second.pk}"')
    assert f'id="gate-detail" aria-label="Gate" data-keep data-scroll data-gate-id="{first.pk}"' in page


def test_a_row_that_somebody_else_answered_stays_until_the_person_moves_on():
    first, second = parked(), parked(name="other")
    answer_gate(principal=reviewer("ben"), gate_id=first.pk, answer="approve")
    client = browser(reviewer("ann"))
    kept = client.get("/inbox/", {"shown": f"{first.pk},{second.pk}"}, headers=part("gate-rows")).text
    assert "Answered by ben: approve" in kept
    assert '<span id="count-mine" hx-swap-oob="true">1</span>' in kept
    assert f'id="gate-row-{first.pk}"' not in client.get("/inbox/", {"shown": str(second.pk)}, headers=part("gate-rows")).text


@pytest.mark.parametrize("shown", ["1,2,x", "9" * 40, "-1", ",,", "1 OR 1=1", "²"])
def test_a_hostile_list_of_shown_rows_is_read_as_far_as_it_makes_sense(shown):
    parked()
    assert browser(reviewer("ann")).get("/inbox/", {"shown": shown}, headers=part("gate-rows")).status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/inbox/?show=all",
        "/inbox/?after=1",
        "/inbox/?after=2026-01-01T00:00:00_1",
        "/inbox/?after=2026-99-01T00:00:00Z_1",
        "/runs/?status=lost",
        "/runs/?origin=x",
    ],
)
def test_a_question_that_makes_no_sense_is_a_400_page_that_says_so(path):
    page = browser(reviewer("ann")).get(path)
    assert page.status_code == 400
    assert "must be" in page.text


@pytest.mark.parametrize(
    "path", ["/inbox/99999999999999999999/", "/inbox/999999999999999999/", "/runs/zzz/", "/runs/ffffff/", "/designs/UP/", "/designs/none/"]
)
def test_what_is_not_there_is_a_404_page(path):
    b.profile()
    assert browser(reviewer("ann")).get(path).status_code == 404


def test_pages_of_the_inbox_follow_each_other():
    gates = [parked(name=f"flow-{number}") for number in range(3)]
    client = browser(reviewer("ann"))
    place = f"{gates[0].waiting_since.isoformat().replace('+00:00', 'Z')}_{gates[0].pk}"
    page = client.get("/inbox/", {"after": place}).text
    assert f'id="gate-row-{gates[0].pk}"' not in page
    assert page.count('class="gate-row ') == 2


def test_a_passed_deadline_is_honoured_by_reading():
    gate = parked(timeout_minutes=1)
    ann = reviewer("ann")
    with time_machine.travel(timezone.now() + timedelta(minutes=2), tick=False):
        page = browser(ann).get(reverse("gate", args=[gate.pk])).text
    assert "timed out" in page
    assert 'name="answer"' not in page
    assert Run.objects.get(pk=gate.run_id).status == "failed"


def test_what_an_answer_does_and_what_happens_without_one_is_said():
    b.profile()
    gate = parked(timeout_minutes=60, stop_on=["reject"])
    page = browser(reviewer("ann")).get(reverse("gate", args=[gate.pk])).text
    assert "The run finishes." in page
    assert "The run fails" in page
    assert "the run fails with “approval timed out”" in page
    assert "one reject stops it" in page


def test_what_changed_since_the_last_time_and_what_one_chose_then_are_shown(performer):
    ann = reviewer("ann")
    nodes = (b.agent("draft"), b.approval("review"), b.output("out"))
    performer.does("draft", text("The fee is 10."), text("The fee is 12."))
    for _ in range(2):
        run_id = b.started(*nodes)
        b.work(run_id)
        gate = Gate.objects.get(run_id=run_id)
        if gate.pk == Gate.objects.order_by("pk").first().pk:
            answer_gate(principal=ann, gate_id=gate.pk, answer="reject", comment="Too dear.")
    page = browser(ann).get(reverse("gate", args=[gate.pk])).text
    assert "<del>The fee is 10.</del>" in page
    assert "<ins>The fee is 12.</ins>" in page
    assert "Last time you chose <strong>reject</strong>" in page
    assert "Too dear." in page


def test_times_are_in_the_zone_of_the_person():
    gate = parked()
    Gate.objects.filter(pk=gate.pk).update(waiting_since=timezone.now() - timedelta(hours=1))
    ann = reviewer("ann")
    Preference.objects.create(user=ann.user, timezone="Asia/Kolkata")
    assert "+05:30" in browser(ann).get(reverse("gate", args=[gate.pk])).text


def test_a_page_of_fifty_gates_asks_the_database_a_bounded_number_of_times(django_assert_max_num_queries):
    first = parked()
    client = browser(reviewer("ann"))
    client.get("/inbox/")
    with django_assert_max_num_queries(45):
        client.get("/inbox/")
    for number in range(8):
        parked(name=f"flow-{number}")
    assert first
    with django_assert_max_num_queries(45):
        client.get("/inbox/")


def test_a_person_without_a_role_sees_an_empty_inbox_and_no_data():
    parked()
    User.objects.create_user("nobody")
    page = browser(Principal(User.objects.get(username="nobody"))).get("/inbox/?show=everyone")
    assert page.status_code == 200
    assert "review?" not in page.text


def test_a_viewer_reads_everything_and_is_asked_nothing():
    gate = parked()
    page = browser(b.person("vic", VIEWER)).get("/inbox/").text
    assert '<span id="count-mine">0</span>' in page
    assert "1 other gate is open for everyone" in page
    assert f'id="gate-row-{gate.pk}"' not in page


@pytest.mark.parametrize(("answer", "icon"), [("approve", "tick"), ("reject", "close"), ("later", "tick")])
def test_a_gate_that_is_over_says_how_it_ended_and_counts_nothing_down(answer, icon):
    gate, ann = parked(timeout_minutes=60, options=["approve", "reject", "later"]), reviewer("ann")
    answer_gate(principal=ann, gate_id=gate.pk, answer=answer)
    page = browser(ann).get(reverse("gate", args=[gate.pk])).text
    assert "<dt>Ended</dt>" in page
    assert "min left" not in page
    row = browser(ann).get("/inbox/?show=answered").text
    assert f'<span class="tile" title="answered">{as_icon(icon)}</span>' in row


def test_a_step_performed_by_hand_last_time_is_called_performed():
    b.profile(performer="none")
    ann = reviewer("ann")
    for _ in range(2):
        b.started(b.agent("draft"), b.output("out"))
    first, second = Gate.objects.order_by("pk")
    respond(principal=ann, run_id=first.run_id, node_id="draft", gate_id=first.pk, output="By hand.", channel="web")
    page = browser(ann).get(reverse("gate", args=[second.pk])).text
    assert "Last time you performed this step" in page


def test_gates_of_one_design_are_told_apart_by_what_their_runs_are_about(django_assert_num_queries):
    olga = b.person("olga", OPERATOR)
    gates = [parked(by=olga, run={"input": {"text": f"Offer <{number}>" + " more" * 9000}}) for number in range(2)]
    ann = browser(reviewer("ann"))
    for page in (ann.get("/inbox/").text, ann.get("/runs/").text):
        assert page.count("Offer &lt;0&gt; more") >= 1
        assert page.count("Offer &lt;1&gt; more") >= 1
    shown = ann.get(reverse("gate", args=[gates[1].pk])).text
    assert "started by olga" in shown
    with django_assert_num_queries(1):
        assert len(subjects_of(gate.run_id for gate in gates)) == 2
