"""Find every text that people read, and keep the catalogues of other languages complete, without GNU gettext.

Templates are turned by Django itself into calls of gettext, Python is read as a tree; the catalogue is the usual `.po`, compiled
into the usual `.mo`. Both are committed, so that a bare machine needs no tool; a test says when they are behind.
"""

import ast
import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from django.utils.translation.template import templatize

ROOT = Path(__file__).resolve().parents[2]
LOCALE = ROOT / "locale"
PAGES = ("templates",)
LEFT_OUT = (
    "engine/services/templates/differences.py",
    "templates/admin",
    "templates/api",
    "templates/django_rq",
    "templates/mails",
    "templates/unfold",
)
"""What authors and machines read stays English."""
MODULES = (
    "tasks_inbox",
    "engine/access",
    "engine/storage/attachments.py",
    "engine/presentation/forms",
    "engine/runtime/locked_reads.py",
    "engine/kernel/forms.py",
    "engine/kernel/json_safety.py",
    "engine/services",
    "engine/models/status_labels.py",
    "engine/access/task_rules.py",
    "engine/presentation/narrative",
    "workflowplatform/accounts",
)
SINGLE = {"_", "gettext", "gettext_lazy", "gettext_noop", "for_people"}
PLURAL = {"ngettext", "ngettext_lazy"}


@dataclass(frozen=True, slots=True, order=True)
class Text:
    """A text, its plural where it has one, and a file where it stands."""

    one: str
    many: str = ""
    place: str = ""


def texts() -> list[Text]:
    """List every text once, in order."""
    found: dict[str, Text] = {}
    for text in (*_of_pages(), *_of_modules()):
        known = found.get(text.one)
        if known is None or (text.many and not known.many):
            found[text.one] = text
    return sorted(found.values())


def _of_pages() -> Iterator[Text]:
    for folder in PAGES:
        for path in sorted((ROOT / folder).rglob("*.html")):
            place = str(path.relative_to(ROOT))
            if not place.startswith(LEFT_OUT):
                yield from _in_calls(templatize(path.read_text(encoding="utf-8")), place)


QUOTED = r"""u?('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
CALL = re.compile(rf"\b(n?gettext|_)\(\s*{QUOTED}(?:\s*,\s*{QUOTED})?", re.S)


def _in_calls(code: str, place: str) -> Iterator[Text]:
    """Read the calls that Django wrote; all else in there is crossed out."""
    for _name, one, many in CALL.findall(code):
        yield Text(ast.literal_eval(one), ast.literal_eval(many) if many else "", place)


def _of_modules() -> Iterator[Text]:
    for name in MODULES:
        place = ROOT / name
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            yield from _in_file(path, str(path.relative_to(ROOT)))


def _in_file(path: Path, place: str) -> Iterator[Text]:
    if not place.startswith(LEFT_OUT):
        yield from _in_module(ast.parse(path.read_text(encoding="utf-8")), place)


def _in_module(tree: ast.AST, place: str) -> Iterator[Text]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        said = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
        words = [value for value in said if isinstance(value, str)]
        if name in SINGLE and words:
            yield Text(words[0], "", place)
        elif name in PLURAL and len(words) > 1:
            yield Text(words[0], words[1], place)


# Catalogues

PART = re.compile(r'^(msgid|msgid_plural|msgstr(?:\[\d\])?) (".*")$', re.M)
HEADER = (
    "Language: {language}\nMIME-Version: 1.0\nContent-Type: text/plain; charset=UTF-8\nContent-Transfer-Encoding: 8bit\n"
    "Plural-Forms: nplurals=2; plural=(n != 1);\n"
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A text's plural where it has one, and what is said for them in another language."""

    many: str = ""
    said: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        return len([word for word in self.said if word]) == 1 + bool(self.many)


Catalogue = dict[str, Entry]


def read_catalogue(path: Path) -> Catalogue:
    """Read what a `.po` says: a block a text, a line a part."""
    blocks = path.read_text(encoding="utf-8").split("\n\n") if path.exists() else []
    found = dict(_read_block(block) for block in blocks)
    found.pop("", None)
    return found


def _read_block(block: str) -> tuple[str, Entry]:
    parts = {name: ast.literal_eval(text) for name, text in PART.findall(block)}
    said = tuple(text for name, text in parts.items() if name.startswith("msgstr"))
    return parts.get("msgid", ""), Entry(parts.get("msgid_plural", ""), said)


def completed(known: Catalogue, wanted: Iterable[Text]) -> Catalogue:
    """Add the texts that a catalogue lacks, empty; what is no longer wanted stays for its return."""
    kept = dict(known)
    for text in wanted:
        if text.one not in kept or kept[text.one].many != text.many:
            kept[text.one] = Entry(text.many)
    return dict(sorted(kept.items()))


def written(language: str, known: Catalogue) -> str:
    """Give the `.po`."""
    blocks = [f'msgid ""\nmsgstr {_quoted(HEADER.format(language=language))}']
    for one, entry in known.items():
        lines = [f"msgid {_quoted(one)}"]
        if entry.many:
            said = (*entry.said, "", "")[:2]
            lines += [f"msgid_plural {_quoted(entry.many)}"]
            lines += [f"msgstr[{place}] {_quoted(word)}" for place, word in enumerate(said)]
        else:
            lines.append(f"msgstr {_quoted(entry.said[0] if entry.said else '')}")
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n"


def _quoted(text: str) -> str:
    plain = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{plain}"'


def compiled(language: str, known: Catalogue) -> bytes:
    """Give the `.mo`: two sorted tables of offsets, then the texts."""
    pairs = {"": HEADER.format(language=language)}
    for one, entry in known.items():
        if entry.is_whole:
            pairs[f"{one}\0{entry.many}" if entry.many else one] = "\0".join(entry.said)
    keys = sorted(pairs, key=lambda key: key.encode())
    words = [key.encode() for key in keys] + [pairs[key].encode() for key in keys]
    count, begins = len(keys), [28 + 16 * len(keys)]
    for word in words:
        begins.append(begins[-1] + len(word) + 1)
    table = [number for place, word in enumerate(words) for number in (len(word), begins[place])]
    head = struct.pack("<7I", 0x950412DE, 0, count, 28, 28 + 8 * count, 0, begins[0])
    return head + struct.pack(f"<{len(table)}I", *table) + b"".join(word + b"\0" for word in words)


def renew(language: str, wanted: Sequence[Text]) -> list[Text]:
    """Write a language's catalogue anew, both forms; return what is not translated."""
    path = catalogue_path(language)
    known = completed(read_catalogue(path), wanted)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(written(language, known), encoding="utf-8")
    path.with_suffix(".mo").write_bytes(compiled(language, known))
    return missing_in(known, wanted)


def missing_in(known: Catalogue, wanted: Iterable[Text]) -> list[Text]:
    """List the texts that a catalogue does not have, or not in both numbers."""
    return [text for text in wanted if not known.get(text.one, Entry()).is_whole or known[text.one].many != text.many]


def catalogue_path(language: str) -> Path:
    """Return where a language's texts are kept."""
    return LOCALE / language / "LC_MESSAGES" / "django.po"
