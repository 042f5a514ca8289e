"""The signing key of an installation: made once, kept in a file only its owner can read."""

import os
import secrets
from pathlib import Path


def secret_key(path: Path) -> str:
    """The key in `path`, made when absent. Processes that start together agree on one."""
    if not path.exists():
        write_once(path, secrets.token_urlsafe(50))
    return path.read_text(encoding="ascii").strip()


def write_once(path: Path, text: str) -> None:
    """Write `text` whole, mode 0600, unless the file is there already."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(text + "\n")
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
