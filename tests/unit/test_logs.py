"""A log line is one line, whatever was logged."""

import logging

import pytest

from hermes_workflow.logs import OneLine, escape_controls


@pytest.mark.parametrize("hostile", ["a\nb", "a\rb", "a\x1b[2Jb", "a\u2028b", "a\x00b", "a\u202eb"])
def test_control_characters_are_shown_not_obeyed(hostile):
    line = escape_controls(hostile)
    assert line.isprintable()
    assert line.startswith("a\\")


def test_ordinary_text_stays_as_it_is():
    assert escape_controls("Grüße, 你好") == "Grüße, 你好"


def test_a_record_with_a_traceback_is_one_line():
    try:
        raise ValueError("x\ny")
    except ValueError as error:
        record = logging.LogRecord("n", logging.ERROR, "p", 1, "failed", (), (ValueError, error, error.__traceback__))
    assert OneLine("%(message)s").format(record).count("\n") == 0
