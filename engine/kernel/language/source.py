"""Read YAML 1.2 (or JSON, which is the same document) into nodes that know their line and column.

Scalars get JSON's types only. Tags, anchors, aliases and duplicate keys are refused, and so is what is too long or
too deep.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from engine.kernel.language.quick_source import NotPlain, read_json, read_plain
from engine.kernel.language.source_nodes import DEEPEST_SOURCE, Node, SourceRefused, refuse_wide, typed, whole_letters

__all__ = ["Node", "SourceRefused", "read_documents"]

LONGEST_SOURCE = 2_000_000
LARGE_SOURCE = 50_000
"""Above so many characters the quick reader is tried first."""
LONGEST_THOROUGH = 200_000
"""What the quick reader cannot read may be so long: the thorough one takes its time."""
MOST_PARTS = 80_000
"""How many lines and entries a template may have, with either reader."""
MOST_THOROUGH_PARTS = 12_000
MOST_UNCLOSED = 1_000
_BAD_LETTER = re.compile("[\ud800-\udfff\x00]")


def read_documents(source: str) -> list[Node]:
    """Read all documents of a text."""
    if len(source) > LONGEST_SOURCE:
        raise SourceRefused("too_long", f"a template has at most {LONGEST_SOURCE} characters", 1, 1)
    _refuse_letters(source)
    _refuse_masses(source)
    if len(source) > LARGE_SOURCE:
        with suppress(NotPlain):
            return [read_json(source) if source.lstrip()[:1] in ("{", "[") else read_plain(source)]
        _refuse_long_ways(source)
    try:
        return list(_documents(YAML(typ="safe", pure=True).parse(source)))
    except MarkedYAMLError as problem:
        raise _syntax(problem) from None
    except (YAMLError, ValueError, RecursionError, OverflowError) as problem:
        raise SourceRefused("syntax", f"this is not YAML: {str(problem)[:200]}", 1, 1) from None


def _refuse_letters(source: str) -> None:
    found = _BAD_LETTER.search(source)
    if found is not None:
        line = source.count("\n", 0, found.start()) + 1
        raise SourceRefused("bad_character", "NUL and half characters are not allowed", line, 1)


def _refuse_masses(source: str) -> None:
    """Refuse at a glance what would take long to read and cannot be a template."""
    if source.count("\n") + source.count(",") + source.count("? ") > MOST_PARTS:
        raise SourceRefused("too_long", f"a template has at most {MOST_PARTS:,} lines and entries", 1, 1)
    unclosed = max(source.count("[") - source.count("]"), source.count("{") - source.count("}"))
    if unclosed > MOST_UNCLOSED:
        raise SourceRefused("too_deep", f"{unclosed} brackets are opened and never closed", 1, 1)


def _refuse_long_ways(source: str) -> None:
    """Refuse what only the thorough reader could read, because it would take too long."""
    if len(source) > LONGEST_THOROUGH or source.count("\n") + source.count(",") > MOST_THOROUGH_PARTS:
        text = "a template of this size may hold plain lists, objects and texts of one line only, or be JSON"
        raise SourceRefused("too_long", text, 1, 1)


def _syntax(problem: MarkedYAMLError) -> SourceRefused:
    mark = problem.problem_mark or problem.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)
    message = (problem.problem or problem.context or "this is not YAML").strip()
    hint = "quote the text if it begins with ! ' \" [ { & * - > | % @ or holds ` #` or `: `"
    return SourceRefused("syntax", message, line, column, hint)


def _documents(events: Iterator[Any]) -> Iterator[Node]:
    for event in events:
        if isinstance(event, DocumentStartEvent):
            yield _node(next(events), events, 0)


def _node(event: Any, events: Iterator[Any], depth: int) -> Node:
    line, column = event.start_mark.line + 1, event.start_mark.column + 1
    _refuse_extras(event, line, column, depth)
    if isinstance(event, MappingStartEvent):
        return Node(line, column, entries=_entries(events, depth + 1))
    if isinstance(event, SequenceStartEvent):
        return Node(line, column, items=list(_items(events, depth + 1)))
    return _scalar(event, line, column)


def _refuse_extras(event: Any, line: int, column: int, depth: int) -> None:
    if isinstance(event, AliasEvent) or event.anchor is not None:
        raise SourceRefused(
            "alias", "anchors (&) and aliases (*) are not allowed", line, column, "write it out, or quote it"
        )
    tag = getattr(event, "ctag", None) or getattr(event, "tag", None)
    if tag is not None and str(tag) not in ("", "None"):
        raise SourceRefused("tag", "tags (!) are not allowed", line, column, "quote a condition that begins with !")
    if depth > DEEPEST_SOURCE:
        raise SourceRefused("too_deep", f"a template nests at most {DEEPEST_SOURCE} deep", line, column)


def _entries(events: Iterator[Any], depth: int) -> dict[str, tuple[Node, Node]]:
    entries: dict[str, tuple[Node, Node]] = {}
    for event in events:
        if isinstance(event, MappingEndEvent):
            break
        key = _node(event, events, depth)
        refuse_wide(entries, key.line, key.column)
        name = _key(key, event, entries)
        entries[name] = (key, _node(next(events), events, depth))
    return entries


def _key(key: Node, event: Any, entries: dict[str, tuple[Node, Node]]) -> str:
    if key.entries is not None or key.items is not None:
        raise SourceRefused("bad_key", "a key must be text", key.line, key.column)
    name = whole_letters(str(event.value), key.line, key.column)
    if name in entries:
        raise SourceRefused("duplicate_key", f"the key `{name}` is used twice", key.line, key.column, "keep one")
    return name


def _items(events: Iterator[Any], depth: int) -> Iterator[Node]:
    for event in events:
        if isinstance(event, SequenceEndEvent):
            return
        yield _node(event, events, depth)


def _scalar(event: Any, line: int, column: int) -> Node:
    if not isinstance(event, ScalarEvent):
        raise SourceRefused("syntax", "a value is missing here", line, column)
    if event.style:
        return Node(line, column, scalar=whole_letters(event.value, line, column), quoted=True)
    return Node(line, column, scalar=typed(event.value, line, column))
