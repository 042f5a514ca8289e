"""What the parts below bring along: wrong passwords and lockouts can be lifted, failed rings looked at, the rest is hidden."""

from axes import admin as axes_admin
from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.contrib import admin
from django_q import admin as queue_admin
from django_q.models import Failure, OrmQ, Schedule, Success

from hermes_workflow.admin.access import Removable
from hermes_workflow.admin.shown import Shown

# They register on import; what is registered by then can be taken back.
assert axes_admin
assert queue_admin
for model in (AccessAttempt, AccessFailureLog, AccessLog, Failure, OrmQ, Schedule, Success):
    if admin.site.is_registered(model):
        admin.site.unregister(model)


@admin.register(AccessAttempt)
class LockoutAdmin(Removable):
    """Deleting a row lifts the lockout."""

    list_display = ("username", "ip_address", "failures_since_start", "attempt_time")
    search_fields = ("username", "ip_address")
    fields = ("username", "ip_address", "user_agent", "failures_since_start", "attempt_time")
    readonly_fields = fields


@admin.register(Failure)
class FailedRingAdmin(Shown):
    """Rings that failed. The work itself is in the runs, and the pulse rings again."""

    list_display = ("func", "started", "stopped", "attempt_count")
    ordering = ("-started",)
    fields = ("func", "started", "stopped", "attempt_count", "result")
    readonly_fields = fields

    def get_fields(self, request: object, obj: object = None) -> list[str]:
        """What tells why."""
        return list(self.fields)

    get_readonly_fields = get_fields
