"""The compiled form of a definition, which the interpreter walks: immutable, made once per version by definition.py."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.kernel.signals import Json

ROOT = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One step: its kind, its place, its compiled attributes and the lists of steps inside it."""

    id: str
    kind: str
    path: str
    own_id: bool
    parent: str | None
    home: str
    """The key of the list that contains it."""
    spec: Mapping[str, Any]
    lists: Mapping[str, str]
    """Name of an inner list (`then`, a branch's name, `on_error.0`) → its key in the definition."""
    raw: Mapping[str, Json]
    gated: bool = True
    """Whether an attribute acts before the body."""
    watched: bool = True
    """Whether an attribute watches over the body."""

    @property
    def body(self) -> Any:
        """Return the compiled value of the kind's own key."""
        return self.spec[self.kind]


@dataclass(frozen=True, slots=True)
class StepList:
    """A list of steps, by id."""

    key: str
    path: str
    owner: str
    steps: tuple[Step, ...]
    place: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Starters:
    min_level: int
    roles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Definition:
    """A compiled workflow."""

    name: str
    title: str
    canonical: Mapping[str, Json]
    input_schema: dict[str, Json] | None
    starters: Starters
    head: Mapping[str, Any]
    steps: Mapping[str, Step]
    lists: Mapping[str, StepList]
    has_offers: bool
    """Whether any step is an offer, in which the first that happens picks."""
    claims_decide: bool
    """Whether a claim can pick: then claims and releases must reach the instance."""
    secrets: Mapping[str, tuple[str, ...]]
    """For each call, the secrets that its request names."""
    has_rounds: bool
    """Whether any step can run in several rounds, items or runs."""
    reads_status: bool
    """Whether any expression names `status`."""
    has_milestones: bool
    has_nets: bool
    has_throttles: bool
    redoes: bool
    """Whether any task can be done again once it is answered."""
    reads: Mapping[str, tuple[str, ...]]
    """For each child of a graph, the siblings whose results it reads."""

    four_eyes: Mapping[str, tuple[str, ...]]
    """For each task with `not_same_as`, the steps that this covers: those named, and everything inside them."""

    @property
    def root(self) -> Step:
        """Return the step that is the whole instance."""
        return self.steps[ROOT]

    @property
    def has_unique_reference(self) -> bool:
        """Return whether a reference may be in use by one live instance only."""
        return bool((self.canonical.get("reference") or {}).get("unique"))
