"""Files as pages show them: what may be added, in words and for the browser, and where each is opened."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from engine.kernel.tasks.rules import FileRules
from engine.storage.attachments import is_shown_in_place, kind_words, spell_size

PICTURES = ("image/",)
UPLOAD = "upload"
"""How the page's script says in X-Requested-With that it adds one file."""


@dataclass(frozen=True, slots=True)
class Files:
    """What may be added, in words and for the browser."""

    accept: str
    words: str
    required: bool


def rules_shown(rules: FileRules) -> Files:
    """Describe what may be added."""
    facts = {"kinds": kind_words(rules), "size": spell_size(rules.max_size), "most": rules.max}
    words = _("%(kinds)s, up to %(size)s each, at most %(most)d.") % facts
    return Files(",".join(f".{ending}" for ending in rules.endings), words[:1].upper() + words[1:], rules.required)


@dataclass(frozen=True, slots=True)
class ShownFile:
    """A file in a list."""

    id: UUID
    name: str
    size: str
    address: str
    """Where it is saved from, or looked at."""
    look: str
    """`picture`, `page` for what a browser shows in a window of its own, or empty for what can only be saved."""
    added_by: str
    remove: str = ""

    def as_json(self) -> dict[str, str]:
        """Write it for the page's script."""
        shown = {
            "name": self.name,
            "size": self.size,
            "address": self.address,
            "look": self.look,
            "remove": self.remove,
        }
        return {"id": str(self.id), **shown}


def shown_files(
    rows: Iterable[Any], address: Callable[[Any], str], remove: Callable[[Any], str] | None = None
) -> list[ShownFile]:
    """Prepare files for a list."""
    return [shown_file(row, address(row), remove(row) if remove else "") for row in rows]


def shown_file(row: Any, address: str, remove: str = "") -> ShownFile:
    """Prepare one file."""
    look = "picture" if row.content_type.startswith(PICTURES) else "page" if is_shown_in_place(row.content_type) else ""
    return ShownFile(row.pk, row.name, spell_size(row.size), address, look, row.added_by_name, remove)
