"""`manage.py reproject`: rebuilds what is projected from events, or checks it."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import QuerySet

from hermes_workflow.core.errors import NeedsNewerCode
from runs import projections
from runs.models import Run


class Command(BaseCommand):
    """One line per difference; `--check` changes nothing and exits 1 when there is one."""

    help = "Compare every row of runs with their events, and write again what differs."

    def add_arguments(self, parser: CommandParser) -> None:
        """`[--check] [RUN_ID]`."""
        parser.add_argument("run_id", nargs="?", help="only this run")
        parser.add_argument("--check", action="store_true", help="change nothing; exit 1 on a difference")

    def handle(self, *args: Any, run_id: str | None, check: bool, **options: Any) -> None:
        """Say what differs, then how much was looked at."""
        runs = chosen(run_id)
        names = list(runs.values_list("pk", flat=True))
        different = sum(self.look(runs.get(pk=name), check=check) for name in names)
        if options["verbosity"]:
            self.stdout.write(f"{len(names)} runs, {different} {'differ' if check else 'mended'}")
        if check and different:
            raise CommandError("the rows are not what the events say", returncode=1)

    def look(self, run: Run, *, check: bool) -> bool:
        """Whether the run differed."""
        try:
            found = [str(one) for one in (projections.differences(run) if check else projections.rebuild(run.pk))]
        except NeedsNewerCode as error:
            found = [error.msg]
        for line in found:
            self.stdout.write(f"{run.pk} {line}")
        return bool(found)


def chosen(run_id: str | None) -> QuerySet[Run]:
    """All runs, or the one that is named."""
    runs = Run.objects.select_related("version", "design").order_by("created_at", "id")
    if run_id is None:
        return runs
    if not runs.filter(pk=run_id).exists():
        raise CommandError(f"there is no run {run_id}", returncode=1)
    return runs.filter(pk=run_id)
