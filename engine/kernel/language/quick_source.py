"""Read large documents quickly: the plain part of YAML, line by line, with the same nodes and positions.

Whatever is not plain (anchors, tags, block scalars, texts over several lines, several documents, anything that looks
wrong) raises `NotPlain`, and the whole document is read by ruamel.yaml, whose word is final. A test reads every
template both ways.

It is here because the editor reads a template while its author types, and ruamel.yaml takes long for large ones. Processor time,
the best of several runs on one machine, for 2,000 steps of three lines each: as YAML (142 kB) 50 ms here and 470 ms there,
as indented JSON (200 kB) 76 ms and 477 ms; for 1,000 steps 22 against 226 ms and 38 against 225 ms. Small templates
never come here.
"""

import json
import re
from bisect import bisect_right
from typing import Any

from engine.kernel.language.source_nodes import DEEPEST_SOURCE, Node, refuse_wide, typed

_LINE = re.compile(r"( *)(.*)")
_KEY = re.compile(r"([A-Za-z0-9_$][^:#'\"\[\]{},&*!|>%@`]*?) *:(?: +|$)")
_DOUBLE = re.compile(r'"[^"\\]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\]*)*"')
_SINGLE = re.compile(r"'[^']*(?:''[^']*)*'")
"""Both take runs of plain characters at once: one by one, the library remembers a hundred bytes for each."""
_PLAIN_FIRST = frozenset("-?:,[]{}#&*!|>'\"%@`")
_REST = re.compile(r" *(?: #.*)?")
_BAD_LETTER = re.compile("[\ud800-\udfff\x00]")
_FLOW_PLAIN = re.compile(r"[^,\[\]{}:#\"'&*!|>%@`\s-](?:[^,\[\]{}:#]|:(?=[^\s,\[\]{}]))*")


class NotPlain(Exception):
    """The document uses more of YAML than is read here."""


class _Lines:
    """The lines that matter, with their indents; a line may be shortened while it is read."""

    def __init__(self, source: str) -> None:
        self.lines: list[tuple[int, str, int]] = []
        for number, line in enumerate(source.split("\n"), 1):
            indent, text = len(line) - len(line.lstrip(" ")), line.strip(" \r")
            if not text or text.startswith("#"):
                continue
            if text[0] in "\t%" or text.startswith(("---", "...")) or "\t" in line[: indent + 1]:
                raise NotPlain
            self.lines.append((indent, text, number))
        self.at = 0

    def peek(self) -> tuple[int, str, int]:
        return self.lines[self.at] if self.at < len(self.lines) else (-1, "", 0)

    def shorten(self, by: int) -> None:
        """Treat the rest of the current line as a line of its own."""
        indent, text, number = self.lines[self.at]
        rest = text[by:].lstrip(" ")
        self.lines[self.at] = (indent + len(text) - len(rest), rest, number)


def read_plain(source: str) -> Node:
    """Read one plain document."""
    lines = _Lines(source)
    if not lines.lines:
        raise NotPlain
    node = _block(lines, lines.peek()[0], 0)
    if lines.at != len(lines.lines):
        raise NotPlain
    return node


def read_json(source: str) -> Node:
    """Read one JSON document, over as many lines as it likes: its texts hold no ends of lines, so they become spaces."""
    try:
        json.loads(source)
    except (ValueError, RecursionError):
        raise NotPlain from None
    flat = source.translate(_SPACES)
    begin = len(flat) - len(flat.lstrip(" "))
    node, end = _flow(flat, begin, 1, 0, 0)
    if flat[end:].strip(" "):
        raise NotPlain
    starts = [0, *(found.end() for found in re.finditer("\n", source))]
    return _placed(node, starts)


_SPACES = {ord(letter): " " for letter in "\n\r\t"}


def _placed(node: Node, starts: list[int]) -> Node:
    """Turn the places of a document read as one line into lines and columns."""
    line = bisect_right(starts, node.column)
    inner: dict[str, Any] = {"scalar": node.scalar, "quoted": node.quoted}
    if node.items is not None:
        inner = {"items": [_placed(item, starts) for item in node.items]}
    elif node.entries is not None:
        inner = {
            "entries": {
                name: (_placed(key, starts), _placed(value, starts)) for name, (key, value) in node.entries.items()
            }
        }
    return Node(line, node.column - starts[line - 1] + 1, **inner)


def _block(lines: _Lines, indent: int, depth: int) -> Node:
    """Read a list or an object that begins at this line."""
    if depth > DEEPEST_SOURCE:
        raise NotPlain
    _, text, number = lines.peek()
    if text == "-" or text.startswith("- "):
        return Node(number, indent + 1, items=_items(lines, indent, depth + 1))
    return Node(number, indent + 1, entries=_entries(lines, indent, depth + 1))


def _items(lines: _Lines, indent: int, depth: int) -> list[Node]:
    items = []
    while lines.peek()[0] == indent and (lines.peek()[1] == "-" or lines.peek()[1].startswith("- ")):
        _, text, number = lines.peek()
        if text == "-":
            raise NotPlain
        lines.shorten(1)
        inner, text, number = lines.peek()
        if _KEY.match(text) or text.startswith("- "):
            items.append(_block(lines, inner, depth))
        else:
            lines.at += 1
            items.append(_inline(text, number, inner + 1, depth))
            _refuse_more(lines, indent)
    return items


def _entries(lines: _Lines, indent: int, depth: int) -> dict[str, tuple[Node, Node]]:
    entries: dict[str, tuple[Node, Node]] = {}
    while lines.peek()[0] == indent:
        _, text, number = lines.peek()
        match = _KEY.match(text)
        if match is None or match.group(1) in entries or text.startswith("- "):
            raise NotPlain
        name = match.group(1)
        key = Node(number, indent + 1, scalar=typed(name, number, indent + 1))
        refuse_wide(entries, number, indent + 1)
        entries[name] = (key, _value(lines, indent, match.end(), depth))
    return entries


def _value(lines: _Lines, indent: int, begin: int, depth: int) -> Node:
    """Read the value of a key: the rest of the line, or the lines below."""
    _, text, number = lines.peek()
    rest = text[begin:]
    lines.at += 1
    if rest and not rest.startswith("#"):
        node = _inline(rest, number, indent + begin + 1, depth)
        _refuse_more(lines, indent)
        return node
    below, following, _ = lines.peek()
    if below > indent or (below == indent and following.startswith("- ")):
        return _block(lines, below, depth)
    raise NotPlain


def _refuse_more(lines: _Lines, indent: int) -> None:
    """Refuse a text that continues in the next line."""
    if lines.peek()[0] > indent:
        raise NotPlain


def _inline(text: str, line: int, column: int, depth: int) -> Node:
    """Read a value that ends with its line."""
    if text[0] in "[{\"'":
        node, end = _flow(text, 0, line, column, depth)
        if _REST.fullmatch(text[end:]) is None:
            raise NotPlain
        return node
    bare = text.split(" #", 1)[0].rstrip(" ")
    if bare[0] in _PLAIN_FIRST or ": " in bare or bare.endswith(":"):
        raise NotPlain
    return Node(line, column, scalar=typed(bare, line, column))


def _flow(text: str, at: int, line: int, column: int, depth: int) -> tuple[Node, int]:
    """Read a value inside brackets, or a quoted text; give it and where it ends."""
    if depth > DEEPEST_SOURCE or at >= len(text):
        raise NotPlain
    if text[at] == "[":
        return _flow_list(text, at, line, column, depth + 1)
    if text[at] == "{":
        return _flow_object(text, at, line, column, depth + 1)
    return _flow_scalar(text, at, line, column)


def _flow_scalar(text: str, at: int, line: int, column: int) -> tuple[Node, int]:
    quoted = _quoted(text, at)
    if quoted is not None:
        return Node(line, column + at, scalar=quoted[0], quoted=True), quoted[1]
    match = _FLOW_PLAIN.match(text, at)
    if match is None:
        raise NotPlain
    bare = match.group().rstrip(" ")
    return Node(line, column + at, scalar=typed(bare, line, column + at)), at + len(bare)


def _quoted(text: str, at: int) -> tuple[str, int] | None:
    if text[at] == '"':
        match = _DOUBLE.match(text, at)
        if match is None:
            raise NotPlain
        return _whole_letters(json.loads(match.group())), match.end()
    if text[at] == "'":
        match = _SINGLE.match(text, at)
        if match is None:
            raise NotPlain
        return match.group()[1:-1].replace("''", "'"), match.end()
    return None


def _whole_letters(text: str) -> str:
    if _BAD_LETTER.search(text) is not None:
        raise NotPlain
    return text


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] == " ":
        at += 1
    if at >= len(text):
        raise NotPlain
    return at


def _flow_list(text: str, at: int, line: int, column: int, depth: int) -> tuple[Node, int]:
    node = Node(line, column + at, items=[])
    assert node.items is not None
    at = _skip(text, at + 1)
    while text[at] != "]":
        item, at = _flow(text, at, line, column, depth)
        node.items.append(item)
        at = _separated(text, at, "]")
    return node, at + 1


def _separated(text: str, at: int, closing: str) -> int:
    at = _skip(text, at)
    if text[at] == ",":
        return _skip(text, at + 1)
    if text[at] != closing:
        raise NotPlain
    return at


def _flow_object(text: str, at: int, line: int, column: int, depth: int) -> tuple[Node, int]:
    entries: dict[str, tuple[Node, Node]] = {}
    node = Node(line, column + at, entries=entries)
    at = _skip(text, at + 1)
    while text[at] != "}":
        key, end = _flow_scalar(text, at, line, column)
        name = str(key.scalar) if key.quoted else text[at:end]
        at = _skip(text, end)
        if text[at] != ":" or name in entries:
            raise NotPlain
        refuse_wide(entries, line, 1)
        value, at = _flow(text, _skip(text, at + 1), line, column, depth)
        entries[name] = (key, value)
        at = _separated(text, at, "}")
    return node, at + 1
