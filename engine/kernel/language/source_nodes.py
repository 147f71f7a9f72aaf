"""The nodes of a document: values that know their line and column, with JSON's types only."""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from engine.kernel.signals import Json

DEEPEST_SOURCE = 100
MOST_KEYS = 5_000
SAFE_INTEGER = 2**53
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)|0o[0-7]+|0x[0-9a-fA-F]+")
_DECIMAL = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_WORDS: dict[str, Json] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}  # fmt: skip
_NOT_NUMBERS = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


@dataclass(slots=True)
class Node:
    """One value of the document. `entries` is set for objects, `items` for lists, else it is a scalar."""

    line: int
    column: int
    scalar: Json = None
    entries: "dict[str, tuple[Node, Node]] | None" = None
    items: "list[Node] | None" = None
    quoted: bool = False

    @property
    def kind(self) -> str:
        """Name the kind of node in one word."""
        if self.entries is not None:
            return "an object"
        return "a list" if self.items is not None else "a single value"

    def plain(self) -> Json:
        """Return the JSON value."""
        if self.entries is not None:
            return {key: value.plain() for key, (_, value) in self.entries.items()}
        return [item.plain() for item in self.items] if self.items is not None else self.scalar


class SourceRefused(Exception):
    """The text is no document of ours: where, why and what to do."""

    def __init__(self, code: str, message: str, line: int, column: int, hint: str = "") -> None:
        super().__init__(message)
        self.code, self.message, self.line, self.column, self.hint = code, message, line, column, hint


def refuse_wide(entries: Mapping[str, object], line: int, column: int) -> None:
    """Refuse an object of more keys than anybody writes: each costs a hundred times its length."""
    if len(entries) >= MOST_KEYS:
        raise SourceRefused("too_long", f"an object has at most {MOST_KEYS:,} keys", line, column)


_BAD_LETTER = re.compile("[\ud800-\udfff\x00]")


def whole_letters(text: str, line: int, column: int) -> str:
    """Join surrogate halves that escapes wrote as two, as JSON does; refuse a half alone and NUL, which nothing can keep."""
    if _BAD_LETTER.search(text) is None:
        return text
    with suppress(UnicodeDecodeError):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    if _BAD_LETTER.search(text) is not None:
        raise SourceRefused("bad_character", "NUL and half characters are not allowed", line, column)
    return text


def typed(text: str, line: int, column: int) -> Json:
    """Return a plain scalar with its JSON type, as YAML 1.2's core schema reads it."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return _whole(text, line, column)
    if _DECIMAL.fullmatch(text):
        return _decimal(text, line, column)
    if _NOT_NUMBERS.fullmatch(text):
        raise SourceRefused("bad_number", f"{text} is not a number that JSON knows", line, column)
    return text


def _whole(text: str, line: int, column: int) -> int:
    if len(text) > 40 or abs(number := int(text, 0) if text[:2] in ("0o", "0x") else int(text)) > SAFE_INTEGER:
        raise SourceRefused(
            "bad_number", "the integer is too large for JSON, which is exact up to 2^53", line, column, "quote it"
        )
    return number


def _decimal(text: str, line: int, column: int) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise SourceRefused("bad_number", f"{text[:40]} is too large", line, column)
    return number
