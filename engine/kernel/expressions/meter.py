"""Hold what one evaluation of an expression has left, and charge it before memory is taken."""

import re
import threading
from collections.abc import Callable, Mapping
from typing import Any

from engine.kernel.signals import Json

BUDGET = 4 * 1024 * 1024
"""What one evaluation may walk through, copy and build, in units."""
LARGEST_INPUT = 2 * 1024 * 1024
"""What one evaluation may be given, in units: 2 MB of text, or 130,000 numbers."""
NODE = 16
"""A number, an empty text, the frame of a list: what a value counts besides its characters."""
SCALAR = 64
"""The longest text that a number or a moment becomes."""
MOST_ITERATIONS = 10_000
"""The library itself ends an expression that goes round more often."""
SEARCHED_AT_ONCE = 256
"""Looking for one text in another compares so many pairs of characters in the time of one unit."""
COPIED = 16
"""What copying one item of a loop's list takes by the library alone: 32 bytes, that no size bounds."""
CHUNK = 100
COPIED_IN_CHUNKS = 2
"""What copying one item takes where the list is made in chunks: there are no more of them than a few hundred for each item."""
PATTERN_UNIT = 100
"""What one character of a regular expression takes, in units: it is compiled anew for every text."""
FORMATTED = 1_100
"""The longest text that one clause of a format makes of a number."""

TOO_MUCH = f"this takes more than an expression may compute ({BUDGET:,} characters read and made)"
TOO_LARGE = f"an expression may read at most {LARGEST_INPUT:,} characters (a number counts {NODE})"


class TooMuch(ValueError):
    """An evaluation would go beyond its budget."""


# What an evaluation has left


class _Meter(threading.local):
    left: int | None = None
    """None: this evaluation is within its budget whatever happens."""

    def __init__(self) -> None:
        self.given: list[list[Json] | dict[Any, Json]] = []
        """What functions gave back in this evaluation: the library never lets go of it, so it is emptied afterwards."""

    def let_go(self) -> None:
        """Empty what functions gave back."""
        for one in self.given:
            one.clear()
        self.given.clear()


meter = _Meter()


def charge(units: int) -> None:
    """Take from the budget of the evaluation under way; raise before anything is made where too little is left."""
    if meter.left is None:
        return
    meter.left -= units
    if meter.left < 0:
        raise TooMuch(TOO_MUCH)


def size_of(value: Json) -> int:
    """Count a value's units; stop where it is larger than any budget."""
    total, waiting = 0, [value]
    while waiting and total <= BUDGET:
        one = waiting.pop()
        total += NODE
        if isinstance(one, (str, bytes, bytearray)):
            total += len(one)
        elif isinstance(one, list):
            waiting.extend(one)
        elif isinstance(one, dict):
            waiting.extend(one)
            waiting.extend(one.values())
    return total


def charge_for(*values: Json, times: int = 1) -> None:
    """Take the size of values from the budget."""
    if meter.left is not None:
        charge(times * sum(map(size_of, values)))


def use(value: Json, times: int = 1) -> bool:
    """Count a value that an operation of the library is about to walk through."""
    charge_for(value, times=times)
    return True


def use_pattern(pattern: Json) -> bool:
    """Count what compiling a regular expression takes."""
    if isinstance(pattern, str):
        charge(PATTERN_UNIT * pattern_length(pattern))
    return True


def use_format(text: Json) -> bool:
    """Count what the clauses of a format may make of numbers."""
    if isinstance(text, str):
        charge(len(text) + FORMATTED * text.count("%"))
    return True


def chunks(count: int | bool) -> list[list[int]]:
    """Return the places of a list in chunks, and count what making a list in chunks takes; true: it is no list."""
    if isinstance(count, bool):
        raise ValueError("expected a list")
    charge(COPIED_IN_CHUNKS * (count * CHUNK // 2 + count * count // (2 * CHUNK)) + NODE * count)
    return [list(range(begin, min(begin + CHUNK, count))) for begin in range(0, count, CHUNK)]


USED: Mapping[str, Callable[[Json], bool]] = {
    "wf_use": use,
    "wf_use_4": lambda value: use(value, 4),
    "wf_use_8": lambda value: use(value, 8),
    "wf_use_pattern": use_pattern,
    "wf_use_format": use_format,
}
"""What a counted expression asks before it continues."""


_ATOM = re.compile(r"\\[pP]|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{(\d+)(?:,(\d*))?\}|.", re.DOTALL)
_LONG_ATOMS = {"\\p": 100, "\\P": 100, ".": 5}
_LONGEST_PATTERN = 1 << 40


def pattern_length(pattern: str) -> int:
    """Write the repetitions of a regular expression out and count its characters, roughly."""
    lengths, last = [0], 0
    for found in _ATOM.finditer(pattern):
        atom = found.group()
        if found.group(1) is not None:
            most = max(int(found.group(1)[:6]), int((found.group(2) or "0")[:6]))
            lengths[-1] += last * max(most - 1, 0)
            last *= max(most, 1)
        elif atom == "(":
            lengths.append(0)
            last = 0
        elif atom == ")" and len(lengths) > 1:
            last = lengths.pop()
            lengths[-1] += last
        else:
            last = _LONG_ATOMS.get(atom, 3 if atom[0] == "[" and len(atom) > 1 else 1)
            lengths[-1] += last
        lengths[-1] = min(lengths[-1], _LONGEST_PATTERN)
        last = min(last, _LONGEST_PATTERN)
    return min(sum(lengths), _LONGEST_PATTERN) + 1
