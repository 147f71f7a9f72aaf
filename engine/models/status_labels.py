"""Write a status inside a sentence, in the reader's language."""

from collections.abc import Mapping

from django.utils.translation import gettext, gettext_noop

WORDS: Mapping[str, str] = {
    "open": gettext_noop("not claimed"),
    "claimed": gettext_noop("claimed"),
    "suspended": gettext_noop("suspended"),
    "completed": gettext_noop("completed"),
    "skipped": gettext_noop("skipped"),
    "failed": gettext_noop("failed"),
    "cancelled": gettext_noop("cancelled"),
    "expired": gettext_noop("expired"),
    "draft": gettext_noop("a draft"),
    "paused": gettext_noop("paused"),
    "archived": gettext_noop("archived"),
}


def status_word(status: str) -> str:
    """Write a status as a word of a sentence: of a task, an instance that is over, or a version that nobody can start."""
    return gettext(WORDS.get(status, status))
