"""What files may be added to a task, and where they are stored: under the data folder, by id, where no web server looks.

A file is known by how its name ends, and its first bytes must agree. A request for it gets a download; pictures and PDF are shown
by the browser where a page asks for that, and nothing in them can run.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any
from uuid import UUID

from django.conf import settings
from django.http import FileResponse
from django.utils.formats import get_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from engine.kernel.forms import FieldError
from engine.kernel.tasks.answers import ending_of
from engine.kernel.tasks.rules import FILE_KINDS, FileKind, FileRules

SAFE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "private, no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""What keeps a browser from doing anything with a file but saving it."""
SHOWN_IN_PLACE = {
    **dict.fromkeys(("image/png", "image/jpeg", "image/gif", "image/webp"), "default-src 'none'; sandbox"),
    "application/pdf": "default-src 'none'; object-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'none'",
}
"""What a browser may show, and under which policy: a sandbox would keep its own viewer of PDF out."""
FAMILIES: tuple[tuple[Any, frozenset[str]], ...] = (
    (gettext_lazy("pictures"), frozenset({"png", "jpg", "jpeg", "gif", "webp"})),
    (gettext_lazy("text files"), frozenset({"txt", "csv", "json"})),
    (gettext_lazy("Office documents"), frozenset({"docx", "xlsx", "pptx", "odt", "ods"})),
)
"""Kinds of files that people have one word for."""
CHUNK = 64 * 1024
LONGEST_NAME = 200


def clean_name(name: str) -> str:
    """Keep the last part of a name, without anything that a disk or a header could stumble over."""
    last = name.replace("\\", "/").rsplit("/", 1)[-1]
    kept = "".join(letter for letter in last if letter.isprintable() and letter not in '"<>|:*?')
    return kept.strip(" .")[-LONGEST_NAME:]


def refuse_file(rules: FileRules, name: str, content: bytes) -> FieldError | None:
    """Return what is wrong with a file, by its name, or None."""
    ending = ending_of(name)
    words = {"name": name or _("This file"), "size": spell_size(rules.max_size), "ending": ending}
    if not name or ending not in rules.endings:
        wanted = words | {"kinds": kind_words(rules)}
        return FieldError("file", "type", _("%(name)s can’t be attached. Use %(kinds)s up to %(size)s.") % wanted)
    if len(content) > rules.max_size:
        return FieldError("file", "size", _("%(name)s is larger than %(size)s.") % words)
    if not content:
        return FieldError("file", "empty", _("%(name)s is empty.") % words)
    if not _agrees(FILE_KINDS[ending], content):
        said = _("%(name)s is not what its name says: there is no %(ending)s in it.") % words
        return FieldError("file", "content", said)
    return None


def kind_words(rules: FileRules) -> str:
    """Name the kinds of files that rules allow: PDF, pictures or ZIP."""
    left, words = list(rules.endings), []
    while left:
        family = next(((name, all_of) for name, all_of in FAMILIES if left[0] in all_of and all_of <= {*left}), None)
        words.append(str(family[0]) if family else left[0].upper())
        left = [ending for ending in left if ending != left[0] and (family is None or ending not in family[1])]
    return _(" or ").join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def is_shown_in_place(content_type: str) -> bool:
    """Return whether a browser may show a file itself instead of saving it."""
    return content_type in SHOWN_IN_PLACE


def _agrees(kind: FileKind, content: bytes) -> bool:
    if kind.begins:
        return content.startswith(kind.begins)
    try:
        return "\0" not in content.decode()
    except UnicodeDecodeError:
        return False


def spell_size(size: int) -> str:
    """Write a size for people, with the decimal sign of their language."""
    large = f"{size / 1024 / 1024:.3g}".replace(".", str(get_format("DECIMAL_SEPARATOR")))
    return f"{large} MB" if size >= 1024 * 1024 else f"{max(size // 1024, 1)} KB"


def file_path(tenant_id: UUID, attachment_id: UUID) -> Path:
    """Return the path of a file."""
    return Path(settings.DATA_DIR) / "attachments" / str(tenant_id) / str(attachment_id)


def all_files() -> Iterator[Path]:
    """Return every file in the data folder, of all tenants."""
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


def serve(name: str, content_type: str, content: IO[bytes], *, show: bool) -> FileResponse:
    """Answer with a file: shown by the browser where that is asked for and safe, else to be saved."""
    if not show or not is_shown_in_place(content_type):
        return download(name, content)
    headers = SAFE_HEADERS | {"Content-Security-Policy": SHOWN_IN_PLACE[content_type]}
    return FileResponse(content, filename=name, content_type=content_type, headers=headers)


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
