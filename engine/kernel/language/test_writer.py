"""Write a test into a document as an author would: one more entry under `tests:`, everything else untouched."""

import json
import re

from engine.kernel.language.source import Node, SourceRefused, read_documents
from engine.kernel.signals import Json

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./+-]*(?: [A-Za-z0-9_./+-]+)*")
_NOT_TEXT = frozenset(
    {"true", "false", "null", "yes", "no", "on", "off", "True", "False", "Null", "NULL", "TRUE", "FALSE"}
)
_TOP_LEVEL = re.compile(r"[^\s#-]")


class CannotWrite(Exception):
    """The document is written in a way that a test cannot be put into."""


def with_test(source: str, test: dict[str, Json]) -> str:
    """Return the document with one test more; nothing else of it changes."""
    try:
        before = read_documents(source)[0]
    except (SourceRefused, IndexError) as problem:
        raise CannotWrite("the document cannot be read") from problem
    written = _written(source, before, test)
    _require_same(before, written, test)
    return written


def _written(source: str, document: Node, test: dict[str, Json]) -> str:
    lines = source.rstrip("\n").split("\n")
    found = (document.entries or {}).get("tests")
    if found is None or (found[1].items is None and found[1].scalar is None):
        end, head, indent = len(lines), ["tests:"], 2
        if found is not None:
            end, head = found[0].line, []
    else:
        end, head, indent = _end_of_block(lines, found[0].line), [], _dash_column(lines, found[1])
    return "\n".join([*lines[:end], *head, *_entry(test, indent), *lines[end:]]) + "\n"


def _dash_column(lines: list[str], tests: Node) -> int:
    line = lines[tests.items[0].line - 1] if tests.items else ""
    if not line.lstrip().startswith("- "):
        raise CannotWrite("write `tests:` as a list with one entry per line first")
    return len(line) - len(line.lstrip())


def _end_of_block(lines: list[str], key_line: int) -> int:
    """Find where the list under a key of the head ends: before the next key, or at the end."""
    following = range(key_line, len(lines))
    return next((place for place in following if _TOP_LEVEL.match(lines[place])), len(lines))


def _entry(test: dict[str, Json], indent: int) -> list[str]:
    found: list[str] = []
    for key, value in test.items():
        start = " " * indent + ("  " if found else "- ")
        if key == "do" and value:
            found += [f"{start}{key}:", *(f"{' ' * (indent + 4)}- {flow_text(act)}" for act in value)]
        else:
            found.append(f"{start}{key}: {flow_text(value)}")
    return found


def flow_text(value: Json) -> str:
    """Write a value on one line, with quotes only where YAML needs them."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{flow_text(str(key))}: {flow_text(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow_text, value)) + "]"
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value not in _NOT_TEXT:
        return value
    text = json.dumps(value, ensure_ascii=False)
    return text if text.isprintable() else "".join(map(_escaped, text))


def _escaped(letter: str) -> str:
    """Escape a character that YAML does not take as it is."""
    if letter.isprintable():
        return letter
    return f"\\u{ord(letter):04x}" if ord(letter) < 0x10000 else f"\\U{ord(letter):08x}"


def _require_same(before: Node, written: str, test: dict[str, Json]) -> None:
    """Read what was written once more: it must say what it said, and the test."""
    try:
        after = read_documents(written)[0].plain()
    except (SourceRefused, IndexError) as problem:
        raise CannotWrite("the test cannot be written there") from problem
    plain = before.plain()
    wanted = {**plain, "tests": [*(plain.get("tests") or ()), test]}
    if after != wanted:
        raise CannotWrite("the test cannot be written there without changing something else")
