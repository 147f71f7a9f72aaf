"""Read from a message what its toast offers."""

from typing import Any

from django import template

from tasks_inbox.pending_answers import Kept, waiting_in

register = template.Library()


@register.simple_tag(takes_context=True)
def answers_waiting(context: template.Context) -> list[Kept]:
    """Return the answers that can still be taken back; asks nothing of the database."""
    return waiting_in(context["request"]) if "request" in context else []


@register.filter
def code_of(message: Any) -> str:
    """Return the code of what a message says, or nothing."""
    return _tags_of(message)[0]


@register.filter
def undo_of(message: Any) -> str:
    """Return the address to which Undo is sent, or nothing."""
    return _tags_of(message)[2]


def _tags_of(message: Any) -> tuple[str, str, str]:
    return str(message.extra_tags or "").partition(" ")
