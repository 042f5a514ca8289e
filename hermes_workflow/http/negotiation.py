"""What an answer is written in."""

from typing import Any

from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.request import Request


class AlwaysJSON(DefaultContentNegotiation):
    """The API speaks JSON, whatever the client says that it accepts."""

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        """The first renderer."""
        return renderers[0], renderers[0].media_type
