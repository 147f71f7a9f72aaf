"""Write what is wrong with a field, in the reader's language."""

import re
from collections.abc import Callable, Mapping, Sequence

from django.core.exceptions import ValidationError
from django.utils.translation import gettext
from django.utils.translation import gettext as _

from engine.kernel.forms import FieldError
from engine.presentation.forms.numbers import example, measure_text
from engine.presentation.forms.schema import Part

NUMBER = re.compile(r"-?\d+(\.\d+)?")


def said_of(error: FieldError) -> str:
    """Return an error's words: the kernel's own sentences in the reader's language, all others as they were said."""
    if not error.sentence:
        return error.message
    said = gettext(error.sentence)
    limit = gettext(" or ").join(gettext(word) for word in error.among) or _spelled(error.limit)
    return said % {"limit": limit} if limit else said


def _spelled(limit: str) -> str:
    """Write a limit that is a number as the reader's language does."""
    return measure_text(float(limit)) if NUMBER.fullmatch(limit) else limit


NEEDED: Mapping[str, Callable[[], str]] = {
    "number": lambda: _("Enter a number, such as %(example)s.") % example(),
    "integer": lambda: _("Enter a whole number, such as 12."),
    "date": lambda: _("Enter a date."),
    "choice": lambda: _("Choose one of the options."),
    "choices": lambda: _("Choose one of the options."),
    "file": lambda: _("Add a file."),
    "files": lambda: _("Add a file."),
}
"""What is said where a field of this kind is missing."""


def needed_words(part: Part) -> str:
    """Describe what to do about a field that is missing."""
    if "x-unit" in part.schema and part.kind == "number":
        return _("Enter an amount, such as %(example)s.") % example()
    return NEEDED.get(part.kind, lambda: _("This field is required."))()


def short_words(errors: Sequence[ValidationError]) -> str:
    """Describe in a word or two what is wrong at a place, for a list of such places."""
    codes = {error.code for error in errors}
    if codes & {"required", "comment_required"}:
        return _("missing")
    return _("not clear") if "ambiguous" in codes else _("wrong")
