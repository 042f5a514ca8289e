"""The app of approvals."""

from django.apps import AppConfig


class ApprovalsConfig(AppConfig):
    """Decisions and the people behind them."""

    name = "approvals"
    default_auto_field = "django.db.models.BigAutoField"
