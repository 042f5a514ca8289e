"""Starting a run from the admin: a text is pasted or a text file is uploaded, and the run's page opens."""

from typing import Any
from uuid import uuid4

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse

from hermes_workflow import uploads
from hermes_workflow.core.errors import HermesError, Malformed, TooLarge
from hermes_workflow.models import Design
from hermes_workflow.rights import Principal
from runs.services import start_run


class Start(forms.Form):
    """What the run works on. `key` makes sending the form twice start one run."""

    text = forms.CharField(required=False, strip=False, widget=forms.Textarea, label="Text")
    file = forms.FileField(required=False, allow_empty_file=True, label="Or a text file")
    key = forms.CharField(max_length=64, widget=forms.HiddenInput)


def start(request: HttpRequest, principal: Principal, design: Design) -> HttpResponseBase:
    """Show the form, or start."""
    if request.method != "POST":
        return _page(request, design, Start(initial={"key": uuid4().hex}))
    form = Start(request.POST, request.FILES)
    try:
        if not form.is_valid():
            raise Malformed("this text cannot be read")
        given, upload = _input(form.cleaned_data)
        run, new = start_run(principal=principal, design=design, input=given, origin="web", key=form.cleaned_data["key"])
        if upload:
            uploads.keep(principal=principal, upload=upload)
    except HermesError as refusal:
        return _page(request, design, form, refusal)
    messages.success(request, f"{design.slug} is started." if new else "This form started this run already.")
    return redirect("run", run.pk)


def _input(given: dict[str, Any]) -> tuple[dict[str, str], uploads.Upload | None]:
    """What the run works on, and the file to keep once it runs."""
    text, file = given["text"].replace("\r\n", "\n"), given["file"]
    if file and text.strip():
        raise Malformed("text and file: give one of them")
    if not file:
        if len(text.encode()) > uploads.LIMIT:
            raise TooLarge(f"text: at most {uploads.LIMIT:,} bytes")
        if not text.strip():
            raise Malformed("text: paste a text, or choose a file")
        return {"text": text}, None
    if file.size > uploads.LIMIT:
        raise TooLarge(f"file: at most {uploads.LIMIT:,} bytes")
    upload = uploads.read_upload(file.name, file.read())
    return upload.input, upload


def _page(request: HttpRequest, design: Design, form: Start, refusal: HermesError | None = None) -> TemplateResponse:
    context = {
        **admin.site.each_context(request),
        "title": f"Start {design.slug}",
        "design": design,
        "original": design,
        "form": form,
        "refusal": refusal,
        "opts": Design._meta,
    }
    return TemplateResponse(request, "admin/designs/start.html", context, status=refusal.status if refusal else 200)
