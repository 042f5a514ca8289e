"""The strict readers: what no door may take in, and the one spelling of a value."""

import contextlib
import json
import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hermes_workflow.core.documents import MAX_VALUES, canonical, check_value, digest, read_json
from hermes_workflow.core.errors import Malformed, TooLarge
from hermes_workflow.dialects.strict_yaml import read_yaml
from tests.unit.hostile import entries

text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=20,
)
HARMLESS = {"J015", "J021"}


@pytest.mark.parametrize("entry", entries("json", "raw"), ids=lambda entry: entry["id"])
def test_hostile_json_is_refused_within_a_second(entry):
    started = time.perf_counter()
    if entry["id"] in HARMLESS:
        assert read_json(entry["value"]) == json.loads(entry["value"])
        return
    with pytest.raises((Malformed, TooLarge)) as refused:
        read_json(entry["value"])
    assert refused.value.status in entry["status"]
    assert time.perf_counter() - started < 1


def test_one_repeated_key_among_very_many_is_found_within_a_second():
    pairs = ",".join(f'"{number}":0' for number in range(80_000))
    started = time.perf_counter()
    with pytest.raises(Malformed, match="duplicate key '79999'"):
        read_json(f'{{{pairs},"79999":1}}')
    assert time.perf_counter() - started < 1


@pytest.mark.parametrize("entry", entries("yaml", "raw"), ids=lambda entry: entry["id"])
def test_hostile_yaml_is_refused_within_a_second(entry):
    started = time.perf_counter()
    with pytest.raises((Malformed, TooLarge)):
        read_yaml(entry["value"])
    assert time.perf_counter() - started < 1


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("{", ["line 1, column 2"]),
        ('{"a": 1,\n "a": 2}', ["duplicate key 'a'"]),
        ("[1]\n[2]", ["trailing data", "line 2, column 1"]),
        ("[-Infinity]", ["-Infinity"]),
        ("[1e999]", ["out of range"]),
        ("[" + "9" * 4301 + "]", ["4300 digits"]),
        ('{"a": ["\\u0000"]}', ["a[0]", "NUL"]),
        ('{"a": {"b": "x\\ud800"}}', ["a.b", "surrogate", "character 2"]),
        ('{"\\ud800": 1}', ["in a key"]),
        ('["\ud800"]', ["UTF-8", "character 3"]),
        (b'["\xff"]', ["UTF-8", "byte 3"]),
        (b"\xef\xbb\xbf{}", ["byte order mark"]),
        ("[" * 65 + "]" * 65, ["deeper than 64", "character 65"]),
        ('["' + "[" * 100 + '", ' + "[" * 70, ["deeper than 64"]),
        ("", ["line 1, column 1"]),
        ('["\t"]', ["control character"]),
    ],
)
def test_a_refusal_of_json_names_the_place(data, words):
    with pytest.raises(Malformed) as refused:
        read_json(data)
    assert all(word in refused.value.msg for word in words), refused.value.msg
    assert len(refused.value.msg) < 200


@pytest.mark.parametrize("data", ["[" * 64 + "]" * 64, '["' + "[" * 100 + '"]', '"\\"[[[' + "[" * 100 + '"', "[" + "9" * 4300 + "]"])
def test_what_only_looks_hostile_is_read(data):
    assert read_json(data) == json.loads(data)


@pytest.mark.parametrize("limit", [4, 5])
def test_the_limit_counts_bytes_not_characters(limit):
    with pytest.raises(TooLarge):
        read_json('"éé"', limit=limit)
    assert read_json('"éé"', limit=6) == "éé"


@pytest.mark.parametrize("data", ['"' + '\\"' * 500_000, "[" * 500_000, '{"a":' * 200_000, '"' + "\\" * 1_000_000, '["",' * 250_000])
def test_the_worst_megabyte_is_refused_within_a_second(data):
    started = time.perf_counter()
    with pytest.raises(Malformed):
        read_json(data)
    assert time.perf_counter() - started < 1


@given(values)
def test_what_json_writes_is_read_back_unchanged(value):
    assert read_json(json.dumps(value)) == value
    assert read_json(canonical(value).encode()) == value
    check_value(value)


@given(st.text(max_size=40) | st.binary(max_size=40))
def test_any_data_is_read_as_a_clean_value_or_refused(data):
    for read in (read_json, read_yaml):
        value = None
        with contextlib.suppress(Malformed, TooLarge):
            value = read(data)
        check_value(value)


def nested(depth):
    value = []
    for _ in range(depth - 1):
        value = [value]
    return value


def circular():
    value = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"a": [float("nan")]}, "a[0]: nan"),
        ({"a": float("inf")}, "a: inf"),
        ({1: 2}, "a key must be a string, got 1"),
        ({"a": {None: 2}}, "a: a key must be a string"),
        ({"a": "b\x00"}, "NUL"),
        ({"a": (1, 2)}, "must be a JSON value, got tuple"),
        ([b"x"], "[0]: must be a JSON value, got bytes"),
        (nested(65), "nested deeper than 64"),
        (circular(), "nested deeper than 64"),
    ],
)
def test_an_object_is_held_to_the_rules_of_the_reader(value, words):
    with pytest.raises(Malformed) as refused:
        check_value(value)
    assert words in refused.value.msg


def test_a_number_python_could_not_write_down_is_refused():
    with pytest.raises(Malformed, match="4300 digits"):
        check_value(10**4400)


def test_a_value_as_deep_and_as_long_as_allowed_passes():
    check_value(nested(64))
    check_value(10**4299)


def test_an_object_with_too_many_values_is_too_large():
    with pytest.raises(TooLarge):
        check_value([0] * MAX_VALUES)


def test_the_digest_ignores_the_order_of_keys_and_nothing_else():
    assert digest({"b": 1, "a": [1, 2]}) == digest({"a": [1, 2], "b": 1})
    assert digest({"a": [1, 2]}) != digest({"a": [2, 1]})
    assert digest({}) == "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


def test_the_canonical_form_has_sorted_keys_no_spaces_and_unicode_as_it_is():
    assert canonical({"b": [1.5, None], "a": "é"}) == '{"a":"é","b":[1.5,null]}'


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("a: 1\na: 2", "duplicate key 'a': line 2, column 1"),
        ("a: !!python/object:os.system x", "tags are refused: line 1"),
        ("1: a", "a key must be text"),
        ("? [a]\n: b", "a key must be text"),
        ("a: yes", "'yes' means different things"),
        ("a: 1_000", "'1_000' means different things"),
        ("a: 2026-01-02", "quote it"),
        ("a: +1", "quote it"),
        ("a: [1,", "line"),
        ("[" * 70 + "]" * 70, "nested too deep"),
        ('a: "\\0"', "NUL"),
        ("- 1\n" * 60_000, "at most"),
    ],
)
def test_a_refusal_of_yaml_names_the_place_and_the_remedy(data, words):
    with pytest.raises((Malformed, TooLarge)) as refused:
        read_yaml(data)
    assert words in refused.value.msg


def test_yaml_gives_the_values_of_json():
    data = 'x: 10\ny: -2.5\nlist: [true, False, null, ~, "yes", \'1\', plain text, 0abc]\nblock: |\n  no\nempty:\nat: "1:30"\n'
    assert read_yaml(data) == {
        "x": 10,
        "y": -2.5,
        "list": [True, False, None, None, "yes", "1", "plain text", "0abc"],
        "block": "no\n",
        "empty": None,
        "at": "1:30",
    }


@given(values)
def test_json_is_yaml_and_is_read_as_the_same_value(value):
    written = json.dumps({"": value}, ensure_ascii=False)
    assume(written.isprintable())
    assert read_yaml(written) == {"": value}
