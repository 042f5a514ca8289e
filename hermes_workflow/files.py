"""Designs as files, one JSON object each, called after the design; read strictly and written so that no reader sees half of one."""

import json
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from hermes_workflow.core.documents import LIMIT, read_json
from hermes_workflow.core.errors import HermesError, Malformed, NotFound, TooLarge
from hermes_workflow.core.text import shorten
from hermes_workflow.models import Design, DesignVersion
from hermes_workflow.rights import Principal
from hermes_workflow.selectors import designs_for
from hermes_workflow.services import check_slug, save_design

DESIGNS, RUNS = "workflow-designs", "workflow-runs"
RUN_LIMIT = 64 * LIMIT
DETAILS = ("title", "description")
MOST_FILES = 100_000


def files_in(place: Path, folder: str) -> list[Path]:
    """The JSON files to read: `place` itself, those of its folder of that name if it has one, else those in it. Raises NotFound."""
    if place.is_file() or place.is_symlink():
        return [place]
    directory = place / folder if (place / folder).is_dir() else place
    try:
        found = sorted(entry.path for entry in os.scandir(directory) if entry.name.endswith(".json") and not entry.name.startswith("."))
    except OSError as error:
        raise NotFound(f"{place}: {error.strerror}") from None
    return [Path(path) for path in found[:MOST_FILES]]


def read_file(path: Path, *, limit: int = LIMIT) -> Any:
    """The value in a plain file; a link leads elsewhere and is not followed. Raises Malformed, TooLarge."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise Malformed("is a link, which is not followed" if path.is_symlink() else f"cannot be read: {error.strerror}") from None
    with os.fdopen(file, "rb") as opened:
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            raise Malformed("is no plain file")
        data = opened.read(limit + 1)
    if len(data) > limit:
        raise TooLarge(f"must be at most {limit:,} bytes")
    return read_json(data, limit=limit)


def write_file(path: Path, value: Any) -> None:
    """Put `value` at `path` as a whole: a temporary file beside it takes its place once it is on the disk. Raises OSError."""
    text = json.dumps(value, ensure_ascii=False, indent=2) + "\n"
    file, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(file, "w", encoding="utf-8") as opened:
            opened.write(text)
            opened.flush()
            os.fsync(opened.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def document_of(value: Any) -> tuple[str, dict[str, Any], dict[str, str]]:
    """`(dialect, document, details)` of a file, which is the graph itself or holds it as `graph` or `document`. Raises Malformed."""
    if not isinstance(value, dict):
        raise Malformed("must be an object with nodes")
    dialect = value.get("dialect", "design")
    if not isinstance(dialect, str):
        raise Malformed(f"dialect: must be text, got {shorten(dialect)}")
    details = {name: value[name] for name in DETAILS if isinstance(value.get(name), str)}
    inner = next((value[name] for name in ("graph", "document") if isinstance(value.get(name), dict) and "nodes" not in value), None)
    document = inner or {name: item for name, item in value.items() if name not in ("name", "dialect", *DETAILS)}
    return dialect, document, details


def import_design(*, principal: Principal, path: Path, profile: str | None = None) -> tuple[DesignVersion, bool]:
    """Save a file as a design's newest version. Returns it and whether it is new: the same document again makes none.

    Raises HermesError for what cannot be read or saved.
    """
    name = check_slug(path.stem)
    dialect, document, details = document_of(read_file(path))
    known = designs_for(principal).filter(slug=name).first()
    if known and known.current and known.dialect == dialect and known.current.document == document:
        return known.current, False
    saved = save_design(
        principal=principal,
        name=name,
        document=document,
        dialect=dialect,
        profile=None if known else profile,
        note="imported from a file",
        **_fitting(details),
    )
    return saved, True


def _fitting(details: dict[str, str]) -> dict[str, Any]:
    return {"title": details.get("title", "")[:200] or None, "description": details.get("description", "")[:10_000] or None}


def file_of(design: Design) -> dict[str, Any]:
    """What the file of a design holds."""
    assert design.current is not None
    details = {name: getattr(design, name) for name in DETAILS if getattr(design, name)}
    dialect = {} if design.dialect == Design.Dialect.DESIGN else {"dialect": design.dialect}
    return {"name": design.slug, **dialect, **details, **design.current.document}


def export_design(design: Design, place: Path) -> Path:
    """Write the design's file into a directory, which is made. Raises HermesError when that cannot be done."""
    path = place / f"{check_slug(design.slug)}.json"
    try:
        place.mkdir(parents=True, exist_ok=True)
        write_file(path, file_of(design))
    except OSError as error:
        raise HermesError(f"{path}: {error.strerror}") from None
    return path
