"""The app of runs; installs the append-only guard after each migration."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class RunsConfig(AppConfig):
    """Runs, their history, attempts and gates."""

    name = "runs"
    verbose_name = "Operation"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """SQLite drops triggers when a migration rebuilds a table, so the guard is put back after every migrate."""
        from runs import append_only

        post_migrate.connect(append_only.install, sender=self)
