"""A client of the REST API for tests: JSON in, JSON out, as one person."""

import json
from typing import Any

from django.test import Client

from hermes_workflow.models import Token
from hermes_workflow.rights import Principal


class Api:
    """Speaks with a person's token; `sent` is the last response."""

    def __init__(self, who: Principal | None = None, *, secret: str = "", **headers: str) -> None:
        self.client = Client(raise_request_exception=False)
        if who:
            _, secret = Token.objects.create(who.user, name="test")
        if secret:
            headers["authorization"] = f"Token {secret}"
        self.headers = headers

    def __call__(self, method: str, path: str, body: Any = None, *, status: int | None = None, **headers: str) -> Any:
        """The JSON of the answer; `status` is checked where it is given."""
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        self.sent = self.client.generic(
            method, path, data, headers.pop("content_type", "application/json"), headers={**self.headers, **headers}
        )
        text = self.sent.content.decode()
        assert status is None or self.sent.status_code == status, f"{method} {path}: {self.sent.status_code} {text[:600]}"
        return json.loads(text) if text else None

    def get(self, path: str, *, status: int | None = 200, **headers: str) -> Any:
        """GET."""
        return self("GET", path, status=status, **headers)

    def post(self, path: str, body: Any = None, *, status: int | None = 200, **headers: str) -> Any:
        """POST."""
        return self("POST", path, body, status=status, **headers)

    def put(self, path: str, body: Any = None, *, status: int | None = 200, **headers: str) -> Any:
        """PUT."""
        return self("PUT", path, body, status=status, **headers)

    def delete(self, path: str, *, status: int | None = 204, **headers: str) -> Any:
        """DELETE."""
        return self("DELETE", path, status=status, **headers)


def error_of(answer: Any) -> str:
    """The sentence of a refusal, whose shape is checked on the way."""
    assert set(answer) >= {"ok", "error"}, answer
    assert answer["ok"] is False
    assert {"code", "msg"} <= set(answer["error"]) <= {"code", "msg", "hint"}, answer
    return answer["error"]["msg"]
