"""The messages between frames, and the machine's checkpoint."""

from dataclasses import dataclass
from typing import Any

from engine.kernel.effects import ErrorRecord, Wait
from engine.kernel.errors import error_names, error_record
from engine.kernel.signals import Json
from engine.kernel.snapshot import Snapshot


@dataclass(slots=True)
class Ended:
    """The message that a child has ended: its receiver, its sender, as what, and how."""

    parent: int
    child: int
    role: str | None
    step: str | None
    key: Any
    outcome: str
    value: Json = None
    error: ErrorRecord | None = None
    to: str | None = None
    """The step with which the flow continues, if it is not the one that follows."""

    def stored(self) -> list[Json]:
        """Return the JSON form."""
        error = error_names(self.error) if self.error is not None else None
        form = [self.parent, self.child, self.role, self.step, self.key, self.outcome, self.value, error]
        return form if self.to is None else [*form, self.to]

    @classmethod
    def read(cls, stored: list[Json]) -> "Ended":
        """Read back what `stored` gave."""
        parent, child, role, step, key, outcome, value, error, *to = stored
        record = error_record(error) if error is not None else None
        return cls(parent, child, role, step, key, outcome, value, record, *to)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The instance as it was when a step failed: what an incident goes back to."""

    frame: int
    snapshot: Snapshot
    marks: tuple[int, int, int, int]
    opened: dict[int, Wait]
