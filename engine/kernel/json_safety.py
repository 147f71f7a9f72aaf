"""Refuse JSON that cannot be kept, field by field; what runs a definition needs this and no schema."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from engine.kernel.expressions.results import SAFE_INTEGER
from engine.kernel.signals import Json

DEEPEST_VALUE = 64
MOST_ERRORS = 50
"""How many values a refusal names."""


@dataclass(frozen=True, slots=True)
class FieldError:
    """What is wrong with one field; `path` is `lines.0.amount`, empty for the whole.

    Where the message is one of the kernel's own, `sentence` and `limit` are what it was made of, for pages in other languages;
    a limit that is a choice of words lists them in `among`.
    """

    path: str
    code: str
    message: str
    sentence: str = field(default="", compare=False)
    limit: str = field(default="", compare=False)
    among: tuple[str, ...] = field(default=(), compare=False)


def for_people(sentence: str) -> str:
    """Mark a sentence that pages say in other languages too; the kernel itself knows none."""
    return sentence


def wrong(path: str, code: str, sentence: str, limit: str = "", among: tuple[str, ...] = ()) -> FieldError:
    """Return an error of a field with one of the kernel's sentences."""
    limit = limit or " or ".join(among)
    return FieldError(path, code, sentence % {"limit": limit} if limit else sentence, sentence, limit, among)


def refuse_unsafe_json(value: Json) -> tuple[FieldError, ...]:
    """Refuse what JSON or the database cannot keep: NaN, infinity, integers beyond 2^53, NUL, half characters."""
    return tuple(islice(_unsafe(value, ""), MOST_ERRORS))


def _unsafe(value: Json, path: str, depth: int = 0) -> Iterator[FieldError]:
    look = _LOOKS.get(type(value))
    if depth > DEEPEST_VALUE:
        yield wrong(path, "too_deep", for_people("This is nested too deep."))
    elif look is None:
        yield wrong(path, "bad_value", for_people("This is not a JSON value."))
    else:
        yield from look(value, path, depth + 1)


def _fine(_value: Json, _path: str, _depth: int) -> Iterator[FieldError]:
    return iter(())


def _unsafe_float(value: float, path: str, _depth: int) -> Iterator[FieldError]:
    if value != value or value in (float("inf"), float("-inf")):
        yield wrong(path, "bad_number", for_people("This is not a number that can be kept."))


def _unsafe_integer(value: int, path: str, _depth: int) -> Iterator[FieldError]:
    if abs(value) > SAFE_INTEGER:
        yield wrong(path, "bad_number", for_people("This number is too large to be kept exactly."))


def _unsafe_object(value: dict[str, Json], path: str, depth: int) -> Iterator[FieldError]:
    for key, item in value.items():
        yield from _unsafe_text(str(key), path)
        yield from _unsafe(item, joined(path, key), depth)


def _unsafe_list(value: list[Json], path: str, depth: int) -> Iterator[FieldError]:
    for place, item in enumerate(value):
        yield from _unsafe(item, joined(path, place), depth)


_HALF = re.compile("[\ud800-\udfff\x00]")


def _unsafe_text(text: str, path: str, _depth: int = 0) -> Iterator[FieldError]:
    if _HALF.search(text):
        yield wrong(path, "bad_character", for_people("This text holds a character that cannot be kept."))


_LOOKS: Mapping[type, Callable[[Any, str, int], Iterator[FieldError]]] = {
    type(None): _fine,
    bool: _fine,
    str: _unsafe_text,
    int: _unsafe_integer,
    float: _unsafe_float,
    dict: _unsafe_object,
    list: _unsafe_list,
}


def joined(path: str, part: object) -> str:
    """Write the path of a part."""
    return f"{path}.{part}" if path else str(part)
