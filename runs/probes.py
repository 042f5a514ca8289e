"""`/healthz` and `/readyz`: for load balancers and monitors, without a sign-in and without a secret."""

from dataclasses import asdict

from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from runs import health


@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """The web process answers."""
    return JsonResponse({"ok": True})


@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """Database, workers and pulse work; 503 naming what does not."""
    found = health.check()
    return JsonResponse({"ok": found.ok, **asdict(found)}, status=200 if found.ok else 503)
