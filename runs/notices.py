"""The bell of a person: what was delivered to them counts as read once they open it or say so."""

from django.utils import timezone

from hermes_workflow.core.errors import NotFound
from hermes_workflow.rights import Principal
from runs.models import Notice


def read_all(*, principal: Principal) -> None:
    """Every notice of the principal is read."""
    Notice.objects.filter(user=principal.user, read_at=None).update(read_at=timezone.now())


def read_one(*, principal: Principal, notice_id: int) -> Notice:
    """The notice, read from now on. Raises NotFound, also for one in another person's bell."""
    found = Notice.objects.filter(user=principal.user, pk=notice_id).first()
    if found is None:
        raise NotFound("there is no such notification")
    Notice.objects.filter(pk=found.pk, read_at=None).update(read_at=timezone.now())
    return found
