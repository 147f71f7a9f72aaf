"""What files may be added to a task, and where they lie: under the data folder, by id, where no web server looks.

A file is known by how its name ends, and its first bytes must agree. It is never shown in place: whoever fetches it gets a
download.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO
from uuid import UUID

from django.conf import settings
from django.http import FileResponse
from django.utils.translation import gettext as _

from engine.kernel.forms import FieldError
from engine.kernel.task_answers import KINDS, FileRules, Kind, ending_of, rules_of

__all__ = ["KINDS", "FileRules", "ending_of", "rules_of"]

SAFE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "private, no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""What keeps a browser from doing anything with a file but saving it."""
CHUNK = 64 * 1024
LONGEST_NAME = 200


def clean_name(name: str) -> str:
    """Keep the last part of a name, without anything that a disk or a header could stumble over."""
    last = name.replace("\\", "/").rsplit("/", 1)[-1]
    kept = "".join(letter for letter in last if letter.isprintable() and letter not in '"<>|:*?')
    return kept.strip(" .")[-LONGEST_NAME:]


def refuse_file(rules: FileRules, name: str, content: bytes) -> FieldError | None:
    """Say what is wrong with a file, by its name, or None."""
    ending = ending_of(name)
    words = {"name": name or _("This file"), "size": spell_size(rules.max_size), "ending": ending}
    if not name or ending not in rules.endings:
        wanted = words | {"endings": ", ".join(rules.endings)}
        return FieldError("file", "type", _("%(name)s cannot be attached. Use %(endings)s up to %(size)s.") % wanted)
    if len(content) > rules.max_size:
        return FieldError("file", "size", _("%(name)s is larger than %(size)s.") % words)
    if not content:
        return FieldError("file", "empty", _("%(name)s is empty.") % words)
    if not _agrees(KINDS[ending], content):
        said = _("%(name)s is not what its name says: there is no %(ending)s in it.") % words
        return FieldError("file", "content", said)
    return None


def _agrees(kind: Kind, content: bytes) -> bool:
    if kind.begins:
        return content.startswith(kind.begins)
    try:
        return "\0" not in content.decode()
    except UnicodeDecodeError:
        return False


def spell_size(size: int) -> str:
    """Write a size for people."""
    return f"{size / 1024 / 1024:.3g} MB" if size >= 1024 * 1024 else f"{max(size // 1024, 1)} KB"


def place_of(tenant_id: UUID, attachment_id: UUID) -> Path:
    """Say where a file lies."""
    return Path(settings.DATA_DIR) / "attachments" / str(tenant_id) / str(attachment_id)


def all_files() -> Iterator[Path]:
    """Give every file that lies in the data folder, whosever it is."""
    for place in (Path(settings.DATA_DIR) / "attachments").glob("*/*"):
        with suppress(ValueError):
            UUID(place.stem)
            yield place


def keep(place: Path, content: bytes) -> str:
    """Write a file so that it is there whole or not at all; return its hash."""
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    half = place.with_suffix(".half")
    with half.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    half.chmod(0o600)
    half.replace(place)
    return hashlib.sha256(content).hexdigest()


def download(name: str, content: IO[bytes]) -> FileResponse:
    """Answer with a file that is to be saved, never shown in place."""
    kind = "application/octet-stream"
    return FileResponse(content, as_attachment=True, filename=name, content_type=kind, headers=SAFE_HEADERS)


def read_up_to(source: IO[bytes], most: int) -> bytes:
    """Read what was sent, one byte beyond the limit at the most; an act done again reads it again."""
    source.seek(0)
    return b"".join(_pieces(source, most + 1))


def _pieces(source: IO[bytes], left: int) -> Iterator[bytes]:
    while left > 0:
        piece = source.read(min(CHUNK, left))
        if not piece:
            return
        left -= len(piece)
        yield piece
