"""Pages by key: a page begins where another ended, so that new rows shift nothing and a deep page costs what the first does."""

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from django.db.models import DateTimeField, IntegerField, Model, Q, QuerySet
from django.http import HttpRequest
from django.utils.http import urlencode

from hermes_workflow.core.documents import canonical, read_json
from hermes_workflow.core.errors import HermesError, Malformed
from hermes_workflow.http.queries import PAGE_SIZE, read_moment

BIGGEST = 2**63 - 1
Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True, slots=True)
class Cursor:
    """The row that a page begins after, or (backwards) ends before: its values in the order of the list."""

    values: tuple[Any, ...]
    backwards: bool = False

    def text(self) -> str:
        """The opaque form that clients send back."""
        plain = [value.isoformat() if isinstance(value, datetime) else value for value in self.values]
        return base64.urlsafe_b64encode(canonical([self.backwards, *plain]).encode()).decode().rstrip("=")


def read_cursor(given: str, kinds: Sequence[type]) -> Cursor:
    """The cursor that `Cursor.text` wrote, its values of `kinds` (datetime, int or str). Raises Malformed."""
    try:
        backwards, *values = read_json(base64.b64decode(given + "=" * (-len(given) % 4), altchars=b"-_", validate=True))
        if type(backwards) is not bool:
            raise TypeError
        return Cursor(tuple(_value(value, kind) for value, kind in zip(values, kinds, strict=True)), backwards)
    except (HermesError, ValueError, TypeError, binascii.Error):
        raise Malformed("cursor: must be taken from next or previous of a page") from None


def _value(value: Any, kind: type[Any]) -> Any:
    if kind is datetime:
        return read_moment(value)
    if type(value) is not kind or (isinstance(value, int) and not -BIGGEST <= value <= BIGGEST):
        raise ValueError
    return value


def page(
    request: HttpRequest, query: Mapping[str, Any], rows: QuerySet[Row], order: Sequence[str], show: Callable[[Row], Any]
) -> dict[str, Any]:
    """`{results, next, previous}` of `rows` in `order` (as for `order_by`, ending in something unique)."""
    size = query.get("page_size", PAGE_SIZE)
    cursor = read_cursor(query["cursor"], _kinds(rows.model, order)) if "cursor" in query else None
    backwards = cursor is not None and cursor.backwards
    direction = [_flipped(name) for name in order] if backwards else list(order)
    if cursor:
        rows = rows.filter(_beyond(direction, cursor.values))
    found = list(rows.order_by(*direction)[: size + 1])
    more, found = len(found) > size, found[:size]
    if backwards:
        found.reverse()
    return {
        "results": [show(row) for row in found],
        "next": _link(request, found[-1], order, False) if found and (more or backwards) else None,
        "previous": _link(request, found[0], order, True) if found and (more if backwards else cursor) else None,
    }


def _kinds(model: type[Model], order: Sequence[str]) -> list[type]:
    fields = [model._meta.get_field(name.lstrip("-")) for name in order]
    return [datetime if isinstance(field, DateTimeField) else int if isinstance(field, IntegerField) else str for field in fields]


def _flipped(name: str) -> str:
    return name[1:] if name.startswith("-") else f"-{name}"


def _beyond(order: Sequence[str], values: Sequence[Any]) -> Q:
    """What comes after the row of `values`; the first condition alone lets an index find the place."""
    found, equal = Q(), Q()
    for name, value in zip(order, values, strict=True):
        field, operator = name.lstrip("-"), "lt" if name.startswith("-") else "gt"
        found |= equal & Q(**{f"{field}__{operator}": value})
        equal &= Q(**{field: value})
    first, operator = order[0].lstrip("-"), "lte" if order[0].startswith("-") else "gte"
    return Q(**{f"{first}__{operator}": values[0]}) & found


def _link(request: HttpRequest, row: Model, order: Sequence[str], backwards: bool) -> str:
    values = tuple(getattr(row, name.lstrip("-")) for name in order)
    return link(request, Cursor(values, backwards))


def link(request: HttpRequest, cursor: Cursor) -> str:
    """The address of the page that `cursor` names, with the filters of this request."""
    kept = {name: str(value) for name, value in request.GET.items() if name != "cursor"}
    return request.build_absolute_uri(f"{request.path}?{urlencode({**kept, 'cursor': cursor.text()})}")
