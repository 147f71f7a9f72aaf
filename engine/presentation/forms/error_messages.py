"""Say in the language of who reads what is wrong with a field."""

from django.utils.translation import gettext

from engine.kernel.forms import FieldError


def said_of(error: FieldError) -> str:
    """Give an error's words: the kernel's own sentences in the reader's language, all others as they were said."""
    if not error.sentence:
        return error.message
    said = gettext(error.sentence)
    limit = gettext(" or ").join(gettext(word) for word in error.among) or error.limit
    return said % {"limit": limit} if limit else said
