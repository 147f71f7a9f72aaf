"""Dates and people inside a text, marked so that each reader sees them in their own way.

`date()` and `person()` put what they are given between two invisible separators. A page says it in the reader's language
and time zone; where nobody does, the text reads as before: the date as ISO writes it, the user name.
"""

import re
from collections.abc import Callable

from engine.kernel.signals import Json

MARK = "\u2063"
"""INVISIBLE SEPARATOR: no font draws it."""
MARKED = re.compile(f"{MARK}([^{MARK}]*){MARK}")
MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))?")


def date(value: Json) -> str:
    """Mark a date or a moment, for each reader to see as they write dates."""
    text = _spelled(value)
    if not MOMENT.fullmatch(text):
        raise ValueError("date needs a date such as 2026-11-18, or a moment with its time zone")
    return f"{MARK}{text}{MARK}"


def _spelled(value: Json) -> str:
    return value.isoformat() if hasattr(value, "isoformat") else value if isinstance(value, str) else ""


def person(name: str) -> str:
    """Mark a user name, for each reader to see the person's own name."""
    return f"{MARK}{name.replace(MARK, '')}{MARK}"


def marked(text: str, said_date: Callable[[str], str], said_person: Callable[[str], str]) -> str:
    """Put words in the place of each mark."""
    if MARK not in text:
        return text
    return MARKED.sub(lambda found: (said_date if MOMENT.fullmatch(found[1]) else said_person)(found[1]), text)


def plain(text: str) -> str:
    """Take the marks off: dates as ISO writes them, people by their user names."""
    return text.replace(MARK, "")


def people_in(text: str) -> set[str]:
    """List the user names that a text marks."""
    found = {held[1] for held in MARKED.finditer(text)} if MARK in text else set()
    return {name for name in found if not MOMENT.fullmatch(name)}
