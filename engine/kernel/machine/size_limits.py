"""Keep an instance from becoming so large that it takes the memory and the time of all others.

Every value that an instance keeps is weighed before it is kept. What was kept before is known from the text that was
read; what is dropped meanwhile is not, so where the sum is too large the instance is weighed as it is, and only then
refused. What one slice writes is bounded too: old and new values are also kept in the history.
"""

from collections.abc import Callable

from engine.kernel.errors import ErrorClass, StepError
from engine.kernel.signals import Json

A_SLICE = 16
"""Which part of what an instance may keep one slice writes before it stops."""
A_KEY = 8
"""Which part of it one key of state may hold: each change of it is kept twice in the history, old and new."""


class Scales:
    """How much one instance weighs, and how much one slice has added."""

    def __init__(self, before: int, largest: int) -> None:
        self.total = before
        self.added = 0
        self.largest = largest

    @property
    def is_loaded(self) -> bool:
        """Return whether this slice has written as much as it should."""
        return bool(self.largest) and self.added > self.largest // A_SLICE

    def add(self, value: Json, weigh: Callable[[], int], share: int = 1) -> None:
        """Count a value; refuse it if it, or the whole, weighed anew where that may help, would be too large."""
        if not self.largest:
            return
        weight = weight_of(value, self.largest)
        if weight > self.largest // share:
            raise _too_large(self.largest // share)
        if self.total + weight > self.largest:
            self.total = weigh()
        if self.total + weight > self.largest:
            raise _too_large(self.largest)
        self.total += weight
        self.added += weight


def _too_large(most: int) -> StepError:
    return StepError(ErrorClass.CONSISTENCY, "state_too_large", TOO_LARGE.format(most=f"{most:,}"))


def weight_of(value: Json, enough: int) -> int:
    """Return about how many characters of JSON text a value is; what is known to be too much is not counted to its end."""
    total, parts = 0, [value]
    while parts and total <= enough:
        part = parts.pop()
        if isinstance(part, dict):
            parts.extend(part.values())
            total += 2 + sum(len(str(key)) + 4 for key in part)
        elif isinstance(part, list):
            parts.extend(part)
            total += 2 + len(part)
        else:
            total += len(part) + 2 if isinstance(part, str) else 6
    return total


TOO_LARGE = (
    "At most {most} characters of data can be kept here (WORKFLOW_LARGEST_STATE). Keep less: put files into attachments, "
    "and only what later steps need into state and results."
)
