"""The project's own app: designs, profiles, tokens."""

from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig


class HermesWorkflowConfig(AppConfig):
    """Designs and who may use them."""

    name = "hermes_workflow"
    default = True
    verbose_name = "Workflows"
    default_auto_field = "django.db.models.BigAutoField"


class HermesAdminConfig(AdminConfig):
    """Django's admin on our site."""

    default_site = "hermes_workflow.admin_site.AdminSite"
