"""Hostile inputs on the editor of the admin: refused, named, nothing written, never an error of ours."""

import json

import pytest
from django.urls import reverse

from hermes_workflow.models import Design, DesignVersion, Plan
from tests import builders as b
from tests.integration.admin_forms import form_in, pressed
from tests.unit.hostile import entries

pytestmark = pytest.mark.django_db

IN_A_DOCUMENT_KEPT = "G061"
REFUSED = (400, 409, 413, 422)


@pytest.fixture
def admin(client):
    client.force_login(b.admin().user)
    return client


@pytest.fixture
def flow():
    return b.saved(b.agent("draft"), b.condition("good", "out.draft.a == 1"), b.output("tell"))


def url(design):
    return reverse("admin:hermes_workflow_design_change", args=[design.pk])


def rows():
    return [list(model.objects.order_by("pk").values()) for model in (Design, DesignVersion, Plan)]


def may_be_stored(entry):
    return entry["id"] == IN_A_DOCUMENT_KEPT or bool({200, 201} & set(entry["status"]))


def stays_out_of_the_database(entry):
    return entry["value"] is None or len(json.dumps(entry["value"])) > 200_000


def of(area, kind, *excepted):
    wanted = [entry for entry in entries(area, kind) if not any(holds(entry) for holds in (may_be_stored, *excepted))]
    return pytest.mark.parametrize("entry", wanted, ids=lambda entry: entry["id"])


def as_json(client, design):
    return form_in(client.post(url(design), pressed(form_in(client.get(url(design))), "tab:json")))


def refuses(client, design, data, *, defect=True):
    before = rows()
    answer = client.post(url(design), data)
    assert answer.status_code in REFUSED
    assert rows() == before
    if defect and answer.status_code == 422:
        assert form_in(answer).defects
    return answer


@of("graph", "design")
def test_a_graph_as_json(admin, flow, entry):
    text = json.dumps(entry["value"])
    answer = refuses(admin, flow, pressed(as_json(admin, flow), "save", document=text))
    if answer.status_code == 422:
        assert form_in(answer).fields["document"][0], "the draft is kept"


@of("graph", "design", stays_out_of_the_database)
def test_a_graph_that_is_stored_already_can_be_opened_and_is_refused_unchanged(admin, flow, entry):
    DesignVersion.objects.filter(design=flow).update(document=entry["value"])
    opened = admin.get(url(flow))
    assert opened.status_code == 200
    form = form_in(opened)
    assert form.defects
    refuses(admin, flow, pressed(form, "save"))
    again = form_in(admin.post(url(flow), pressed(form, "tab:json")))
    assert json.loads(again.fields["document"][0]) == json.loads(json.dumps(entry["value"]))


@of("condition", "field")
def test_a_condition_in_its_field(admin, flow, entry):
    form = form_in(admin.get(url(flow)))
    value = entry["value"]
    changes = {"n2__expression": value} if isinstance(value, str) else {"n2-expression~json": json.dumps(value)}
    if not isinstance(value, str):
        form.fields.pop("n2-expression")
    answer = refuses(admin, flow, pressed(form, "save", **changes), defect=False)
    if answer.status_code == 422:
        assert ("good", "expression") in form_in(answer).defects


@of("name", "field")
def test_a_name_of_a_new_design(admin, flow, entry):
    path = reverse("admin:hermes_workflow_design_add")
    form = form_in(admin.get(path))
    before = rows()
    answer = admin.post(path, pressed(form, "save", name=entry["value"]))
    assert answer.status_code == 400
    assert "\x00" in entry["value"] or ("", "name") in form_in(answer).defects, "a NUL is refused before any form is read"
    assert rows() == before


@of("json", "raw")
def test_json_as_text(admin, flow, entry):
    form = as_json(admin, flow)
    text = entry["value"].decode("utf-8", "replace")
    refuses(admin, flow, pressed(form, "save", document=text), defect=False)


@of("mass-assignment", "field")
def test_a_field_that_nobody_sets(admin, flow, entry):
    form = form_in(admin.get(url(flow)))
    (name, value), *_ = entry["value"].items()
    answer = refuses(admin, flow, pressed(form, "save", **{name: json.dumps(value)}), defect=False)
    assert name in answer.content.decode()


@pytest.mark.parametrize(
    "changes",
    [
        {"base_version": ""},
        {"base_version": "-1"},
        {"base_version": "9223372036854775808"},
        {"base_version": "nan"},
        {"base_version": "99"},
        {"profile": "nowhere"},
        {"title": "x" * 201},
        {"title": "a\x00b"},
        {"note": "x" * 501},
        {"description": "a\x00b"},
        {"n1__prompt": "a\x00b"},
        {"n1__prompt": "x" * 1_100_000},
        {"source": ""},
        {"source": "null"},
        {"source": '{"nodes": [1, 2'},
        {"action": ["explode"]},
        {"action": ["remove:99"]},
        {"action": ["remove:-1"]},
        {"action": ["remove:\u0661"]},
        {"action": ["add:goblin"]},
        {"action": ["add:agent:x"]},
        {"action": ["tab:nowhere"]},
        {"n99__id": "x", "n1__id": ""},
        {"n1__nonsense": "x"},
        {"n1__after": ["", "nowhere"]},
        {"n1__type": "goblin"},
        {"n1__retries": "9" * 5000},
        {"n1__schema": "[" * 5000},
        {"mode": "json", "document": ""},
        {"mode": "json", "document": "[]"},
    ],
    ids=str,
)
def test_a_form_that_no_page_of_ours_sends(admin, flow, changes):
    form = form_in(admin.get(url(flow)))
    action = changes.pop("action", ["save"])[0]
    refuses(admin, flow, pressed(form, action, **changes), defect=False)


def test_a_form_with_too_many_fields_is_refused(admin, flow):
    answer = admin.post(url(flow), {f"n{index}-id": "x" for index in range(3000)})
    assert answer.status_code in REFUSED


def test_markup_in_a_design_is_text_on_every_page(admin):
    mark = "<img src=x onerror=alert(1)>"
    design = b.saved(b.agent("draft", prompt=mark), title=mark, description=mark, note=mark)
    for name in ("change", "history_list", "start"):
        page = admin.get(reverse(f"admin:hermes_workflow_design_{name}", args=[design.pk])).content.decode()
        assert mark not in page
    assert mark not in admin.get(reverse("admin:hermes_workflow_design_version", args=[design.pk, 1])).content.decode()
    assert mark not in admin.get(reverse("admin:hermes_workflow_design_changelist")).content.decode()
