"""The bell of a person: what was delivered to them counts as read once they say so."""

from django.utils import timezone

from hermes_workflow.rights import Principal
from runs.models import Notice


def read_all(*, principal: Principal) -> None:
    """Every notice of the principal is read."""
    Notice.objects.filter(user=principal.user, read_at=None).update(read_at=timezone.now())
