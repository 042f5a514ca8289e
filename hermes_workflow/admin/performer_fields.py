"""The settings of each performer as fields of a form: shown as text of one line or several, and read back strictly."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from hermes_workflow.admin.env_names import check_name, state_of
from hermes_workflow.admin.performer_settings import SETTINGS, Setting, name_of, variables_of
from hermes_workflow.core.documents import read_json
from hermes_workflow.core.errors import HermesError

NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,9})?\Z")


class SettingField(forms.CharField):
    """A setting as text of one line or several."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        several = setting.look in ("text", "lines", "envs", "pairs")
        widget: Any = UnfoldAdminTextareaWidget(attrs={"rows": 4}) if several else UnfoldAdminTextInputWidget()
        if setting.choices:
            widget = UnfoldAdminSelectWidget(choices=setting.choices)
        super().__init__(label=setting.label, help_text=setting.help, required=False, widget=widget, max_length=20_000)

    def prepare_value(self, value: Any) -> Any:
        """As people edit it; what they typed stays as they typed it."""
        if value is None or isinstance(value, str):
            return value
        if self.setting.look == "pairs" and isinstance(value, dict):
            return "\n".join(f"{name}: {variable}" for name, variable in value.items())
        return "\n".join(map(_line, value)) if isinstance(value, list) else json.dumps(value, ensure_ascii=False)

    def clean(self, value: Any) -> Any:
        """The setting's value; None for a blank one."""
        text = super().clean(value)
        if not text:
            return None
        match self.setting.look:
            case "lines" | "envs":
                return self._lines(text)
            case "pairs":
                return dict(_pair(line) for line in text.splitlines() if line.strip())
            case "env":
                check_name(text)
            case "number":
                return _number(text)
            case "choice":
                self._check_choice(text)
        return text

    def _lines(self, text: str) -> list[str]:
        words = [_word(line) for line in text.splitlines() if line.strip()]
        if self.setting.look == "envs":
            for word in words:
                check_name(word)
        return words

    def _check_choice(self, text: str) -> None:
        if text not in [choice for choice, _ in self.setting.choices]:
            raise forms.ValidationError("must be one of those offered")

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Whether something else was typed."""
        return (self.prepare_value(initial) or "") != (data or "").replace("\r\n", "\n")


def _line(word: Any) -> str:
    """A word on a line of its own; as JSON where it would not come back the same."""
    text = word if isinstance(word, str) else json.dumps(word, ensure_ascii=False)
    plain = text == text.strip() and text and len(text.splitlines()) == 1 and not text.startswith('"')
    return text if plain else json.dumps(text, ensure_ascii=False)


def _word(line: str) -> str:
    line = line.strip()
    if not line.startswith('"'):
        return line
    try:
        word = read_json(line)
    except HermesError as refusal:
        raise forms.ValidationError(refusal.msg) from None
    if not isinstance(word, str):
        raise forms.ValidationError("a line that starts with a quotation mark must be one JSON text")
    return word


def _pair(line: str) -> tuple[str, str]:
    name, colon, variable = (part.strip() for part in line.partition(":"))
    if not name or not colon:
        raise forms.ValidationError("each line must be a name, a colon, and the name of an environment variable")
    check_name(variable)
    return name, variable


def _number(text: str) -> int | float:
    if not NUMBER.match(text):
        raise forms.ValidationError("must be a number")
    return float(text) if "." in text else int(text)


def form_fields() -> dict[str, SettingField]:
    """Every field of every performer."""
    return {name_of(performer, setting): SettingField(setting) for performer, settings in SETTINGS.items() for setting in settings}


def initial_of(performer: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a stored profile."""
    known = SETTINGS.get(performer, ())
    return {name_of(performer, setting): settings[setting.key] for setting in known if settings.get(setting.key) is not None}


def unknown_in(performer: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """What is stored and has no field: it stays as it is."""
    known = {setting.key for setting in SETTINGS.get(performer, ())}
    return {key: value for key, value in settings.items() if key not in known}


def settings_of(performer: str, cleaned: Mapping[str, Any]) -> dict[str, Any]:
    """The performer's settings as its fields give them; blank ones are left out."""
    given = {setting.key: cleaned.get(name_of(performer, setting)) for setting in SETTINGS.get(performer, ())}
    return {key: value for key, value in given.items() if value is not None}


def field_at_fault(performer: str, msg: str) -> str | None:
    """The field that a reader's refusal names."""
    named = [(found.start(), setting) for setting in SETTINGS.get(performer, ()) if (found := re.search(rf"\b{setting.key}\b", msg))]
    return name_of(performer, min(named, key=lambda place: place[0])[1]) if named else None


def names_in(performer: str, settings: Mapping[str, Any]) -> Iterator[tuple[Setting, list[str]]]:
    """The settings that name environment variables, with the names."""
    for setting in SETTINGS.get(performer, ()):
        if names := variables_of(setting, settings.get(setting.key)):
            yield setting, names


def environment_of(performer: str, settings: Mapping[str, Any]) -> str:
    """Every variable that the settings name, and whether this process has it."""
    return state_of(name for _, names in names_in(performer, settings) for name in names)
