"""The OpenAPI document and its pages, open to everybody: they hold names and shapes, no data."""

from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.negotiation import DefaultContentNegotiation


class Schema(SpectacularAPIView):
    """YAML, or JSON for who accepts it."""

    authentication_classes = ()
    permission_classes = ()
    content_negotiation_class = DefaultContentNegotiation


class Docs(SpectacularSwaggerSplitView):
    """Swagger UI from our own files."""

    authentication_classes = ()
    permission_classes = ()
    content_negotiation_class = DefaultContentNegotiation
    url_name = "api-schema"
