"""Read the resource patterns and the business patterns: templates, plays, and why a pattern is not supported."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from engine.kernel.simulator.people import Person

BOOK = Path(__file__).parent / "resources.yaml"
CAST = (
    Person("ann", frozenset({"clerks", "speaks_greek"}), 4, "cat"),
    Person("bob", frozenset({"clerks", "speaks_german"}), 4, "cat"),
    Person("cat", frozenset({"leads", "speaks_german"}), 4),
    Person("dan", frozenset({"helpers"}), 2, "ann"),
    Person("eve", frozenset({"helpers"}), 2),
    Person("fay", frozenset(), 2),
)
PEOPLE: Mapping[str, Person] = {one.name: one for one in CAST}
STARTERS = "starters: {min_level: 2}\n"


@dataclass(frozen=True)
class Line:
    """One act of a play, and what is there after it."""

    act: str
    then: str


@dataclass(frozen=True)
class ResourcePattern:
    """One pattern. Without plays it is not supported, and `reason` says why."""

    number: int | None
    group: str
    name: str
    means: str
    template: str
    plays: tuple[tuple[Line, ...], ...]
    reason: str

    @property
    def title(self) -> str:
        """Name it with its number, where the literature gives it one."""
        return f"R{self.number}. {self.name}" if self.number else self.name

    @property
    def source(self) -> str:
        """Write its template out as a whole document."""
        return f"workflow: tried\n{STARTERS}{self.template}"


def read_resources() -> list[ResourcePattern]:
    """Read all patterns."""
    yaml = YAML(typ="safe", pure=True)
    return [_read(one) for one in yaml.load_all(BOOK.read_text()) if one]


def _read(one: Mapping[str, Any]) -> ResourcePattern:
    plays = tuple(tuple(map(_line, play)) for play in one.get("plays", ()))
    template, reason = one.get("template", ""), one.get("reason", "").strip()
    return ResourcePattern(one.get("number"), one["group"], one["name"], one["means"], template, plays, reason)


def _line(text: str) -> Line:
    act, _, then = text.partition(" → ")
    return Line(act, then)
