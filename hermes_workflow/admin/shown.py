"""Rows that are looked at and never written: stored values and texts shown so that nothing in them is invisible."""

from collections.abc import Callable, Sequence
from typing import Any

from django.db.models import Field, ForeignKey, Model, TextField
from django.http import HttpRequest
from django.utils.html import format_html
from unfold.decorators import display
from unfold.paginator import InfinitePaginator

from hermes_workflow.admin.access import ReadOnly
from hermes_workflow.fields import JSONText
from hermes_workflow.words import shown

Column = str | Callable[[Any], str]
LONGEST = 20_000


def as_text(field: Field) -> Callable[[Any], str]:
    """A column that shows a stored value or text of others."""

    @display(description=str(field.verbose_name).capitalize())
    def column(row: Model) -> str:
        value = getattr(row, field.attname)
        return "" if value is None else format_html('<pre class="hermes-value">{}</pre>', shown(value)[:LONGEST])

    return column


class Shown(ReadOnly):
    """A table that may be large, newest first; columns of related rows are read with the page."""

    paginator = InfinitePaginator
    show_full_result_count = False
    list_per_page = 50
    ordering: Sequence[str] = ("-pk",)
    search_fields: Sequence[str] = ()
    hidden: Sequence[str] = ()

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """Every column but the hidden ones."""
        return [self._column(field) for field in self.opts.concrete_fields if field.name not in self.hidden]

    def _column(self, field: Field) -> Column:
        return as_text(field) if isinstance(field, JSONText | TextField) and not isinstance(field, ForeignKey) else field.name

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """All of them."""
        return self.get_fields(request, obj)
