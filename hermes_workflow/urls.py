"""Which door answers which path."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path

from runs import probes

urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", probes.healthz),
    path("readyz", probes.readyz),
    path("admin/", admin.site.urls),
    path("api/", include("hermes_workflow.api.urls")),
    path("", include("hermes_workflow.views.urls")),
]

handler400 = "hermes_workflow.http.errors.bad_request"
handler403 = "hermes_workflow.http.errors.permission_denied"
handler404 = "hermes_workflow.http.errors.page_not_found"
handler500 = "hermes_workflow.http.errors.server_error"
