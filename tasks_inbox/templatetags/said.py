"""What people say: links in it can be followed and mentions are marked; everything else is text."""

import re
from collections.abc import Collection, Iterator

from django import template
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

from engine.services.notifications.mentions import MENTION

register = template.Library()

ADDRESS = re.compile(r"https?://[^\s<>\"'\u200b]+", re.IGNORECASE)
"""Nothing but the web: other schemes, such as `javascript:`, stay text."""
NOT_AT_THE_END = ".,;:!?)]}…”"


@register.filter
def linked(text: str, mentioned: Collection[str] = ()) -> SafeString:
    """Return a comment with its web addresses as links, and the names that mean someone marked."""
    return mark_safe("".join(_parts(text, mentioned or ())))  # nosec # noqa: S308  each part is escaped


def _parts(text: str, mentioned: Collection[str]) -> Iterator[str]:
    place = 0
    for found in ADDRESS.finditer(text):
        address = found[0].rstrip(NOT_AT_THE_END)
        yield from _named(text[place : found.start()], mentioned)
        yield format_html('<a href="{}" rel="noopener noreferrer nofollow" target="_blank">{}</a>', address, address)
        place = found.start() + len(address)
    yield from _named(text[place:], mentioned)


def _named(text: str, mentioned: Collection[str]) -> Iterator[str]:
    place = 0
    for found in MENTION.finditer(text):
        if found[1].lower() in mentioned:
            yield escape(text[place : found.start()])
            yield format_html('<span class="wf-mention" data-mentioned="{}">{}</span>', found[1].lower(), found[0])
            place = found.end()
    yield escape(text[place:])
