"""How pages say times, sizes, states and names."""

from datetime import UTC, datetime, timedelta

import pytest
from django.template import Context, Template
from django.utils import timezone

from hermes_workflow import words
from hermes_workflow.icons import ICONS, KIND_ICONS, OPTION_ICONS, STATE_ICONS, STATUS_ICONS

NOW = datetime(2026, 11, 30, 15, 16, tzinfo=UTC)


def render(text, **context):
    return Template("{% load hermes %}" + text).render(Context(context))


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "under 1 min"), (-5, "under 1 min"), (1860, "31 min"), (8040, "2 h 14 min"), (7200, "2 h"), (97200, "1 d 3 h"), (172800, "2 d")],
)
def test_a_wait_is_said_in_its_two_largest_units(seconds, said):
    assert words.span(seconds) == said


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.001, "1 ms"), (1.84, "1.8 s"), (59.97, "59.9 s"), (242, "4 min 02 s"), (6060, "1 h 41 min")]
)
def test_a_duration_is_as_exact_as_it_is_short(seconds, said):
    assert words.took(seconds) == said


@pytest.mark.parametrize(
    ("left", "since", "urgency"),
    [
        (timedelta(hours=3, minutes=48), timedelta(minutes=12), "normal"),
        (timedelta(hours=2), timedelta(hours=22), "soon"),
        (timedelta(minutes=46), timedelta(0), "soon"),
        (timedelta(minutes=8), timedelta(0), "urgent"),
        (timedelta(0), timedelta(hours=1), "passed"),
    ],
)
def test_a_deadline_grows_urgent_with_a_quarter_or_an_hour_and_then_ten_minutes_left(left, since, urgency):
    assert words.left(NOW + left, now=NOW, since=NOW - since).urgency == urgency


def test_a_passed_deadline_says_what_it_did():
    passed = NOW - timedelta(minutes=40)
    assert words.left(passed, now=NOW, on_timeout="escalate").text == "escalated 40 min ago"
    assert words.left(passed, now=NOW).text == "closed at 14:36, timed out"


def test_the_meter_shows_the_share_of_time_used():
    assert words.left(NOW + timedelta(hours=1), now=NOW, since=NOW - timedelta(hours=3)).used == 0.75


@pytest.mark.parametrize(
    ("at", "said"),
    [
        (NOW - timedelta(hours=2), "13:16 today"),
        (NOW - timedelta(hours=20), "Yesterday"),
        (NOW + timedelta(hours=12), "03:16 tomorrow"),
        (datetime(2026, 10, 12, tzinfo=UTC), "12 Oct"),
        (datetime(2025, 10, 12, tzinfo=UTC), "12 Oct 2025"),
    ],
)
def test_a_moment_is_said_by_its_distance(at, said):
    assert words.when(at, now=NOW) == said


@pytest.mark.parametrize(("count", "said"), [(0, "0 B"), (999, "999 B"), (3200, "3.2 kB"), (999_999, "1.0 MB"), (2_500_000_000, "2.5 GB")])
def test_a_size_is_in_decimal_units(count, said):
    assert words.size(count) == said


@pytest.mark.parametrize(("name", "letters"), [("Priya Nair", "PN"), ("priya.nair", "PN"), ("admin", "AD"), ("", ""), ("a b c", "AC")])
def test_initials_are_at_most_two_capitals(name, letters):
    assert words.initials(name) == letters


def test_a_time_carries_its_exact_moment_in_the_readers_zone():
    with timezone.override("Europe/Berlin"):
        html = render("{{ at|when:now }}", at="2026-11-30T12:02:06Z", now=NOW)
    assert 'title="2026-11-30 13:02:06 CET"' in html
    assert ">13:02 today<" in html


def test_a_deadline_in_a_template_shows_words_and_urgency():
    html = render("{% time_left at since 'reject' now %}", at=NOW + timedelta(minutes=46), since=NOW - timedelta(hours=2), now=NOW)
    assert 'class="left-soon"' in html
    assert ">46 min left<" in html


def test_no_deadline_is_said():
    assert "no deadline" in render("{% time_left None %}")


@pytest.mark.parametrize("value", [None, "", "yesterday", 7])
def test_what_is_no_time_shows_nothing(value):
    assert render("{{ at|when }}{{ at|ago }}{{ at|waiting_since }}{{ at|clock }}", at=value) == ""


def test_a_name_in_an_avatar_cannot_break_out():
    assert "<script>" not in render("{% avatar name %}", name='"><script>x</script>')


def test_every_status_has_a_shape_and_a_word():
    html = render("{% status_chip 'awaiting_approval' %}")
    assert "chip-awaiting_approval" in html
    assert "Needs approval" in html


def test_only_known_option_words_get_an_icon():
    assert render("{% with look='Approve'|option_look %}{{ look.icon }}{% endwith %}") == "tick"
    assert render("{% with look='ship it'|option_look %}{{ look.icon }}{% endwith %}") == ""


def test_every_icon_that_is_named_is_drawn():
    named = {*STATUS_ICONS.values(), *KIND_ICONS.values(), *STATE_ICONS.values(), *(icon for icon, _ in OPTION_ICONS.values())}
    assert named <= set(ICONS)
