"""What a run is about, read from the two ends of its input."""

import pytest

from hermes_workflow.fields import dumps
from runs.subjects import LENGTH, READ, subject


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"text": "The fee\n is  10."}, "The fee is 10."),
        ({"text": "long " * 1000, "filename": "offer.txt"}, "offer.txt"),
        ({"text": 'ends with ,"filename":"x"}'}, 'ends with ,"filename":"x"}'),
        ({"text": "a\u200bb"}, "a[U+200B]b"),
        ({"a": {"b": 1, "filename": "deep.txt"}}, ""),
        ({"text": 7}, ""),
        ({}, ""),
    ],
)
def test_a_file_goes_by_its_name_and_a_text_by_its_first_words(given, said):
    body = dumps(given)
    assert subject(body[:READ], body[-READ:]) == said


@pytest.mark.parametrize("pad", range(8))
def test_a_text_may_be_cut_inside_an_escape(pad):
    body = dumps({"text": "x" * pad + '\x01\\"' * READ})
    assert len(subject(body[:READ], body[-READ:])) >= LENGTH
