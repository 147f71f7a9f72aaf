"""Define the language's own functions for expressions.

Every function is pure, takes and returns JSON values (moments as datetime, lengths as timedelta) and raises
ValueError with a sentence when it cannot answer. Maps are walked in the order of their keys: the expression library
keeps none. A function whose result may be larger than what it is given asks the evaluation's budget before it makes it
(`expression_cost`).
"""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from cel_expr_python import cel

from engine.kernel.expressions.cost import searching
from engine.kernel.expressions.meter import NODE, charge, charge_for, meter
from engine.kernel.expressions.org_chart import manager_of
from engine.kernel.expressions.text_marks import date, person
from engine.kernel.signals import Json
from engine.kernel.timing.periods import parse_moment, parse_period

MISSING = object()
MOST_DIGITS = 15
LONGEST_SPELLING = 7
"""How many times as long as its size a value's JSON text may be: a NUL is written as six characters."""
_T = cel.Type


def get(value: Json, path: str, default: Json) -> Json:
    """Read `a.b.0` out of a value; any part may be missing."""
    for part in path.split("."):
        value = _part(value, part)
        if value is MISSING:
            return default
    return value


def _part(value: Json, part: str) -> Json:
    if isinstance(value, dict):
        return value.get(part, MISSING)
    if isinstance(value, list) and part.isdigit() and int(part) < len(value):
        return value[int(part)]
    return MISSING


def coalesce(*values: Json) -> Json:
    """Return the first value that is not null."""
    return next((value for value in values if value is not None), None)


def concat(*values: Json) -> Json:
    """Join lists into one list, or texts into one text."""
    if all(isinstance(value, list) for value in values):
        return [item for value in values for item in value]
    charge_for(*values, times=LONGEST_SPELLING)
    return "".join(as_text(value) for value in values)


def merge(*values: Json) -> Json:
    """Merge objects deeply; the later one wins."""
    charge_for(*values, times=len(values))
    merged: Json = {}
    for value in values:
        merged = _merge_two(merged, {} if value is None else value)
    return merged


def _merge_two(under: Json, over: Json) -> Json:
    if not (isinstance(under, dict) and isinstance(over, dict)):
        return over
    return {**under, **{key: _merge_two(under.get(key), value) for key, value in over.items()}}


def first(values: Json) -> Json:
    """Return the first item, or null."""
    return _listed(values)[0] if values else None


def last(values: Json) -> Json:
    """Return the last item, or null."""
    return _listed(values)[-1] if values else None


def length(value: Json) -> int:
    """Count items, keys or characters; null has none."""
    if value is None:
        return 0
    if isinstance(value, (list, dict, str)):
        return len(value)
    raise ValueError("length needs a list, an object or a text")


def contains(value: Json, wanted: Json) -> bool:
    """Return whether a list holds an item, an object a key or a text a part."""
    if isinstance(value, str):
        charge_for(wanted, times=LONGEST_SPELLING)
        part = as_text(wanted)
        charge(searching(value, part))
        return part in value
    return value is not None and wanted in value


def upper(text: str) -> str:
    """Write a text in capitals; some characters become three."""
    charge_for(text, times=2)
    return text.upper()


def lower(text: str) -> str:
    """Write a text in small letters; some characters become three."""
    charge_for(text, times=2)
    return text.lower()


def replace(text: str, old: str, new: str, *most: int) -> str:
    """Replace one text by another, everywhere or at the first places only."""
    if meter.left is None:
        return text.replace(old, new, *most)
    charge(searching(text, old))
    found = text.count(old)
    places = found if not most or most[0] < 0 else min(found, most[0])
    charge(len(text) + max(len(new) - len(old), 0) * places)
    return text.replace(old, new, places)


def join(values: Json, by: str) -> str:
    """Write items one after the other with a separator."""
    items = _listed(values)
    charge_for(items, times=LONGEST_SPELLING)
    charge(len(by) * len(items))
    return by.join(as_text(value) for value in items)


def split(text: str, by: str, *most: int) -> list[str]:
    """Cut a text at a separator, into so many parts at most."""
    charge(searching(text, by))
    charge(NODE * (text.count(by) + 1))
    if most and 0 <= most[0] <= 1:
        return [text][: most[0]]
    cuts = most[0] - 1 if most and most[0] > 0 else -1
    if by:
        return text.split(by, cuts)
    return [*text[:cuts], text[cuts:]] if 0 <= cuts < len(text) else list(text)


def pick(value: Json, names: Json) -> Json:
    """Keep only these keys."""
    return {key: value[key] for key in names if key in value}


def omit(value: Json, names: Json) -> Json:
    """Leave these keys out."""
    left_out = frozenset(name for name in names if isinstance(name, str)) if isinstance(names, list) else names
    return {key: value[key] for key in sorted(value) if key not in left_out}


def keys(value: Json) -> list[str]:
    """Return an object's keys in order."""
    return sorted(value)


def in_order(value: Json) -> list[Json]:
    """Return an object's keys in order, whatever they are; expressions do not call it, loops over objects do."""
    return sorted(value, key=lambda key: (type(key).__name__, key))


def values(value: Json) -> list[Json]:
    """Return an object's values in the order of its keys."""
    return [value[key] for key in sorted(value)]


def unique(items: Json) -> list[Json]:
    """Leave repeated items out."""
    charge_for(items, times=LONGEST_SPELLING)
    first_of: dict[str, Json] = {}
    for item in _listed(items):
        first_of.setdefault(json.dumps(item, sort_keys=True, default=str), item)
    return list(first_of.values())


def sort(items: Json, *by: str) -> list[Json]:
    """Order items, or objects by one of their keys."""
    charge_for(items, times=LONGEST_SPELLING)
    try:
        return sorted(_listed(items), key=lambda item: item[by[0]] if by else item)
    except (TypeError, KeyError):
        raise ValueError("sort needs items that can be compared with each other") from None


def round_to(value: float, *digits: int) -> Json:
    """Round half away from zero: to an integer, or to so many digits."""
    places = digits[0] if digits else 0
    if abs(places) > MOST_DIGITS:
        raise ValueError(f"round goes to at most {MOST_DIGITS} digits")
    factor = 10**places
    scaled = abs(value) * factor
    rounded = int(scaled + 0.5 + 1e-9)
    signed = rounded if value >= 0 else -rounded
    return signed / factor if places > 0 else signed


def is_blank(value: Json) -> bool:
    """Return whether there is nothing: null, blank text, empty list or object."""
    return value is None or (isinstance(value, str) and not value.strip()) or value in ([], {})


def total(items: Json) -> Json:
    """Add numbers up."""
    return sum(_listed(items))


def money(value: float, currency: str) -> str:
    """Write an amount for people: €1,264.50, or 1,264.50 CHF where there is no sign."""
    amount = f"{abs(value):,.2f}"
    sign = "-" if value < 0 else ""
    return f"{sign}{_SIGNS[currency]}{amount}" if currency in _SIGNS else f"{sign}{amount} {currency}"


_SIGNS = {"EUR": "€", "USD": "$", "GBP": "£", "JPY": "¥"}


def period(text: str) -> timedelta:
    """Read an ISO duration."""
    return parse_period(text).length


def add_business_days(moment: Json, days: int) -> datetime:
    """Go some working days on: Saturday and Sunday do not count."""
    day = moment if isinstance(moment, datetime) else parse_moment(moment)
    step = timedelta(days=1 if days >= 0 else -1)
    left = abs(days)
    if left > 10_000:
        raise ValueError("add_business_days goes at most 10000 days")
    while left:
        day += step
        left -= day.weekday() < 5
        if left > 5 and day.weekday() < 5:  # five working days from a working day are a week
            day += step * 7 * (left // 5)
            left %= 5
    return day


def as_text(value: Json) -> str:
    """Write a value as it appears inside a text: null as nothing, lists and objects as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else _spelled(value)


_spelled = json.JSONEncoder(ensure_ascii=False, sort_keys=True).encode
"""Kept, because json.dumps makes a new encoder for every call that differs from its defaults."""


def _listed(value: Json) -> list[Json]:
    if isinstance(value, list):
        return value
    raise ValueError("expected a list")


Function = tuple[Callable[..., Json], Sequence[Sequence[Any]], Any]
FUNCTIONS: Mapping[str, Function] = {
    "get": (get, [[_T.DYN, _T.STRING, _T.DYN]], _T.DYN),
    "coalesce": (coalesce, [[_T.DYN] * n for n in range(1, 9)], _T.DYN),
    "concat": (concat, [[_T.DYN] * n for n in range(1, 9)], _T.DYN),
    "merge": (merge, [[_T.DYN] * n for n in range(1, 9)], _T.DYN),
    "first": (first, [[_T.DYN]], _T.DYN),
    "last": (last, [[_T.DYN]], _T.DYN),
    "length": (length, [[_T.DYN]], _T.INT),
    "upper": (upper, [[_T.STRING]], _T.STRING),
    "lower": (lower, [[_T.STRING]], _T.STRING),
    "trim": (str.strip, [[_T.STRING]], _T.STRING),
    "replace": (replace, [[_T.STRING] * 3], _T.STRING),
    "contains": (contains, [[_T.DYN, _T.DYN]], _T.BOOL),
    "join": (join, [[_T.DYN, _T.STRING]], _T.STRING),
    "split": (split, [[_T.STRING, _T.STRING]], _T.DYN),
    "pick": (pick, [[_T.DYN, _T.DYN]], _T.DYN),
    "omit": (omit, [[_T.DYN, _T.DYN]], _T.DYN),
    "keys": (keys, [[_T.DYN]], _T.DYN),
    "values": (values, [[_T.DYN]], _T.DYN),
    "unique": (unique, [[_T.DYN]], _T.DYN),
    "sort": (sort, [[_T.DYN], [_T.DYN, _T.STRING]], _T.DYN),
    "round": (round_to, [[_T.DYN], [_T.DYN, _T.INT]], _T.DYN),
    "is_blank": (is_blank, [[_T.DYN]], _T.BOOL),
    "sum": (total, [[_T.DYN]], _T.DYN),
    "money": (money, [[_T.DYN, _T.STRING]], _T.STRING),
    "abs": (abs, [[_T.DYN]], _T.DYN),
    "period": (period, [[_T.STRING]], _T.DURATION),
    "date": (date, [[_T.DYN]], _T.STRING),
    "person": (person, [[_T.STRING]], _T.STRING),
    "manager_of": (manager_of, [[_T.DYN]], _T.DYN),
    "add_business_days": (add_business_days, [[_T.DYN, _T.INT]], _T.TIMESTAMP),
}
"""name → (implementation, parameter lists, result type)."""

STANDARD = frozenset(
    [
        "size",
        "matches",
        "timestamp",
        "duration",
        "int",
        "uint",
        "double",
        "string",
        "bool",
        "bytes",
        "type",
        "dyn",
        "has",
    ]
)
"""Functions of the expression language itself that are written without a dot."""

CALLABLE = frozenset({*FUNCTIONS, "min", "max"})
"""Our own functions by name."""

NAMESPACES = frozenset({"math", "cel", "base64", "strings"})
"""First words of the library's functions that are written with one."""
