"""What performers and receivers are shown."""

from hermes_workflow.core import prompts


def test_a_text_is_shown_as_it_is_and_a_value_as_json():
    assert prompts.as_text("plain {text}") == "plain {text}"
    assert prompts.as_text({"größe": 1}) == '{\n  "größe": 1\n}'
    assert prompts.as_text(None) == "null"


def test_a_prompt_is_followed_by_each_output_under_its_name():
    assert prompts.rendered("sum up", {"one": "first", "two": 2}) == "sum up\n\n## one\nfirst\n\n## two\n2"


def test_a_long_prompt_is_cut_where_it_shows():
    text = prompts.rendered("x" * (prompts.RENDERED_LIMIT + 5), {})
    assert text.endswith("\n[5 characters left out]")
    assert text.startswith("x" * prompts.RENDERED_LIMIT)


def test_a_delivery_of_one_output_is_the_output_alone():
    assert prompts.delivered({"one": "first"}) == "first"
    assert prompts.delivered({"one": "first", "two": 2}) == "one:\nfirst\n\ntwo:\n2"
