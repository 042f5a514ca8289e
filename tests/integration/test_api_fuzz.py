"""Random requests made from the OpenAPI document, over the wire: never our mistake, always an answer that is documented."""

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import content_type_conformance, status_code_conformance

from hermes_workflow.models import Token
from tests import builders
from tests.builders import agent, approval

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

EXAMPLES = 8
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance]


@pytest.fixture
def described(live_server_url: str) -> Any:
    """The API as it describes itself."""
    return schemathesis.openapi.from_url(f"{live_server_url}/api/schema/?format=json")


@pytest.fixture
def token(live_server_url: str) -> str:
    """An admin's token, with something to meet in the lists."""
    builders.profile()
    builders.started(approval("review"))
    builders.started(agent("a"), name="asks", perform="caller")
    return Token.objects.create(builders.admin().user, name="fuzz")[1]


def test_random_requests_get_a_documented_answer(described: Any, token: str) -> None:
    for found in described.get_all_operations():
        operation = found.ok()

        @settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy())
        def send(case: Any) -> None:
            answer = case.call(headers={"Authorization": f"Token {token}"})
            case.validate_response(answer, checks=CHECKS)

        send()
