"""Turn what the expression library gives into plain JSON, within a budget."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from engine.kernel.expressions.functions import MISSING
from engine.kernel.signals import Json
from engine.kernel.timing.periods import spell_moment

LONGEST_TEXT = 64 * 1024
DEEPEST_RESULT = 64
SAFE_INTEGER = 2**53


def converted(value: Any, budget: list[int], depth: int) -> Json:
    """Turn what the library gives into JSON, keys in order, within the budget."""
    convert = _CONVERT.get(type(value))
    if convert is None:
        raise ValueError(f"{type(value).__name__} cannot be kept as a value")
    budget[0] -= 8
    if depth > DEEPEST_RESULT or budget[0] < 0:
        raise ValueError("the result is too large")
    return convert(value, budget, depth + 1)


def _text(value: str, budget: list[int], _depth: int) -> str:
    budget[0] -= len(value)
    if len(value) > LONGEST_TEXT:
        raise ValueError(f"a text has at most {LONGEST_TEXT} characters")
    if "\x00" in value:
        raise ValueError("a text may not hold NUL")
    return value


def _integer(value: int, _budget: list[int], _depth: int) -> int:
    if abs(value) > SAFE_INTEGER:
        raise ValueError("the integer is too large for JSON, which is exact up to 2^53; return it as text")
    return value


def _float(value: float, _budget: list[int], _depth: int) -> float:
    if value != value or value in (float("inf"), float("-inf")):
        raise ValueError("the result is not a number that JSON knows")
    return value


def _map(value: dict[Any, Any], budget: list[int], depth: int) -> dict[str, Json]:
    if not all(isinstance(key, str) for key in value):
        raise ValueError("an object's keys must be text")
    return {_text(key, budget, depth): converted(value[key], budget, depth) for key in sorted(value)}


_CONVERT: Mapping[type, Any] = {
    type(None): lambda value, budget, depth: None,
    bool: lambda value, budget, depth: value,
    int: _integer,
    float: _float,
    str: _text,
    datetime: lambda value, budget, depth: spell_moment(value),
    timedelta: lambda value, budget, depth: f"PT{f'{value.total_seconds():.6f}'.rstrip('0').rstrip('.')}S",
    list: lambda value, budget, depth: [converted(item, budget, depth) for item in value],
    dict: _map,
}


def kind_name(value: Json) -> str:
    """Name a value's kind for a sentence."""
    if value is MISSING:
        return "absent"
    return _KINDS.get(type(value), "a value of another kind")


_KINDS = {
    type(None): "null", bool: "true or false", int: "a number", float: "a number", str: "a text", list: "a list",
    dict: "an object", datetime: "a moment",
}  # fmt: skip
