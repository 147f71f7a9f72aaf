"""Write dates as the reader's language does: 4 Dec 2026 in English, 4. Dez 2026 in German."""

from datetime import date, datetime, time
from functools import cache

from django.utils.dateformat import format as plain_format
from django.utils.translation import get_language

GERMAN = (("D j", "D, j"), ("l j", "l, j"), ("j M", "j. M"), ("j F", "j. F"))
"""What German writes differently: a comma behind the weekday, a point behind the number of the day."""


def date_format(at: date | datetime | time, form: str) -> str:
    """Write a date, a moment or a time of day in one of Django's forms, as the reader's language does."""
    return plain_format(at, _form_in(get_language() or "en", form))


@cache
def _form_in(language: str, form: str) -> str:
    if not language.startswith("de"):
        return form
    if form == "j":
        return "j."
    for english, german in GERMAN:
        form = form.replace(english, german)
    return form
