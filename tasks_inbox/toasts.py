"""Toasts: what was done, a code for tests and programs, and the address to which its Undo is sent."""

from django.contrib import messages
from django.http import HttpRequest


def toast(request: HttpRequest, code: str, text: str, *, undo: str = "", level: int = messages.SUCCESS) -> None:
    """Say what was done. The code names it whatever the language; `undo` is the address that takes it back."""
    messages.add_message(request, level, text, extra_tags=f"{code} {undo}".strip())
