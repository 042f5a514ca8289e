"""Forms as a browser without scripts sends them: the fields of a page are read, some are changed, one button is pressed."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

Fields = dict[str, list[str]]


@dataclass
class Form(HTMLParser):
    """The successful controls of the form with this id, its buttons, and what the page marks as defects."""

    wanted: str = "editor"
    fields: Fields = field(default_factory=dict)
    buttons: list[str] = field(default_factory=list)
    defects: list[tuple[str, str]] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    _inside: bool = False
    _text: str | None = None
    _select: str | None = None
    _first: str | None = None

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take in a control."""
        given = dict(attrs)
        self.ids.add(given.get("id") or "")
        if "data-defect" in given:
            self.defects.append((given.get("data-node-id") or "", given.get("data-field") or ""))
        if tag == "a":
            self.links.append(given.get("href") or "")
        if tag == "form":
            self._inside = given.get("id") == self.wanted
        elif self._inside and given.get("name"):
            self._control(tag, given)
        elif tag == "option" and self._select:
            self._first = given.get("value") if self._first is None else self._first
            if "selected" in given:
                self._add(self._select, given.get("value") or "")
                self._select = None

    def _control(self, tag: str, given: dict[str, str | None]) -> None:
        name, value = given["name"] or "", given.get("value")
        if tag == "button":
            self.buttons.append(value or "")
        elif tag == "textarea":
            self._text = ""
            self._name = name
        elif tag == "select":
            self._select, self._first = name, None
        elif given.get("type") not in ("checkbox", "radio"):
            self._add(name, value or "")
        elif "checked" in given:
            self._add(name, "on" if value is None else value)

    def handle_data(self, data: str) -> None:
        """Take in the text of a text area."""
        if self._text is not None:
            self._text += data

    def handle_endtag(self, tag: str) -> None:
        """Close a control; a text area loses its first line break, and its line ends become those of forms."""
        if tag == "textarea" and self._text is not None:
            self._add(self._name, self._text.removeprefix("\n").replace("\r\n", "\n").replace("\n", "\r\n"))
            self._text = None
        elif tag == "select" and self._select:
            self._add(self._select, self._first or "")
            self._select = None
        elif tag == "form":
            self._inside = False

    def _add(self, name: str, value: str) -> None:
        self.fields.setdefault(name, []).append(value)


def form_in(response: Any, wanted: str = "editor") -> Form:
    """The form of a page."""
    form = Form(wanted)
    form.feed(response.content.decode())
    return form


def pressed(form: Form, action: str, **changes: Any) -> Fields:
    """What the browser sends when a button is pressed after `changes`; `__` in a name stands for a dash."""
    named = {name.replace("__", "-"): value for name, value in changes.items()}
    changed = {name: value if isinstance(value, list) else [value] for name, value in named.items()}
    return {**form.fields, **changed, "action": [action]}
