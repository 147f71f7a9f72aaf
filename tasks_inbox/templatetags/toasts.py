"""Read from a message what its toast offers."""

from typing import Any

from django import template

from tasks_inbox.toasts import UNDO

register = template.Library()


@register.filter
def undo_of(message: Any) -> str:
    """Give the address to which Undo is sent, or nothing."""
    tags = str(message.extra_tags or "")
    return tags.removeprefix(UNDO) if tags.startswith(UNDO) else ""
