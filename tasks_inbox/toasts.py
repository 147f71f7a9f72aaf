"""Toasts: what was done, a code for tests and programs, and the address to which its Undo is sent."""

from django.contrib import messages
from django.http import HttpRequest


def toast(request: HttpRequest, code: str, text: str, *, undo: str = "", level: int = messages.SUCCESS) -> None:
    """Show what was done. `code` identifies it in every language; `undo` is the address that reverts it."""
    messages.add_message(request, level, text, extra_tags=f"{code} {undo}".strip())
