"""Text files that runs are started on: judged by their bytes, kept as they came."""

import hashlib
import mimetypes
import re
from dataclasses import dataclass

from hermes_workflow.core.errors import Malformed, TooLarge
from hermes_workflow.core.text import visible
from hermes_workflow.models import Attachment
from hermes_workflow.rights import Principal

LIMIT = 1024 * 1024
NAME_LIMIT = 255
TEXT_TYPES = re.compile(r"text/.+|application/(json|xml|x?-?yaml|toml|sql|x-sh|javascript|rtf|x-tex|x-python-code)|message/rfc822")


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that holds text."""

    filename: str
    text: str
    content: bytes

    @property
    def input(self) -> dict[str, str]:
        """What the run reads."""
        return {"text": self.text, "filename": self.filename}


def read_upload(filename: str, content: bytes) -> Upload:
    """The file, if it is UTF-8 text of at most 1 MiB by its bytes and not another kind by its name. Raises Malformed, TooLarge."""
    if len(content) > LIMIT:
        raise TooLarge(f"file: at most {LIMIT:,} bytes, got {len(content):,}")
    name = plain_name(filename)
    kind = mimetypes.guess_type(name)[0]
    if kind and not TEXT_TYPES.fullmatch(kind):
        raise Malformed(f"file: must be a text file, and its name says {kind}", hint="save it as .txt, .md, .csv or .json")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Malformed(f"file: must be UTF-8 text: byte {error.start + 1} is not") from None
    if "\x00" in text:
        raise Malformed("file: must be text, and holds a NUL")
    if not text.strip():
        raise Malformed("file: is empty")
    return Upload(name, text, content)


def plain_name(filename: str) -> str:
    """The last part of a path, without what cannot be seen."""
    last = re.split(r"[/\\]", filename)[-1]
    shown = "".join(segment.text for segment in visible(last) if not segment.mark)
    return " ".join(shown.split())[-NAME_LIMIT:].lstrip(".") or "file.txt"


def keep(*, principal: Principal, upload: Upload) -> Attachment:
    """Keep the file as it came; the same bytes are kept once."""
    media_type = mimetypes.guess_type(upload.filename)[0] or "text/plain"
    details = {"filename": upload.filename, "media_type": media_type, "content": upload.content, "uploaded_by": principal.user}
    return Attachment.objects.get_or_create(sha256=hashlib.sha256(upload.content).hexdigest(), defaults=details)[0]
