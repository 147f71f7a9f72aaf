"""Find every text that people read, and keep the catalogues of other languages complete, without GNU gettext.

Django turns templates into calls of gettext; Babel reads these and Python, and writes the usual `.po` and `.mo`. Both are
committed, so that the platform needs no tool to run: Babel is installed for development only. A test fails when they are
out of date.
"""

from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.utils.translation.template import templatize

ROOT = Path(__file__).resolve().parents[2]
LOCALE = ROOT / "locale"
PAGES = ("templates",)
LEFT_OUT = (
    "engine/services/templates/differences.py",
    "templates/admin",
    "templates/api",
    "templates/django_rq",
    "templates/mails/webhook_disabled.txt",
    "templates/unfold",
)
"""Texts for authors and programs stay English."""
MODULES = (
    "tasks_inbox",
    "engine/access",
    "engine/storage/attachments.py",
    "engine/presentation/forms",
    "engine/models/task.py",
    "engine/models/template.py",
    "engine/runtime/claims.py",
    "engine/kernel/forms.py",
    "engine/kernel/json_safety.py",
    "engine/services",
    "engine/models/status_labels.py",
    "engine/access/task_rules.py",
    "engine/presentation/narrative",
    "workflowplatform/accounts",
)
ONE, ONE_AND_MANY = None, (1, 2)
"""Which arguments of a function are texts; None: the first."""
FUNCTIONS = {
    "_": ONE,
    "gettext": ONE,
    "gettext_lazy": ONE,
    "gettext_noop": ONE,
    "for_people": ONE,
    "ngettext": ONE_AND_MANY,
    "ngettext_lazy": ONE_AND_MANY,
}


def texts() -> Catalog:
    """Return every text once, without translations."""
    found = Catalog()
    for source in (*_pages(), *_modules()):
        for text in texts_in(source):
            found.add(text)
    return found


def texts_in(source: str) -> Iterator[str | tuple[str, ...]]:
    """List the texts of a module, or of a template as `page_source` returns it; a text with a plural is a pair."""
    for _line, text, _comments, _context in extract("python", BytesIO(source.encode()), FUNCTIONS):
        yield text


def page_source(path: Path) -> str:
    """Return a template as calls of gettext; without indents, which mean nothing there and no Python has them like this."""
    lines = templatize(path.read_text(encoding="utf-8")).split("\n")
    return "\n".join(line.lstrip() for line in lines)


def _pages() -> Iterator[str]:
    for folder in PAGES:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".html", ".txt") and _is_translated(path):
                yield page_source(path)


def _modules() -> Iterator[str]:
    for name in MODULES:
        place = ROOT / name
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            if _is_translated(path):
                yield path.read_text(encoding="utf-8")


def _is_translated(path: Path) -> bool:
    return not str(path.relative_to(ROOT)).startswith(LEFT_OUT)


def words_in(catalogue: Catalog) -> Iterator[str]:
    """List every text of a catalogue, plurals too."""
    for message in catalogue:
        yield from (words for words in _forms(message.id) if words)


def read_catalogue(language: str) -> Catalog:
    """Read a language's `.po`."""
    path = catalogue_path(language)
    if not path.exists():
        return Catalog(locale=language)
    with path.open("rb") as file:
        return read_po(file, locale=language)


def renew(language: str) -> list[str]:
    """Write a language's `.po` and `.mo` again; return what is not translated."""
    catalogue = completed(read_catalogue(language), texts())
    path = catalogue_path(language)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        write_po(file, catalogue, width=0, no_location=True, sort_output=True, ignore_obsolete=True)
    with path.with_suffix(".mo").open("wb") as file:
        write_mo(file, catalogue)
    return missing_in(catalogue)


def completed(catalogue: Catalog, wanted: Catalog) -> Catalog:
    """Return the catalogue of the wanted texts: what it lacks is empty, what is no longer used is left out."""
    catalogue.update(wanted, no_fuzzy_matching=True, update_header_comment=False, update_creation_date=False)
    for message in catalogue:
        message.flags.discard("python-format")  # a test compares the places of values; the file stays short
    return catalogue


def missing_in(catalogue: Catalog) -> list[str]:
    """List the texts without a complete translation."""
    return [
        _forms(message.id)[0]
        for message in catalogue
        if message.id and (message.fuzzy or not all(_forms(message.string)))
    ]


def _forms(text: str | Sequence[str] | None) -> list[str]:
    """Return singular and plural of a text, or of its translation; an empty one where there is none."""
    return [text or ""] if text is None or isinstance(text, str) else list(text)


def catalogue_path(language: str) -> Path:
    """Return the path of a language's `.po`."""
    return LOCALE / language / "LC_MESSAGES" / "django.po"
