"""The documented settings are the settings that are read."""

import re
from pathlib import Path

import pytest

from hermes_workflow.environment import SETTINGS, read_environment, settings_table

ROOT = Path(__file__).parents[2]
KNOWN = {setting.name for setting in SETTINGS}


def test_the_documentation_holds_the_settings_table():
    assert settings_table() in (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")


def test_every_variable_is_read_somewhere():
    text = "".join((ROOT / "hermes_workflow" / name).read_text(encoding="utf-8") for name in ("settings.py", "databases.py"))
    assert set(re.findall(r"""env\(["'](\w+)["']\)""", text)) == KNOWN


def test_an_unlisted_variable_cannot_be_read():
    with pytest.raises(Exception, match="HERMES_UNLISTED"):
        read_environment()("HERMES_UNLISTED")


def test_variables_have_the_type_of_their_setting(monkeypatch):
    monkeypatch.setenv("HERMES_TRUSTED_PROXIES", "2")
    monkeypatch.setenv("HERMES_ALLOWED_HOSTS", "a.example,b.example")
    env = read_environment()
    assert env("HERMES_TRUSTED_PROXIES") == 2
    assert env("HERMES_ALLOWED_HOSTS") == ["a.example", "b.example"]
