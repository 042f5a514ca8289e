"""In-app notices: a line in the bell of each person who is meant, once per source."""

from django.contrib.auth import get_user_model
from django.utils import timezone

from runs.models import Notice

TEXT_LIMIT = 4000


def people(target: str) -> list[tuple[int, str]]:
    """`(id, name)` of the active users that `user:ann` or `group:legal` means."""
    kind, _, who = target.partition(":")
    users = get_user_model()._default_manager.filter(is_active=True)
    if kind == "user":
        users = users.filter(username=who)
    elif kind == "group":
        users = users.filter(groups__name=who)
    else:
        return []
    return list(users.order_by("id").values_list("id", "username"))


def notify(*, target: str, run_id: str, source: str, title: str, text: str) -> list[str]:
    """Put the notice into each bell; again under the same source adds nothing. Returns the names of those who have it."""
    reached = people(target)
    shared = {"run_id": run_id, "source": source, "title": title[:300], "text": text[:TEXT_LIMIT], "created_at": timezone.now()}
    rows = [Notice(user_id=user_id, **shared) for user_id, _ in reached]
    Notice.objects.bulk_create(rows, ignore_conflicts=True)
    return [name for _, name in reached]
