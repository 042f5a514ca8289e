"""A new installation can be used at once, and setting it up again changes nothing."""

import stat

import pytest
from django.contrib.auth.models import Group, User
from django_q.models import Schedule

from hermes_workflow.installation import create_designs, create_first_admin, create_profiles, create_roles, create_schedule
from hermes_workflow.models import Design, Profile

pytestmark = pytest.mark.django_db


def test_the_first_admin_gets_a_random_password_that_only_the_owner_can_read(tmp_path):
    create_roles()
    password = create_first_admin(tmp_path / "admin-password")
    admin = User.objects.get(username="admin")
    assert admin.check_password(password)
    assert admin.is_superuser
    assert (tmp_path / "admin-password").read_text() == f"{password}\n"
    assert stat.S_IMODE((tmp_path / "admin-password").stat().st_mode) == 0o600


def test_a_second_start_makes_no_second_admin(tmp_path):
    create_roles()
    first = create_first_admin(tmp_path / "admin-password")
    assert create_first_admin(tmp_path / "admin-password") is None
    assert (tmp_path / "admin-password").read_text().strip() == first


def test_every_role_is_a_group():
    create_roles()
    create_roles()
    assert set(Group.objects.values_list("name", flat=True)) == {"admin", "designer", "operator", "reviewer", "viewer", "bot"}


def test_the_shipped_profiles_are_open_and_two_of_them_perform():
    create_profiles()
    shipped = {profile.name: (profile.performer, profile.is_open) for profile in Profile.objects.all()}
    assert shipped == {"none": ("none", True), "demo": ("subprocess", True), "default": ("subprocess", True)}


def test_a_profile_that_an_admin_configured_stays_as_it_is():
    create_profiles()
    Profile.objects.filter(name="default").update(settings={"argv": ["/opt/agent"]}, is_open=False)
    create_profiles()
    profile = Profile.objects.get(name="default")
    assert profile.settings == {"argv": ["/opt/agent"]}
    assert not profile.is_open


def test_a_moved_checkout_still_finds_the_demo_performer():
    create_profiles()
    shipped = Profile.objects.get(name="demo").settings
    Profile.objects.filter(name="demo").update(settings={**shipped, "argv": [*shipped["argv"][:-1], "/elsewhere"]})
    create_profiles()
    assert Profile.objects.get(name="demo").settings == shipped


@pytest.fixture
def installed(tmp_path):
    create_roles()
    create_profiles()
    create_first_admin(tmp_path / "admin-password")


def test_three_designs_are_there_from_the_start(installed):
    assert len(create_designs()) == 3
    assert all(design.current.number == 1 for design in Design.objects.all())


def test_a_shipped_design_that_was_deleted_or_changed_stays_so(installed):
    create_designs()
    Design.objects.filter(slug=Design.objects.first().slug).update(deleted_at="2026-01-01T00:00:00Z")
    assert create_designs() == []
    assert Design.objects.filter(deleted_at=None).count() == 2


def test_the_task_queue_holds_one_schedule_whatever_happens():
    create_schedule()
    create_schedule()
    assert list(Schedule.objects.values_list("func", "minutes")) == [("runs.tasks.pulse", 1)]
