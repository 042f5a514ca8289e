"""The editor of a design in the admin, as a browser without scripts meets it."""

import json

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.urls import reverse

from hermes_workflow.dialects.design import validate_designer_graph
from hermes_workflow.installation import EXAMPLES
from hermes_workflow.models import Design, DesignVersion
from hermes_workflow.rights import DESIGNER, REVIEWER
from runs.models import Run
from tests import builders as b
from tests.integration.admin_forms import form_in, pressed

pytestmark = pytest.mark.django_db

EVERY_KIND = [
    b.trigger(x=1, y=-2.5),
    b.agent(
        "draft",
        prompt="Say \"hello\"\r\n  <b>twice</b>\n\n",
        profile="default",
        model="",
        retries=2,
        timeout_minutes=5,
        schema={"type": "object", "properties": {"a": {"type": "number"}}},
        owner={"team": ["ä", None, 1.0]},
    ),
    b.condition("good", "out.draft.a >= 1"),
    b.approval(
        "review",
        options=["approve", "send back", "reject"],
        stop_on=["reject"],
        timeout_minutes=60,
        on_timeout="escalate",
        escalate_to="group:legal",
        assignees=["user:ann", "group:legal"],
        quorum=2,
        relay=False,
        after=["good"],
    ),
    b.output("tell", "review", "draft", deliver="notification", target="user:ann", join="any"),
    b.note("why", text="because", color="blue", after=["nowhere"]),
]  # fmt: skip


@pytest.fixture
def admin(client):
    user = b.admin().user
    client.force_login(user)
    return client


@pytest.fixture
def flow():
    Group.objects.get_or_create(name="legal")
    b.person("ann", REVIEWER)
    return b.saved(b.agent("draft"), b.approval("review"), b.output("tell"))


def url(name, *args):
    return reverse(f"admin:hermes_workflow_design_{name}", args=args)


def editor(client, design, **query):
    return form_in(client.get(url("change", design.pk), query))


def send(client, design, form, action="save", **changes):
    return client.post(url("change", design.pk), pressed(form, action, **changes))


def document_of(design):
    return Design.objects.select_related("current").get(pk=design.pk).current.document


def test_a_save_without_a_change_gives_the_same_document(admin):
    b.person("ann", REVIEWER)
    Group.objects.get_or_create(name="legal")
    design = b.saved(*EVERY_KIND)
    before = document_of(design)
    assert send(admin, design, editor(admin, design)).status_code == 302
    assert design.versions.count() == 2
    assert json.dumps(document_of(design)) == json.dumps(before)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.json")), ids=lambda path: path.stem)
def test_a_shipped_design_goes_through_the_fields_unchanged(admin, path):
    document = json.loads(path.read_text())["document"]
    design = b.saved()
    DesignVersion.objects.filter(design=design).update(document=document)
    assert send(admin, design, editor(admin, design)).status_code == 302
    assert json.dumps(document_of(design)) == json.dumps(document)


def test_typed_fields_give_typed_values(admin, flow):
    changes = {
        "n1-retries": "3",
        "n1-timeout_minutes": " 20 ",
        "n1-schema": '{"type": "object"}',
        "n2-options": "approve\r\n\r\nreject \r\nlater",
        "n2-stop_on": ["", "reject"],
        "n2-assignees": ["", "user:ann"],
        "n2-relay": "false",
        "n2-quorum": "1",
        "n3-target": "",
    }
    answer = send(admin, flow, editor(admin, flow), **{name.replace("-", "__"): value for name, value in changes.items()})
    assert answer.status_code == 302
    nodes = document_of(flow)["nodes"]
    assert nodes[1] == {
        "id": "draft", "type": "agent", "after": ["start"], "prompt": "do draft",
        "retries": 3, "timeout_minutes": 20, "schema": {"type": "object"},
    }  # fmt: skip
    assert nodes[2]["options"] == ["approve", "reject", "later"]
    assert nodes[2]["stop_on"] == ["reject"]
    assert nodes[2]["assignees"] == ["user:ann"]
    assert nodes[2]["relay"] is False
    assert nodes[2]["quorum"] == 1
    assert "target" not in nodes[3]


def test_every_defect_is_shown_at_once_beside_its_node_and_field_and_nothing_typed_is_lost(admin, flow):
    changes = {"n1__prompt": "  ", "n1__retries": "many", "n2__quorum": "0", "n3__deliver": "pigeon", "title": "A new title", "note": "try"}
    answer = send(admin, flow, editor(admin, flow), **changes)
    shown = form_in(answer)
    assert answer.status_code == 422
    expected = {("draft", "prompt"), ("draft", "retries"), ("review", "quorum"), ("tell", "deliver")}
    assert expected <= set(shown.defects)
    assert all(shown.defects.count(place) == 2 for place in expected), "once in the list, once beside the field"
    assert {"#f-n1-prompt", "#f-n1-retries", "#f-n2-quorum", "#f-n3-deliver"} <= set(shown.links)
    assert {link[1:] for link in shown.links if link.startswith("#f-")} <= shown.ids
    assert {name.replace("__", "-"): shown.fields[name.replace("__", "-")] for name in changes} == {
        name.replace("__", "-"): [value] for name, value in changes.items()
    }
    assert flow.versions.count() == 1


def test_a_refused_draft_can_be_put_right_and_saved(admin, flow):
    refused = form_in(send(admin, flow, editor(admin, flow), n1__retries="many", n1__prompt=""))
    answer = send(admin, flow, refused, n1__retries="1", n1__prompt="work", note="put right")
    assert answer.status_code == 302
    version = flow.versions.first()
    assert (version.number, version.note, version.author.username) == (2, "put right", "root")
    assert document_of(flow)["nodes"][1]["retries"] == 1


@pytest.mark.parametrize("kind", ["trigger", "agent", "condition", "approval", "output", "note"])
def test_a_node_of_each_kind_is_added_with_its_fields(admin, flow, kind):
    shown = form_in(send(admin, flow, editor(admin, flow), f"add:{kind}:1"))
    assert shown.fields["n2-type"] == [kind]
    assert json.loads(shown.fields["source"][0])["nodes"][2]["id"] not in ("start", "draft", "review", "tell")
    assert flow.versions.count() == 1


def test_a_new_step_comes_after_the_one_above_it(admin, flow):
    shown = form_in(send(admin, flow, editor(admin, flow), "add:agent:1"))
    assert shown.fields["n2-after"] == ["", "draft"]


def test_removing_a_node_joins_what_was_before_and_after_it(admin, flow):
    shown = form_in(send(admin, flow, editor(admin, flow), "remove:2"))
    assert shown.fields["n2-id"] == ["tell"]
    assert shown.fields["n2-after"] == ["", "draft"]


def test_nodes_are_reordered(admin, flow):
    shown = form_in(send(admin, flow, editor(admin, flow), "up:3"))
    assert [shown.fields[f"n{index}-id"][0] for index in range(4)] == ["start", "draft", "tell", "review"]
    assert shown.fields["n2-after"] == ["", "review"]


def test_nodes_are_connected_and_disconnected(admin, flow):
    assert send(admin, flow, editor(admin, flow), n3__after=["", "draft"], n2__after=[""]).status_code == 302
    nodes = document_of(flow)["nodes"]
    assert nodes[3]["after"] == ["draft"]
    assert "after" not in nodes[2]


def test_what_refers_to_a_renamed_node_follows(admin):
    design = b.saved(b.agent("draft"), b.condition("good", "out.draft.counts.risks > 0"), b.output("tell", "good", "draft"))
    assert send(admin, design, editor(admin, design), n1__id="reading").status_code == 302
    nodes = document_of(design)["nodes"]
    assert nodes[2]["expression"] == "out.reading.counts.risks > 0"
    assert nodes[2]["after"] == ["reading"]
    assert nodes[3]["after"] == ["good", "reading"]


def test_a_changed_kind_shows_other_fields_and_keeps_what_was_there(admin, flow):
    shown = form_in(send(admin, flow, editor(admin, flow), "kind:1", n1__type="approval", n1__prompt="kept"))
    assert "n1-question" in shown.fields
    assert json.loads(shown.fields["source"][0])["nodes"][1]["prompt"] == "kept"


def test_the_json_tab_shows_the_draft_and_its_text_is_the_draft(admin, flow):
    as_json = form_in(send(admin, flow, editor(admin, flow), "tab:json", n1__prompt="typed"))
    document = json.loads(as_json.fields["document"][0])
    assert document["nodes"][1]["prompt"] == "typed"
    document["nodes"][1] |= {"retries": 2, "later": [1]}
    as_fields = form_in(send(admin, flow, as_json, "tab:fields", document=json.dumps(document)))
    assert as_fields.fields["n1-retries"] == ["2"]
    assert send(admin, flow, as_fields).status_code == 302
    assert document_of(flow) == document


def test_the_json_tab_saves_too(admin, flow):
    as_json = form_in(send(admin, flow, editor(admin, flow), "tab:json"))
    document = {"nodes": [b.trigger(), b.note("n", text="x")], "about": "kept"}
    assert send(admin, flow, as_json, document=json.dumps(document)).status_code == 302
    assert document_of(flow) == document


def test_json_that_cannot_be_read_stays_as_it_was_typed(admin, flow):
    as_json = form_in(send(admin, flow, editor(admin, flow), "tab:json"))
    answer = send(admin, flow, as_json, document='{"nodes": [,]}')
    shown = form_in(answer)
    assert answer.status_code == 400
    assert shown.fields["document"] == ['{"nodes": [,]}']
    assert b"column" in answer.content
    assert flow.versions.count() == 1


def test_a_save_over_a_newer_version_is_a_conflict_with_a_choice_and_keeps_the_draft(admin, flow):
    form = editor(admin, flow)
    b.saved(b.agent("draft", prompt="theirs"))
    answer = send(admin, flow, form, n1__prompt="mine")
    shown = form_in(answer)
    assert answer.status_code == 409
    assert b"data-conflict" in answer.content
    assert shown.fields["n1-prompt"] == ["mine"]
    assert document_of(flow)["nodes"][1]["prompt"] == "theirs"
    assert send(admin, flow, shown).status_code == 302
    assert document_of(flow)["nodes"][1]["prompt"] == "mine"
    assert flow.versions.count() == 3


def test_a_new_design_starts_from_something_that_runs(admin):
    b.profile()
    form = form_in(admin.get(url("add")))
    answer = admin.post(url("add"), pressed(form, "save", name="fresh", title="Fresh", separate_duties="on"))
    design = Design.objects.get(slug="fresh")
    assert answer.url == url("change", design.pk)
    assert validate_designer_graph(document_of(design)) == []
    assert (design.title, design.separate_duties, design.profile.name) == ("Fresh", True, "default")


def test_a_taken_name_is_refused_and_the_draft_is_kept(admin, flow):
    form = form_in(admin.get(url("add")))
    answer = admin.post(url("add"), pressed(form, "save", name="flow", title="Mine"))
    assert answer.status_code == 409
    assert form_in(answer).fields["title"] == ["Mine"]
    assert Design.objects.count() == 1


def test_an_agent_without_a_profile_is_said_to_be_performed_by_the_default_one_and_not_by_the_design(admin, settings):
    design = b.saved(b.agent("draft"))
    settings.HERMES_DEFAULT_PROFILE = "house"
    page = admin.get(url("change", design.pk)).content.decode()
    assert '<option value="" selected>the default profile (house)</option>' in page
    assert "unless a node says otherwise" not in page


def test_the_list_of_defects_uses_the_words_of_the_fields(admin, flow):
    page = send(admin, flow, editor(admin, flow), n2__timeout_minutes="0").content.decode()
    listed = page.partition('class="defects"')[2].partition("</ul>")[0]
    assert "<strong>Time limit in minutes</strong>" in listed


def test_escalating_to_nobody_is_remarked_on_beside_the_field_and_may_be_saved(admin, flow):
    form = editor(admin, flow)
    shown = send(admin, flow, form, "check", n2__timeout_minutes="5", n2__on_timeout="escalate").content.decode()
    assert "nobody more is asked" in shown
    assert "nobody more is asked" not in send(admin, flow, form, "check", n2__on_timeout="reject").content.decode()
    assert send(admin, flow, form, n2__timeout_minutes="5", n2__on_timeout="escalate").status_code == 302


def test_saving_and_starting_leads_to_the_start(admin, flow):
    assert send(admin, flow, editor(admin, flow), "save-start").url == url("start", flow.pk)


def test_a_run_is_started_on_a_pasted_text_once(admin, flow):
    form = form_in(admin.get(url("start", flow.pk)), "start")
    for _ in range(2):
        answer = admin.post(url("start", flow.pk), {**form.fields, "text": ["Real\r\ntext"]})
        assert answer.url == reverse("run", args=[Run.objects.get().pk])
    assert b.document(Run.objects.get().pk)["input"] == {"text": "Real\ntext"}


def test_a_run_is_started_on_an_uploaded_file(admin, flow, tmp_path):
    form = form_in(admin.get(url("start", flow.pk)), "start")
    path = tmp_path / "notes.txt"
    path.write_text("We met.")
    with path.open("rb") as file:
        answer = admin.post(url("start", flow.pk), {**form.fields, "file": file})
    assert answer.status_code == 302
    assert b.document(Run.objects.get().pk)["input"] == {"text": "We met.", "filename": "notes.txt"}


def test_a_start_on_nothing_is_refused(admin, flow):
    form = form_in(admin.get(url("start", flow.pk)), "start")
    answer = admin.post(url("start", flow.pk), {**form.fields, "text": [" "]})
    assert answer.status_code == 400
    assert "paste a text, or choose a file" in answer.text
    assert not Run.objects.exists()


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"a\x00b"])
def test_a_file_that_is_no_text_is_refused(admin, flow, tmp_path, content):
    form = form_in(admin.get(url("start", flow.pk)), "start")
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with path.open("rb") as file:
        answer = admin.post(url("start", flow.pk), {**form.fields, "file": file})
    assert answer.status_code == 400
    assert b"data-defect" in answer.content
    assert not Run.objects.exists()


def test_an_old_version_is_restored_as_a_new_one(admin, flow):
    first = document_of(flow)
    b.saved(b.agent("other"))
    assert b"v1" in admin.get(url("history_list", flow.pk)).content
    assert b"Restore" in admin.get(url("version", flow.pk, 1)).content
    assert admin.post(url("restore", flow.pk, 1)).status_code == 302
    assert flow.versions.count() == 3
    assert document_of(flow) == first


def test_an_old_version_that_may_not_be_saved_again_opens_as_a_draft(admin):
    b.profile("gone")
    design = b.saved(b.agent("draft", profile="gone"))
    b.saved(b.agent("draft"))
    b.profile("gone").delete()
    answer = admin.post(url("restore", design.pk, 1))
    assert answer.status_code == 422
    assert ("draft", "profile") in form_in(answer).defects
    assert design.versions.count() == 2


def test_a_deleted_design_is_gone_and_its_runs_stay(admin, flow):
    b.begun(flow)
    assert admin.post(url("delete", flow.pk)).status_code == 302
    assert admin.get(url("change", flow.pk)).status_code == 404
    assert Run.objects.count() == 1
    assert url("change", flow.pk) not in admin.get(url("changelist")).content.decode()


def test_a_designer_sees_and_edits_the_designs_of_their_profiles_only(flow):
    b.profile("closed", is_open=False)
    foreign = b.saved(b.agent("draft"), name="secret", profile="closed")
    client = Client()
    client.force_login(b.person("dora", DESIGNER).user)
    listed = client.get(url("changelist")).content
    assert b"flow" in listed
    assert b"secret" not in listed
    assert send(client, flow, editor(client, flow), n1__prompt="hers").status_code == 302
    for name in ("change", "start", "history_list", "delete"):
        assert client.get(url(name, foreign.pk)).status_code == 404
        assert client.post(url(name, foreign.pk)).status_code == 404
    assert client.get("/admin/auth/user/").status_code == 403
    assert foreign.versions.count() == 1


@pytest.mark.parametrize("role", ["reviewer", "operator", "viewer", "bot"])
def test_nobody_else_comes_in(flow, role):
    client = Client()
    user = b.person("eve", role).user
    user.is_staff = True
    user.save()
    client.force_login(user)
    for path in ("/admin/", url("changelist"), url("change", flow.pk), url("add")):
        assert client.get(path, follow=True).status_code == 403
    assert client.post(url("change", flow.pk), {"action": "save"}, follow=True).status_code == 403
    assert flow.versions.count() == 1


def test_the_list_shows_what_there_is(admin, flow):
    b.begun(flow)
    page = admin.get(url("changelist")).content.decode()
    assert all(word in page for word in ("flow", "Hermes Workflow graph", "default", "v1", "?name=flow"))
