"""Starting a run on a file over the REST API: text alone, judged by its bytes, in a form that is whole."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection

from hermes_workflow.models import Attachment
from runs.models import Run
from tests.api import Api, error_of
from tests.bad_inputs import plays

pytestmark = pytest.mark.django_db

BOUNDARY = "-----edge"


def part(name: str, content: bytes, filename: str = "") -> bytes:
    """One part of a form."""
    file = f'; filename="{filename}"' if filename else ""
    return f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n'.encode() + content + b"\r\n"


def upload(api: Api, *parts: bytes, status: int, end: bytes = f"--{BOUNDARY}--\r\n".encode(), boundary: str = BOUNDARY) -> Any:
    """Start `known` on a form."""
    content_type = f"multipart/form-data; boundary={boundary}" if boundary else "multipart/form-data"
    return api.post("/api/designs/known/run/", b"".join(parts) + end, status=status, content_type=content_type)


def test_a_text_file_becomes_the_input(api: Api) -> None:
    fields = part("file", "Käse\n".encode(), "dir/notes.txt"), part("input", b'{"lang": "de"}'), part("workflow_id", b"w-1")
    run = upload(api, *fields, status=201)
    assert run["input"] == {"text": "Käse\n", "filename": "notes.txt", "lang": "de"}
    assert run["workflow_id"] == "w-1"
    kept = Attachment.objects.get()
    assert (bytes(kept.content), kept.filename, kept.uploaded_by) == ("Käse\n".encode(), "notes.txt", User.objects.get(username="root"))


PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 50
FILES = {
    "U001": ("x.svg", b"<svg><script>alert(1)</script></svg>"),
    "U002": ("x.png", b"<html><script>alert(1)</script></html>"),
    "U003": ("x.png", PNG),
    "U005": ("x.zip", b"PK\x03\x04../../evil\x00"),
    "U006": ("many.zip", b"PK\x03\x04" + b"\xff" * 1000),
    "U008": ("empty.txt", b""),
    "U010": ("x.gif", b"GIF89a=1;alert(1)"),
}


@plays("U001", "U002", "U003", "U005", "U006", "U008", "U010")
@pytest.mark.parametrize("case", FILES)
@pytest.mark.parametrize("renamed", [False, True])
def test_a_file_that_is_no_text_is_refused(api: Api, case: str, renamed: bool) -> None:
    name, content = FILES[case]
    harmless = renamed and case in ("U001", "U002", "U010")  # nothing but text once the name says so
    answer = upload(api, part("file", content, "x.txt" if renamed else name), status=201 if harmless else 400)
    if not harmless:
        assert error_of(answer).startswith("file: ")
        assert (Run.objects.count(), Attachment.objects.count()) == (0, 0)


@plays("U011")
def test_a_file_is_never_named_by_json(api: Api) -> None:
    api.post("/api/designs/known/run/", {"files": {"f": {"filepath": "/etc/passwd"}}}, status=400)
    api.post("/api/designs/known/run/", {"file": {"filepath": "/etc/passwd"}}, status=400)
    api.post("/api/designs/known/run/", {"file": "/etc/passwd"}, status=400)


@plays("U012")
@pytest.mark.parametrize("filename", ["", "a.txt"])
def test_a_form_of_very_many_parts_is_refused(api: Api, filename: str) -> None:
    for count in (3_000, 100_000):
        assert "the form" in error_of(upload(api, *(part(f"f{number}", b"", filename) for number in range(count)), status=413))


@plays("U013")
@pytest.mark.parametrize("boundary", ["", "x" * 100_000, "a\tb"])
def test_a_form_without_a_usable_boundary_is_refused(api: Api, boundary: str) -> None:
    upload(api, part("file", b"text", "a.txt"), status=400, boundary=boundary)


@plays("U014")
def test_a_form_that_was_cut_off_is_refused(api: Api) -> None:
    whole = part("file", b"line\n" * 1000, "a.txt")
    upload(api, whole[: len(whole) // 2], end=b"", status=400)
    upload(api, whole, end=b"", status=400)
    assert (Run.objects.count(), Attachment.objects.count()) == (0, 0)


@plays("U015")
@pytest.mark.skipif(connection.vendor != "sqlite", reason="only SQLite can be told that the disk is full")
def test_a_full_disk_is_said_and_leaves_nothing(api: Api) -> None:
    with connection.cursor() as cursor:
        pages = cursor.execute("PRAGMA page_count").fetchone()[0]
        cursor.execute(f"PRAGMA max_page_count = {pages}")
        try:
            answer = upload(api, part("file", b"text " * 200_000, "a.txt"), status=503)
        finally:
            cursor.execute("PRAGMA max_page_count = 1073741823")
    assert answer["error"]["code"] == "unavailable"
    assert (Run.objects.count(), Attachment.objects.count()) == (0, 0)


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"a" * (1024 * 1024 + 1), "at most"), (b"\xff\xfea\x00", "UTF-8"), (b"a\x00b", "NUL"), (b" \n", "empty")],
)
def test_a_text_file_has_rules(api: Api, content: bytes, said: str) -> None:
    answer = upload(api, part("file", content, "a.txt"), status=413 if said == "at most" else 400)
    assert said in error_of(answer)


def test_a_form_has_no_field_twice_and_no_unknown_one(api: Api) -> None:
    file = part("file", b"text", "a.txt")
    upload(api, file, file, status=400)
    upload(api, file, part("status", b"done"), status=400)
    upload(api, file, part("other", b"text", "b.txt"), status=400)
    assert "comes from the file" in error_of(upload(api, file, part("input", b'{"text": "two"}'), status=400))
