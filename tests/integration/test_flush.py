"""A committed history guards itself, and still does not outlive its test."""

import pytest
from django.db import IntegrityError

from runs.models import Event
from tests import builders as b

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("again", [False, True])
def test_the_guard_bites_in_every_test_and_none_sees_the_history_of_another(performer, again):
    assert not Event.objects.exists()
    b.ran(b.agent("draft"))
    with pytest.raises(IntegrityError, match="append-only"):
        Event.objects.update(type="forged")
    with pytest.raises(IntegrityError, match="append-only"):
        Event.objects.all().delete()
