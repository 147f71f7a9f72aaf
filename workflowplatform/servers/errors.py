"""What the house says when it cannot go on: one sentence of what is wrong, and what to do."""

from __future__ import annotations


class CannotStart(Exception):
    """Carry one clear sentence for the person at the terminal; nothing was lost, nothing runs."""
