"""What a benchmark found: a table of figures, and for each goal whether it was reached."""

import json
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Goal:
    """Something that the figures must show."""

    text: str
    needed: str
    found: str
    reached: bool


@dataclass(frozen=True, slots=True)
class Report:
    """One benchmark's table."""

    name: str
    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    goals: tuple[Goal, ...]
    notes: tuple[str, ...] = field(default=())
    seconds: float = 0.0

    def to_json(self) -> str:
        """Write it on one line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Report":
        """Read what `to_json` wrote."""
        found: dict[str, Any] = json.loads(text)
        found["goals"] = tuple(Goal(**goal) for goal in found["goals"])
        found["rows"] = tuple(tuple(row) for row in found["rows"])
        return cls(**found | {"headers": tuple(found["headers"]), "notes": tuple(found["notes"])})


def at_least(text: str, needed: float, found: float, unit: str = "×") -> Goal:
    """Make a goal of a figure that should be large."""
    return Goal(text, f"≥ {needed:g} {unit}", f"{found:.2f} {unit}", found >= needed)


def at_most(text: str, needed: float, found: float, unit: str) -> Goal:
    """Make a goal of a figure that should be small."""
    return Goal(text, f"≤ {needed:g} {unit}".rstrip(), f"{found:.2f} {unit}".rstrip(), found <= needed)
