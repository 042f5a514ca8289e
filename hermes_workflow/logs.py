"""Log records on one line each, without control characters that could forge or repaint lines."""

import logging


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
