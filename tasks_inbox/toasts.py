"""Toasts that can be undone: the message carries the address to which its Undo is sent."""

from django.contrib import messages
from django.http import HttpRequest

UNDO = "undo:"


def undoable(request: HttpRequest, text: str, address: str) -> None:
    """Say what was done, with an Undo beside it that posts to an address."""
    messages.success(request, text, extra_tags=UNDO + address)
