"""`manage.py hermes`: designs and runs as files. JSON on stdout; exit 0 done, 1 refused, 2 wrong usage, nothing to read, no database."""

import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand
from django.db import DatabaseError

from hermes_workflow import files, programs
from hermes_workflow.core.errors import HermesError, Malformed, NotFound
from hermes_workflow.rights import Principal
from hermes_workflow.selectors import design_for, designs_for
from runs import imports

Said = dict[str, Any]
UNUSABLE = 2


class Unusable(Exception):
    """The command cannot be carried out at all."""


class Command(BaseCommand):
    """The operator's command line."""

    help = "Designs and runs as files of Hermes Workflow."
    requires_system_checks = ()  # a validation needs no database

    def add_arguments(self, parser: ArgumentParser) -> None:
        """A noun, then a verb."""
        nouns = parser.add_subparsers(dest="noun", required=True, metavar="design|run")
        design = nouns.add_parser("design", help="import, export or validate designs").add_subparsers(dest="verb", required=True)
        self._import(design.add_parser("import", help="save workflow-designs/*.json, or one file"))
        export = design.add_parser("export", help="write designs as files")
        export.add_argument("name", nargs="?", help="the design")
        export.add_argument("--all", action="store_true", help="every design")
        export.add_argument("place", type=Path, metavar="DIR")
        validate = design.add_parser("validate", help="say every defect of a file")
        validate.add_argument("place", type=Path, metavar="FILE")
        run = nouns.add_parser("run", help="import runs").add_subparsers(dest="verb", required=True)
        self._import(run.add_parser("import", help="take in workflow-runs/*.json, or one file"))

    def _import(self, parser: ArgumentParser) -> None:
        parser.add_argument("place", type=Path, metavar="DIR|FILE")
        parser.add_argument("--as", dest="user", default="", help="who does it; without it the first administrator")
        parser.add_argument("--profile", default=None, help="the profile of designs that are new")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print what was done and end with its exit code."""
        verb = {
            ("design", "import"): import_designs,
            ("design", "export"): export_designs,
            ("design", "validate"): validate_design,
            ("run", "import"): import_runs,
        }[options["noun"], options["verb"]]
        try:
            said = verb(options)
        except Unusable as error:
            said, code = _failure("unusable", str(error)), UNUSABLE
        except DatabaseError as error:
            said, code = _failure("database", f"the database cannot be used: {type(error).__name__}"), UNUSABLE
        except HermesError as refusal:
            said, code = refusal.document(), 1
        else:
            code = 0 if said["ok"] else 1
        self.stdout.write(json.dumps(said, ensure_ascii=False, indent=2))
        if code:
            sys.exit(code)


def _failure(code: str, msg: str) -> Said:
    return {"ok": False, "error": {"code": code, "msg": msg}}


def validate_design(options: Said) -> Said:
    """Every defect of a file, by the rulebook alone."""
    (path,) = _paths(options["place"], files.DESIGNS, one=True)
    dialect, document, _ = files.document_of(files.read_file(path))
    defects = programs.defects_of(dialect, document)
    return {"ok": not defects, "defects": defects}


def import_designs(options: Said) -> Said:
    """Each file that can be saved is; the others are named with the reason."""
    who = _principal(options["user"])
    done: list[Said] = []
    same: list[Said] = []
    refused: list[Said] = []
    for path in _paths(options["place"], files.DESIGNS):
        try:
            version, new = files.import_design(principal=who, path=path, profile=options["profile"])
        except HermesError as refusal:
            refused.append(_refused(path, refusal))
        else:
            (done if new else same).append({"name": version.design.slug, "version": version.number})
    return {"ok": not refused, "imported": done, "unchanged": same, "refused": refused}


def export_designs(options: Said) -> Said:
    """One design, or all of them."""
    if bool(options["name"]) == options["all"]:
        raise Unusable("name one design, or give --all")
    who = _principal("")
    chosen = list(designs_for(who).order_by("slug")) if options["all"] else [design_for(who, options["name"])]
    return {"ok": True, "exported": [str(files.export_design(design, options["place"])) for design in chosen if design.current]}


def import_runs(options: Said) -> Said:
    """Each run that can be taken in is; one that is here already is left alone."""
    who = _principal(options["user"])
    done: list[Said] = []
    known: list[Said] = []
    refused: list[Said] = []
    for path in _paths(options["place"], files.RUNS):
        try:
            state = imports.read_state(files.read_file(path, limit=files.RUN_LIMIT), run_id=path.stem)
            new = imports.import_run(principal=who, state=state)
        except HermesError as refusal:
            refused.append(_refused(path, refusal))
        else:
            (done if new else known).append({"run_id": state.run_id, "name": state.name, "status": state.status})
    return {"ok": not refused, "imported": done, "known": known, "refused": refused}


def _paths(place: Path, folder: str, *, one: bool = False) -> list[Path]:
    if one and place.is_dir():
        raise Unusable(f"{place} is a directory; name one file")
    if not place.exists() and not place.is_symlink():
        raise Unusable(f"there is no {place}")
    try:
        found = files.files_in(place, folder)
    except NotFound as error:
        raise Unusable(error.msg) from None
    if not found:
        raise Unusable(f"there is no .json file in {place}")
    return found


def _refused(path: Path, refusal: HermesError) -> Said:
    found = refusal.document()
    return {"file": path.name, **{name: value for name, value in found.items() if name != "ok"}}


def _principal(name: str) -> Principal:
    people = User.objects.filter(is_active=True)
    user = people.filter(username=name).first() if name else people.filter(is_superuser=True).order_by("pk").first()
    if user is None:
        raise Malformed(f"there is no active user {name}" if name else "there is no administrator yet; run setup_demo first")
    return Principal(user)
