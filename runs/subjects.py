"""What a run is about, in a few words: the name of the file it works on, else the first words of its text."""

import json
import re
from collections.abc import Iterable

from django.db.models import TextField
from django.db.models.functions import Left, Right

from hermes_workflow.core.outputs import INPUT_SEQ
from hermes_workflow.words import shown
from runs.models import Event

LENGTH = 60
READ = 500
STRING = r'"((?:[^"\\]|\\u[0-9a-f]{4}|\\[^u])*)'
TEXT = re.compile(r'^\{"text":' + STRING)
FILENAME = re.compile(r',"filename":' + STRING + r'"\}\Z')


def subjects_of(run_ids: Iterable[str]) -> dict[str, str]:
    """One line per run, in one query that reads the two ends of each input: the input itself may be a megabyte."""
    head, tail = (end("body", READ, output_field=TextField()) for end in (Left, Right))
    rows = Event.objects.filter(run_id__in=set(run_ids), seq=INPUT_SEQ).annotate(head=head, tail=tail)
    return {run_id: subject(first or "", last or "") for run_id, first, last in rows.values_list("run_id", "head", "tail")}


def subject(head: str, tail: str) -> str:
    """The subject, from the beginning and the end of an input's compact JSON; empty when it has neither file nor text."""
    found = FILENAME.search(tail) or TEXT.match(head)
    words = " ".join(json.loads(f'"{found[1]}"').split()) if found else ""
    return shown(words if len(words) <= LENGTH else f"{words[: LENGTH - 1].rstrip()}…")
