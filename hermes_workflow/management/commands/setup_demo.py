"""`manage.py setup_demo`: roles, profiles, the shipped designs and the first admin."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from hermes_workflow.installation import FIRST_ADMIN, create_first_admin, create_profiles, create_roles


class Command(BaseCommand):
    """Makes a migrated, empty installation usable; harmless to repeat."""

    help = "Create roles, profiles, the shipped designs and the first admin, as far as they are missing."

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the first admin's password once."""
        create_roles()
        create_profiles()
        path = settings.HERMES_HOME / "admin-password"
        if password := create_first_admin(path):
            self.stdout.write(f"First admin: {FIRST_ADMIN}, password {password} (also in {path})")
        elif path.exists():
            self.stdout.write(f"First admin: {FIRST_ADMIN}, password as made at the first start in {path}")
