"""What a design may name as a target: refused at its field when it is saved, and a receipt when it was stored all the same."""

from typing import Any

import pytest

from hermes_workflow.models import Channel, Design, DesignVersion
from hermes_workflow.programs import compile_document, store
from tests import builders as b
from tests.api import Api
from tests.bad_inputs import BadInput, bad_inputs
from tests.builders import agent, design, output
from tests.fakes import ScriptedPerformer

pytestmark = pytest.mark.django_db
BAD = list(bad_inputs("delivery", kind="field"))


def document(target: Any) -> dict[str, Any]:
    """A design that sends to it."""
    return design(agent("write"), output("tell", deliver="channel", target=target), agent("after"))


@pytest.fixture
def telegram(performer: ScriptedPerformer) -> Channel:
    """A channel with one allowed chat."""
    b.profile()
    return Channel.objects.create(platform="telegram", url="tgram://{env:NO_SUCH_TOKEN}/{chat_id}", chats=["-1001"])


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.id)
@pytest.mark.parametrize("form", ["{}", "telegram:{}"])
def test_an_address_is_refused_at_its_field(telegram: Channel, bad: BadInput, form: str):
    answer = Api(b.admin()).post("/api/designs/", {"name": "flow", "document": document(form.format(bad.input))}, status=422)
    assert {(defect["node"], defect["field"]) for defect in answer["defects"]} == {("tell", "target")}
    assert not Design.objects.exists()


@pytest.mark.parametrize(
    ("target", "says"),
    [("discord:5", "configured channel: telegram"), ("telegram:-1002", "not among the chats"), ("telegram:a\\b", "letters")],
)
def test_a_chat_that_cannot_be_written_to_is_refused_at_its_field(telegram: Channel, target: str, says: str):
    (defect,) = Api(b.admin()).post("/api/designs/", {"name": "flow", "document": document(target)}, status=422)["defects"]
    assert (defect["node"], defect["field"], says in defect["msg"]) == ("tell", "target", True)


def test_a_chat_that_is_allowed_is_saved(telegram: Channel):
    Api(b.admin()).post("/api/designs/", {"name": "flow", "document": document("telegram:-1001")}, status=201)


def test_an_installation_without_channels_takes_designs_for_later(performer: ScriptedPerformer):
    b.profile()
    Api(b.admin()).post("/api/designs/", {"name": "flow", "document": document("telegram:-1001")}, status=201)
    Api(b.admin()).post("/api/designs/", {"name": "bad", "document": document("telegram://x")}, status=422)


@pytest.mark.parametrize("bad", [one for one in BAD if ":" in one.input.strip("/")], ids=lambda bad: bad.id)
def test_a_stored_target_that_is_an_address_is_a_receipt_and_the_run_goes_on(telegram: Channel, bad: BadInput):
    saved = b.saved(agent("write"), output("tell"), agent("after"))
    plan = store(compile_document("design", document(bad.input.replace("\r\n", " "))))
    DesignVersion.objects.filter(pk=saved.current_id).update(plan=plan)
    run_id = b.begun(Design.objects.select_related("current", "profile").get())
    b.work(run_id)
    run = b.document(run_id)
    assert run["status"] == "done"
    assert [(sent["node_id"], sent["ok"]) for sent in run["deliveries"]] == [("tell", False)]
    assert run["outputs"]["after"] == {"did": "after"}
