"""Tools that read, check and save designs."""

from typing import Any

from hermes_workflow.api.designs import design_named
from hermes_workflow.api.shapes import DESCRIPTION_LIMIT, design_document, design_summary
from hermes_workflow.api.tools.tool import Call, Tool
from hermes_workflow.http.bodies import Anyhow, Body, Flag, Text, Whole
from hermes_workflow.http.queries import LARGEST_PAGE, PAGE_SIZE
from hermes_workflow.selectors import designs_for
from hermes_workflow.services import NOTE_LIMIT, TITLE_LIMIT, check_document, delete_design, save_design

BIGGEST = 2**31 - 1
DOCUMENT = (
    '{"nodes": [{"id", "type", "after": [ids of parents], …}]}. Types: trigger (exactly one), agent (prompt), condition (expression, such '
    "as out.draft.count > 3), approval (question, options), output (deliver: notification, or channel with target), note."
)


class Listing(Body):
    """Which designs."""

    profile = Text(required=False, max_length=64, help_text="Only designs of this profile")
    limit = Whole(default=PAGE_SIZE, min_value=1, max_value=LARGEST_PAGE, help_text="How many at most")
    after = Text(required=False, max_length=64, help_text="Go on after the design of this name")


class Naming(Body):
    """A design by its name."""

    name = Text(max_length=64, help_text="The design's name")


class Document(Body):
    """A workflow to check."""

    document = Anyhow(help_text=DOCUMENT)
    dialect = Text(default="design", max_length=16, help_text="How the document is written")


class Saving(Document):
    """A workflow to save."""

    name = Text(max_length=64, help_text="1 to 64 of a-z, 0-9, dot, dash and underscore, starting with a letter or digit")
    title = Text(required=False, max_length=TITLE_LIMIT, allow_blank=True, help_text="What people read")
    description = Text(required=False, max_length=DESCRIPTION_LIMIT, allow_blank=True, help_text="What it is for")
    note = Text(required=False, max_length=NOTE_LIMIT, allow_blank=True, help_text="What changed, for the history")
    profile = Text(required=False, max_length=64, help_text="Whose design it is")
    base_version = Whole(
        required=False, min_value=1, max_value=BIGGEST, help_text="The version you started from: refused if somebody saved since"
    )
    create_only = Flag(default=False, help_text="Refuse to save over a design that exists")


def _list(call: Call) -> dict[str, Any]:
    limit = call.fields["limit"]
    rows = designs_for(call.principal).exclude(current=None).defer("current__document", "current__viewport").order_by("slug", "id")
    if "profile" in call.fields:
        rows = rows.filter(profile__name=call.fields["profile"])
    if "after" in call.fields:
        rows = rows.filter(slug__gt=call.fields["after"])
    found = list(rows[: limit + 1])
    shown = [design_summary(design) for design in found[:limit]]
    more = len(found) > limit
    hint = f"there are more: call again with after={shown[-1]['name']}" if more else "workflow_design_run starts one by its name"
    return {"ok": True, "designs": shown, "more": more, "next": hint if shown else "workflow_design_save makes the first one"}


def _get(call: Call) -> dict[str, Any]:
    found = design_document(design_named(call, call.fields["name"]))
    return {**found, "next": f"change the document and save it with base_version {found['version']}, or run it"}


def _save(call: Call) -> dict[str, Any]:
    version = save_design(principal=call.principal, **call.fields)
    return {**design_document(version.design), "created": version.number == 1, "next": "workflow_design_run starts it"}


def _validate(call: Call) -> dict[str, Any]:
    call.principal.require("read")
    defects = check_document(call.principal, call.fields["dialect"], call.fields["document"])
    hint = "mend each defect at its node and field, then check again" if defects else "workflow_design_save saves it"
    return {"ok": not defects, "defects": defects, "next": hint}


def _delete(call: Call) -> dict[str, Any]:
    design = design_named(call, call.fields["name"])
    delete_design(principal=call.principal, design=design)
    return {"ok": True, "name": design.slug, "deleted": True, "next": "its runs and their history stay"}


TOOLS = (
    Tool("workflow_design_list", "List the workflow designs that you may see, by name.", Listing, _list),
    Tool("workflow_design_get", "Read one workflow design with its document.", Naming, _get),
    Tool("workflow_design_save", "Save a workflow design: a new one, or a new version of one that exists.", Saving, _save),
    Tool("workflow_design_validate", "Check a workflow document without saving it. Gives every defect at once.", Document, _validate),
    Tool("workflow_design_delete", "Delete a workflow design. Its runs and their history stay.", Naming, _delete),
)
