"""The schema of a step: it says what an answer must be, and no schema and no answer can keep a process busy."""

import time
from contextlib import suppress
from typing import Any

import pytest

from runs.seams.answers import Unusable, check_schema

FAN_OUT = {f"d{at}": {"anyOf": [{"$ref": f"#/$defs/d{at + 1}"}] * 2} for at in range(30)} | {"d30": {"type": "boolean"}}
MANY = [{"n": number} for number in range(50_000)]
A_40 = "a" * 40 + "!"
DRAFT_3, DRAFT_7 = "http://json-schema.org/draft-03/schema#", "http://json-schema.org/draft-07/schema#"


def refusal(value: Any, schema: Any) -> str:
    with pytest.raises(Unusable) as refused:
        check_schema(value, schema)
    assert (refused.value.kind, refused.value.code) == ("invalid_output", "schema")
    return refused.value.msg


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"pattern": "^(a+)+$"}, A_40),
        ({"$schema": DRAFT_7, "pattern": "^(a+)+$"}, A_40),
        ({"properties": {"x": {"$schema": DRAFT_7, "pattern": "^(a+)+$"}}}, {"x": A_40}),
        ({"pattern": "y(?:y|z|yz)*!"}, "!" + "yz" * 200),
        ({"pattern": ".*.*.*x"}, "y" * 100_000),
        ({"patternProperties": {"^(a+)+$": {}}}, {A_40: 1}),
        ({"additionalProperties": False, "patternProperties": {"^(a+)+$": {}}}, {A_40: 1}),
        ({"$defs": FAN_OUT, "$ref": "#/$defs/d0"}, "x"),
        ({"$schema": DRAFT_7, "definitions": {}, "$defs": FAN_OUT, "$ref": "#/$defs/d0"}, "x"),
        ({"enum": list(range(20_000))}, None),
        ({"items": {"enum": list(range(5_000))}}, [-1] * 100_000),
    ],
)
def test_what_would_take_forever_has_an_answer_within_seconds(schema: Any, value: Any):
    started = time.thread_time()
    with suppress(Unusable):
        check_schema(value, schema)
    assert time.thread_time() - started < 4


@pytest.mark.parametrize(
    ("schema", "value"), [({"$defs": FAN_OUT, "$ref": "#/$defs/d0"}, "x"), ({"pattern": "y(?:y|z|yz)*!"}, "!" + "yz" * 200)]
)
def test_what_cannot_be_told_in_time_is_refused(schema: Any, value: Any):
    assert "takes too long" in refusal(value, schema)


def test_a_very_large_schema_is_given_up_too():
    started = time.thread_time()
    refusal(1, {"allOf": [{"type": "object", "properties": {str(at): {"minimum": at}}} for at in range(20_000)]})
    assert time.thread_time() - started < 4


def test_fifty_thousand_items_are_found_different_at_once():
    started = time.thread_time()
    check_schema(MANY, {"uniqueItems": True})
    assert "not all different" in refusal([*MANY, {"n": 7}], {"uniqueItems": True})
    assert time.thread_time() - started < 4


@pytest.mark.parametrize(
    ("items", "differ"),
    [([1, True], True), ([1, 1.0], False), ([0, False, None, "", [], {}], True), ([[1], [True]], True), ([{"a": 1}, {"a": 1.0}], False)],
)
def test_items_are_the_same_where_json_schema_says_so(items: list[Any], differ: bool):
    if differ:
        check_schema(items, {"uniqueItems": True})
    else:
        refusal(items, {"uniqueItems": True})


@pytest.mark.parametrize(
    ("schema", "fits", "fits_not"),
    [
        ({"type": "string", "pattern": "^[a-z]+$"}, "abc", "ABC"),
        ({"pattern": "b"}, 5, "aaa"),
        ({"patternProperties": {"^n_": {"type": "integer"}}}, {"n_1": 1, "x": "y"}, {"n_1": "one"}),
        ({"properties": {"a": {}}, "additionalProperties": False}, {"a": 1}, {"a": 1, "b": 2}),
        ({"patternProperties": {"^a": {}}, "additionalProperties": False}, {"ab": 1}, {"b": 1}),
        ({"additionalProperties": {"type": "integer"}}, {"a": 1}, {"a": "x"}),
        ({"additionalProperties": True}, {"a": 1}, None),
        ({"properties": {"a": {}}, "unevaluatedProperties": False}, {"a": 1}, {"b": 1}),
        ({"$schema": DRAFT_3, "properties": {"a": {"required": True}}}, {"a": 1}, {}),
        ({"$schema": "of my own", "type": "integer"}, 1, "x"),
    ],
)
def test_the_keywords_that_are_ours_mean_what_they_mean(schema: Any, fits: Any, fits_not: Any):
    check_schema(fits, schema)
    if fits_not is not None:
        refusal(fits_not, schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"$schema": ["x"]},
        {"properties": {"a": {"$schema": {}}}},
        {"$ref": "http://127.0.0.1:9/x"},
        {"$ref": "#"},
        {"pattern": "("},
        {"pattern": "a" * 1001},
        {"patternProperties": {"a": {}}, "unevaluatedProperties": False},
        {"properties": 5},
        {"multipleOf": 0.5, "type": "nonsense"},
    ],
)
def test_a_schema_that_cannot_be_used_is_said_to_be_the_schema_s_fault(schema: Any):
    assert "schema" in refusal({"a": {}}, schema)


def test_a_number_too_large_for_the_schema_is_no_mistake_of_ours():
    assert "cannot be used" in refusal(10**400, {"multipleOf": 0.5})
