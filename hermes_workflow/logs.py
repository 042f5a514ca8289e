"""Log records on one line each, without control characters that could forge or repaint lines."""

import logging

FORBIDDEN = 403


class PlainRefusals(logging.Filter):
    """A refusal is no error of ours: it is a line in the log, without the traceback that Django adds to it."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Every record stays."""
        if getattr(record, "status_code", None) == FORBIDDEN:
            record.exc_info = None
        return True


class OneLine(logging.Formatter):
    """Control characters, line and paragraph separators are shown as escapes; a traceback keeps its place in the line."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one printable line."""
        return escape_controls(super().format(record))


def escape_controls(text: str) -> str:
    """`text` with every unprintable character escaped as Python would."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
