"""What a new installation starts with: roles, profiles, designs, the first admin. Doing it again changes nothing an admin changed."""

import json
import secrets
from pathlib import Path

from django.contrib.auth.models import Group, User
from django.db import transaction
from django_q.models import Schedule

from hermes_workflow import services
from hermes_workflow.models import Design, Profile
from hermes_workflow.performers import BOOT, demo_argv
from hermes_workflow.rights import ADMIN, ROLES, Principal
from hermes_workflow.secret_key import write_once

EXAMPLES = Path(__file__).parent / "examples" / "designs"
FIRST_ADMIN = "admin"
DEMO_MODEL = "demo"
TITLES = {"none": "Nobody: steps wait for the chat agent", "demo": "Demo performer", "default": "Default"}


def create_roles() -> None:
    """One group per role."""
    for role in ROLES:
        Group.objects.get_or_create(name=role)


def create_profiles() -> None:
    """`none` parks, `demo` performs, `default` performs as `demo` until an admin configures it; all open to every user."""
    shipped: dict[str, object] = {"argv": demo_argv()}
    for name, title in TITLES.items():
        performer = Profile.Performer.NONE if name == "none" else Profile.Performer.SUBPROCESS
        settings, model = ({}, "") if name == "none" else (shipped, DEMO_MODEL)
        defaults = {"title": title, "performer": performer, "settings": settings, "model": model, "is_open": True}
        Profile.objects.get_or_create(name=name, defaults=defaults)
    follow_the_checkout(shipped)


def follow_the_checkout(shipped: dict[str, object]) -> None:
    """A moved checkout has another path to the demo performer; profiles that still run it go on doing so."""
    for profile in Profile.objects.filter(name__in=("demo", "default"), performer=Profile.Performer.SUBPROCESS):
        if is_shipped(profile.settings) and profile.settings.get("argv") != shipped["argv"]:
            profile.settings = {**profile.settings, **shipped}
            profile.save(update_fields=["settings"])


def is_shipped(settings: dict[str, object]) -> bool:
    """Whether these settings run our demo performer, wherever it was."""
    argv = settings.get("argv")
    return isinstance(argv, list) and BOOT in argv


@transaction.atomic
def create_first_admin(password_file: Path) -> str | None:
    """The new admin's random password, also written alone to `password_file`; None when there is a superuser already."""
    if User.objects.filter(is_superuser=True).exists():
        return None
    password = secrets.token_urlsafe(15)
    user = User.objects.create_superuser(FIRST_ADMIN, password=password)
    user.groups.add(Group.objects.get(name=ADMIN))
    password_file.unlink(missing_ok=True)
    write_once(password_file, password)
    return password


def create_designs() -> list[str]:
    """Save each shipped design that was never here, also not deleted; their names."""
    author = User.objects.filter(is_superuser=True, is_active=True).order_by("id").first()
    if author is None:
        return []
    missing = [path for path in sorted(EXAMPLES.glob("*.json")) if not Design.objects.filter(slug=path.stem).exists()]
    for path in missing:
        example = json.loads(path.read_text(encoding="utf-8"))
        services.save_design(principal=Principal(author), name=path.stem, **example, note="Shipped example")
    return [path.stem for path in missing]


def create_schedule() -> None:
    """The task queue beats the pulse each minute, should the pulse's own process be gone."""
    beat = {"func": "runs.tasks.pulse", "schedule_type": Schedule.MINUTES, "minutes": 1, "repeats": -1}
    Schedule.objects.update_or_create(name="pulse", defaults=beat)
