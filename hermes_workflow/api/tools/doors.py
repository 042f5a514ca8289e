"""The two addresses of tools: which there are, and running one."""

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hermes_workflow.api.tools import answers, designs, runs, schedules
from hermes_workflow.api.tools.tool import Call
from hermes_workflow.core.errors import NotFound
from hermes_workflow.http.bodies import Anyhow
from hermes_workflow.http.endpoint import Endpoint
from hermes_workflow.http.openapi import documented

TOOLS = {tool.name: tool for tool in (*designs.TOOLS, *runs.TOOLS, *answers.TOOLS, *schedules.TOOLS)}


class ToolShape(serializers.Serializer):
    """A tool as agents register it."""

    name = serializers.CharField()
    description = serializers.CharField()
    parameters = Anyhow(help_text="JSON Schema of the arguments")


class ToolsShape(serializers.Serializer):
    """Every tool, on one page."""

    results = ToolShape(many=True)
    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)


class AnswerShape(serializers.Serializer):
    """What a tool gives: `ok`, what was asked for, and what can follow."""

    ok = serializers.BooleanField()
    next = serializers.CharField(required=False, help_text="What you can do now")


class Tools(Endpoint):
    """What a chat agent can do."""

    @documented("List the tools of chat agents", answers=ToolsShape, operation_id="tools_list")
    def get(self, request: Request) -> Response:
        """With JSON Schemas, the same for everybody; rights count when a tool is run."""
        return Response({"results": [tool.document for tool in TOOLS.values()], "next": None, "previous": None})


class OneTool(Endpoint):
    """One tool."""

    @documented(
        "Run a tool",
        answers=AnswerShape,
        body={"application/json": {"type": "object", "additionalProperties": True}},
        keyed=True,
        refuses=(403, 404, 409, 422),
        operation_id="tools_run",
    )
    def post(self, request: Request, name: str) -> Response:
        """The body holds the arguments; the answer is the one that the REST address of the same thing gives."""
        tool = TOOLS.get(name)
        if tool is None:
            raise NotFound("there is no such tool", hint=f"there are {', '.join(TOOLS)}")
        return Response(tool.run(Call(self.principal, self.body(tool.body), self.idempotency_key())))
