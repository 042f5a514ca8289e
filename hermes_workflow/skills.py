"""Skills: texts that a step is given, each the `SKILL.md` in a folder of its name below the folders of this site."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from django.conf import settings

from hermes_workflow.core.errors import HermesError
from hermes_workflow.core.text import shorten

FILE = "SKILL.md"
MOST_FOLDERS = 5_000
LARGEST = 65_536  # bytes


class SkillUnusable(HermesError):
    """A selected skill cannot be read."""


def texts_of(names: Iterable[str], *, agent: str) -> dict[str, str]:
    """`{name: text}` of the skills that a node selected for its agent. Raises SkillUnusable."""
    wanted = list(dict.fromkeys(names))
    found: dict[str, str] = {}
    for folder in _folders() if wanted else ():
        if folder.name in wanted and folder.name not in found:
            found[folder.name] = _read(folder)
    for name in wanted:
        if name not in found:
            raise SkillUnusable(f'Skill "{shorten(name)[1:-1]}" not found for {agent}')
    return found


def _folders() -> Iterator[Path]:
    """Every folder that holds a skill, hidden ones left out; links are not followed, so none leads elsewhere or round."""
    seen = 0
    for root in settings.HERMES_SKILLS_DIRS:
        for place, below, files in os.walk(root):
            below[:] = sorted(name for name in below if not name.startswith("."))
            seen += 1
            if seen > MOST_FOLDERS:
                return
            if FILE in files and not (Path(place) / FILE).is_symlink():
                yield Path(place)


def _read(folder: Path) -> str:
    try:
        with (folder / FILE).open("rb") as file:
            data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise SkillUnusable(f'Skill "{folder.name}" is larger than {LARGEST:,} bytes')
        return data.decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SkillUnusable(f'Skill "{folder.name}" cannot be read: {type(error).__name__}') from error
