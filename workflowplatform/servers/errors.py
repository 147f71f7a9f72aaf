"""The error of a product that cannot start or continue: one sentence that says what is wrong and what to do."""

from __future__ import annotations


class CannotStart(Exception):
    """Carry one clear sentence for the person at the terminal; nothing was lost, nothing runs."""
