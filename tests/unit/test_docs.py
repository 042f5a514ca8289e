"""What the documentation names exists, and what it shows works."""

import json
import os
import re
from pathlib import Path

import pytest
import yaml
from django.core.management import get_commands
from django.urls import Resolver404, resolve

from hermes_workflow.core import events
from hermes_workflow.dialects.design import validate_designer_graph
from hermes_workflow.environment import SETTINGS, settings_table
from hermes_workflow.hooks import SECRET_PREFIX
from hermes_workflow.http.errors import no_such_address
from hermes_workflow.rights import MAY, ROLES
from runs.management.bench.scenarios import SCENARIOS

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
ADRS = sorted((ROOT / "docs" / "adr").glob("[0-9]*.md"))
PLUGIN = yaml.safe_load((ROOT / "docs" / "examples" / "hermes-plugin" / "plugin.yaml").read_text())
PAGES = [README, ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]

LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
BLOCK = re.compile(r"^ *```(\w*)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
BODY = re.compile(r"-d '(\{.*?\})'", re.DOTALL)
ADDRESS = re.compile(r"(?:\$URL|/api)(/[a-zA-Z0-9_{}$/.-]*/)")
VARIABLE = re.compile(r"\b(?:HERMES_[A-Z_]+|DATABASE_URL|REDIS_URL)\b")
PLACEHOLDER = re.compile(r"\{\w+\}|\$[A-Z]+")

each_page = pytest.mark.parametrize("document", PAGES, ids=lambda document: str(document.relative_to(ROOT)))


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks(page: Path, *languages: str) -> list[str]:
    return [body for language, body in BLOCK.findall(text_of(page)) if language in languages]


def prose(page: Path) -> str:
    return BLOCK.sub("", text_of(page))


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    names = [re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in HEADING.findall(prose(page))]
    return set(names)


def broken(page: Path, link: str) -> bool:
    if link.startswith(("http://", "https://", "mailto:")):
        return False
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    return not target.exists() or (bool(anchor) and anchor not in anchors(target))


@each_page
def test_every_link_leads_somewhere(document):
    assert [link for link in LINK.findall(prose(document)) if broken(document, link)] == []


@each_page
def test_every_variable_is_a_setting(document):
    known = {setting.name for setting in SETTINGS} | {one["name"] for need in ("requires_env", "optional_env") for one in PLUGIN[need]}
    unknown = set(VARIABLE.findall(text_of(document))) - known
    assert [name for name in unknown if not name.startswith(SECRET_PREFIX)] == []


@each_page
def test_every_command_exists(document):
    named = set(re.findall(r"manage\.py ([a-z_]+)", text_of(document)))
    assert named - set(get_commands()) == set()


@each_page
def test_every_script_can_be_run(document):
    scripts = re.findall(r"\bscript/[a-z-]+", text_of(document))
    assert [name for name in scripts if not os.access(ROOT / name, os.X_OK)] == []


@each_page
def test_every_module_and_folder_exists(document):
    named = re.findall(r"`((?:hermes_workflow|runs|approvals|tests|core)/[\w/]+(?:\.py|/))`", text_of(document))
    missing = [name for name in named if not (ROOT / name).exists() and not (ROOT / "hermes_workflow" / name).exists()]
    assert missing == []


def is_address(path: str) -> bool:
    try:
        return resolve("/api" + PLACEHOLDER.sub("1", path)).func is not no_such_address
    except Resolver404:
        return False


@each_page
def test_every_address_of_the_api_is_answered(document):
    assert [path for path in ADDRESS.findall(text_of(document)) if not is_address(path)] == []


@each_page
def test_every_example_in_json_can_be_read(document):
    whole = [block for block in blocks(document, "json") if "…" not in block]
    sent = [body for block in blocks(document, "sh") for body in BODY.findall(block) if "…" not in body]
    for text in whole + sent:
        json.loads(text)


def test_the_design_of_the_readme_is_valid():
    sent = [json.loads(body) for block in blocks(README, "sh") for body in BODY.findall(block)]
    graphs = [body["document"] for body in sent if "document" in body]
    assert [validate_designer_graph(graph) for graph in graphs] == [[]]


def test_the_readme_lists_every_setting():
    assert settings_table() in text_of(README)


def test_no_setting_is_listed_twice():
    names = [setting.name for setting in SETTINGS]
    assert len(names) == len(set(names))


def test_every_decision_is_in_the_index():
    assert re.findall(r"\(([0-9]{4}-[\w-]+\.md)\)", text_of(ROOT / "docs" / "adr" / "README.md")) == [adr.name for adr in ADRS]


def test_decisions_are_numbered_without_gaps():
    assert [int(adr.name[:4]) for adr in ADRS] == list(range(1, len(ADRS) + 1))


@pytest.mark.parametrize("adr", ADRS, ids=lambda adr: adr.stem)
def test_a_decision_says_its_context_and_its_consequences(adr):
    number, title = re.match(r"# (\d+)\. (.+)", text_of(adr)).groups()
    assert int(number) == int(adr.name[:4])
    assert f"[{title}]({adr.name})" in text_of(ROOT / "docs" / "adr" / "README.md")
    assert re.findall(r"^\*\*(\w+)\.\*\*", text_of(adr), re.MULTILINE) == ["Context", "Decision", "Consequences"]


def test_every_page_is_on_the_map():
    linked = {(ROOT / "docs" / link.partition("#")[0]).resolve() for link in LINK.findall(text_of(ROOT / "docs" / "index.md"))}
    assert [page for page in PAGES if page not in linked and page.parent.name != "adr" and page.name != "index.md"] == []


def test_the_engine_page_names_every_event():
    known = {value for name, value in vars(events).items() if name.isupper() and isinstance(value, str)}
    named = set(re.findall(r"`((?:run|step|condition|gate|delivery)\.[a-z_]+)`", text_of(ROOT / "docs" / "engine.md")))
    assert named == known


def test_the_benchmarks_are_those_that_run():
    table = text_of(ROOT / "docs" / "benchmarks.md").partition("## Beside")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == set(SCENARIOS)


@pytest.mark.parametrize("role", [role for role in ROLES if role != "bot"])
def test_the_table_of_roles_says_what_they_may_do(role):
    row = next(line for line in text_of(ROOT / "docs" / "how-to" / "secure.md").splitlines() if line.startswith(f"| `{role}` |"))
    cells = [bool(cell.strip()) for cell in row.strip("|").split("|")[1:]]
    assert cells == [role in MAY[action] for action in ("read", "design", "start", "operate", "answer", "perform")]
