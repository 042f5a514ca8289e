"""The project's own app: designs, profiles, tokens."""

from django.apps import AppConfig


class HermesWorkflowConfig(AppConfig):
    """Designs and who may use them."""

    name = "hermes_workflow"
    verbose_name = "Designs"
    default_auto_field = "django.db.models.BigAutoField"
