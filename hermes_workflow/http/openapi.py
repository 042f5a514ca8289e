"""How an operation is written into the OpenAPI document."""

from collections.abc import Callable, Sequence
from typing import Any

from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers

from hermes_workflow.http.endpoint import KEY_HEADER
from hermes_workflow.http.queries import Parameter


class ErrorShape(serializers.Serializer):
    """Why a request was refused."""

    code = serializers.CharField(help_text="A fixed word")
    msg = serializers.CharField(help_text="One sentence for a person")
    hint = serializers.CharField(required=False, help_text="What to do about it")


class DefectShape(serializers.Serializer):
    """One fault of a workflow, beside its node and field."""

    node = serializers.CharField(help_text="Empty for the graph itself, `#<index>` for a node without a usable id")
    field = serializers.CharField()
    msg = serializers.CharField()


class RefusalShape(serializers.Serializer):
    """The one shape of every refusal."""

    ok = serializers.BooleanField(default=False)
    error = ErrorShape()
    defects = DefectShape(many=True, required=False)


MEANING = {
    400: "Malformed, or an answer that was not offered",
    401: "No valid credentials",
    403: "You may see it but not do that",
    404: "Unknown, or not visible to you",
    409: "The state does not allow it: decided already, stale, taken",
    413: "Too large",
    415: "The body is not application/json",
    422: "The workflow is not valid: `defects` says where",
    429: "Too many requests; `Retry-After` says when to come back",
}


def documented(
    summary: str,
    *,
    answers: Any,
    status: int = 200,
    also: dict[int, Any] | None = None,
    body: Any = None,
    query: Sequence[Parameter] = (),
    keyed: bool = False,
    refuses: Sequence[int] = (),
    operation_id: str,
) -> Callable[[Any], Any]:
    """Write an operation into the OpenAPI document."""
    codes = sorted({400, 401, *refuses, *((413, 415) if body else ())})
    responses = {status: answers, **(also or {}), **{code: OpenApiResponse(RefusalShape, MEANING[code]) for code in codes}}
    parameters = [OpenApiParameter(p.name, p.schema, description=p.meaning) for p in query]
    if keyed:
        about = "1 to 255 visible ASCII characters; the same key with the same body gives the first result again"
        parameters.append(OpenApiParameter(KEY_HEADER, str, OpenApiParameter.HEADER, description=about))
    return extend_schema(summary=summary, request=body, responses=responses, parameters=parameters, operation_id=operation_id)


def with_slash(endpoints: list[tuple[str, str, str, Any]]) -> list[tuple[str, str, str, Any]]:
    """Of the two spellings of an address only one is documented."""
    return [endpoint for endpoint in endpoints if endpoint[0].endswith("/")]


def page_of(shape: type[serializers.Serializer], **more: serializers.Field) -> type[serializers.Serializer]:
    """The shape of a page: `results`, `next`, `previous`, and what else this list carries."""
    fields = {
        "results": shape(many=True),
        "next": serializers.URLField(allow_null=True),
        "previous": serializers.URLField(allow_null=True),
        "__doc__": "A page; `next` and `previous` are addresses of the pages beside it.",
        **more,
    }
    return type(f"{shape.__name__.removesuffix('Shape')}Page", (serializers.Serializer,), fields)
