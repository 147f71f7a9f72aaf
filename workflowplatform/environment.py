"""Read environment variables as values; what cannot be read is refused in one sentence."""

import os
from collections.abc import Callable
from typing import TypeVar

from workflowplatform.servers.errors import CannotStart

Value = TypeVar("Value")

YES, NO = frozenset({"1", "true", "yes", "on"}), frozenset({"0", "false", "no", "off"})


def flag(name: str, default: bool = False) -> bool:
    """Read a yes/no variable."""
    return _read(name, default, _as_flag, "1 or 0")


def whole(name: str, default: int) -> int:
    """Read a variable that is a whole number."""
    return _read(name, default, int, "a whole number")


def number(name: str, default: float) -> float:
    """Read a variable that is a number."""
    return _read(name, default, float, "a number")


def words(name: str, default: str = "") -> list[str]:
    """Read a comma-separated variable."""
    return [word.strip() for word in os.environ.get(name, default).split(",") if word.strip()]


def _read(name: str, default: Value, reader: Callable[[str], Value], wanted: str) -> Value:
    text = os.environ.get(name, "").strip()
    try:
        return reader(text) if text else default
    except ValueError:
        raise CannotStart(f"{name} is {text}: set it to {wanted}, or leave it unset for {default}.") from None


def _as_flag(text: str) -> bool:
    word = text.lower()
    if word not in YES | NO:
        raise ValueError(word)
    return word in YES
