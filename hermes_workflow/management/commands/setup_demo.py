"""`manage.py setup_demo`: roles, profiles, the shipped designs and the first admin."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from hermes_workflow import installation


class Command(BaseCommand):
    """Makes a migrated, empty installation usable; harmless to repeat."""

    help = "Create roles, profiles, the shipped designs and the first admin, as far as they are missing."

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the first admin's password once."""
        path = settings.HERMES_HOME / "admin-password"
        installation.create_roles()
        installation.create_profiles()
        installation.create_schedule()
        password = installation.create_first_admin(path)
        for name in installation.create_designs():
            self.stdout.write(f"Design: {name}")
        if password:
            self.stdout.write(f"First admin: {installation.FIRST_ADMIN}, password {password} (also in {path})")
        elif path.exists():
            self.stdout.write(f"First admin: {installation.FIRST_ADMIN}, password as made at the first start in {path}")
