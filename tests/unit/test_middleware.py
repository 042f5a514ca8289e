"""The client's address is what the trusted proxies saw, never what the client says."""

import pytest
from django.http import HttpResponse
from django.test import RequestFactory

from hermes_workflow.middleware import forwarded_address


@pytest.mark.parametrize(
    ("proxies", "header", "address"),
    [
        (0, "6.6.6.6", "127.0.0.1"),
        (1, "6.6.6.6, 203.0.113.9", "203.0.113.9"),
        (2, "6.6.6.6, 203.0.113.9, 10.0.0.1", "203.0.113.9"),
        (2, "10.0.0.1", "127.0.0.1"),
        (1, "", "127.0.0.1"),
    ],
)
def test_only_trusted_proxies_name_the_address(settings, proxies, header, address):
    settings.HERMES_TRUSTED_PROXIES = proxies
    seen = []

    def view(request):
        seen.append(request.META["REMOTE_ADDR"])
        return HttpResponse()

    forwarded_address(view)(RequestFactory().get("/", headers={"X-Forwarded-For": header}))
    assert seen == [address]
