"""An instance's engine state between two slices.

The snapshot is a list of frames and a few maps. A frame is a live step, a running list of steps, or a wait. Numbers
are never used again, so a wait's number is its token and order is always the order of numbers. Positions name ids and
iteration keys, never list indexes. What the interpreter changes is its own copy (`Snapshot.frames` hands out fresh
frames); what it returns is never touched again.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.kernel.signals import Json
from engine.kernel.transitions import TERMINAL_INSTANCE

SCHEMA_VERSION = 1


def copied(value: Json) -> Json:
    """Copy a JSON value: nothing is shared over a boundary."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copied(item) for item in value]
    return value


class UnreadableSnapshot(Exception):
    """The stored snapshot cannot be read by this release."""


NameAndKey = list[str | None]
Names = list[str]
KeyAndLimit = list[Json]


class Frame:
    """One live step, list or wait. Without slots: what an instance has of its own is just what must be stored."""

    step: str | None = None
    name: NameAndKey | None = None
    list: str | None = None
    at: Any = None
    key: Any = None
    role: str | None = None
    wait: str | None = None
    side = False
    due: str | None = None
    attempt = 0
    phase: str | None = None
    held: str | None = None
    env: dict[str, Json] | None = None
    results: dict[str, Json] | None = None
    state: dict[str, Json] | None = None
    given: dict[str, Json] | None = None
    more: dict[str, Json] | None = None
    pos: str | None = None
    barred: Names | None = None
    """The people who did a task that names this step while it was running: four eyes exclude them from the rest of it."""
    sign: str | None = None
    """What keys say in place of `pos`, where that is not enough to tell this run from others."""
    again = 0
    """How often this was taken back before and is offered anew."""
    operated = False
    """Whether an operator intervened in this run, or inside it."""
    edit = 0
    """The attempt from which on an operator's edit holds."""
    sent_as: str | None = None
    """The key of the call that this step makes: kept from its first attempt on."""
    place: KeyAndLimit | None = None
    """Key and limit of the throttle under which it has a place, or waits for one while `held`."""

    def __init__(self, n: int, p: int) -> None:
        self.n = n
        self.p = p

    def stored(self) -> dict[str, Json]:
        """Return the JSON form: what differs from an empty frame."""
        return {slot: value for slot, value in vars(self).items() if value is not None and value is not False}

    @classmethod
    def read(cls, stored: Mapping[str, Json]) -> "Frame":
        """Make the frame that `stored` describes; what a slice may change is its own copy."""
        frame = cls(stored["n"], stored["p"])
        own = vars(frame)
        for slot, value in stored.items():
            own[slot] = copied(value) if isinstance(value, (dict, list)) else value
        return frame


@dataclass(slots=True)
class Snapshot:
    """Everything the machine needs to continue, and nothing that is not JSON."""

    status: str
    now: str
    next_frame: int = 1
    start: Json = None
    state: dict[str, Json] = field(default_factory=dict)
    results: dict[str, Json] = field(default_factory=dict)
    step_status: dict[str, str] = field(default_factory=dict)
    reference: str | None = None
    reference_parts: dict[str, Json] | None = None
    outcome: str | None = None
    names: dict[str, Json] = field(default_factory=dict)
    """What was received last: `task` and `signal`."""
    mutexes: dict[str, list[int]] = field(default_factory=dict)
    early: list[Json] = field(default_factory=list)
    emits: list[Json] = field(default_factory=list)
    """Own signals raised but not yet delivered, when a slice stopped early."""
    queue: list[Json] = field(default_factory=list)
    """Messages not yet told, when a slice stopped early or at an incident."""
    people: dict[str, dict[str, str]] = field(default_factory=dict)
    """Step → person → the moment when they last took part in it: what four eyes go by."""
    done: list[Json] = field(default_factory=list)
    """Finished runs that can be undone, oldest first."""
    occurrences: dict[str, int] = field(default_factory=dict)
    """How often each handler has run so far, by its place: a number is never given twice."""
    frames: list[dict[str, Json]] = field(default_factory=list)
    waits: list[dict[str, Json]] = field(default_factory=list)
    """Derived when stored, never read by the machine."""
    waited: bool = False
    """Whether the instance has ever waited for more than its own children: a chain of instances that never do has no end."""
    operated: bool = False
    """Whether an operator intervened in the instance, or in a child of it."""
    children: list[dict[str, Json]] = field(default_factory=list)
    """The instances that are waited for; derived when stored, never read back."""

    @property
    def is_over(self) -> bool:
        """Return whether nothing runs any more, so that nobody reads what was received last."""
        return self.status in TERMINAL_INSTANCE

    def to_json(self) -> dict[str, Json]:
        """Return the stored form, keys as the design names them; what readers take for empty where it is missing is left out."""
        return {
            "engineSchemaVersion": SCHEMA_VERSION,
            "status": self.status,
            "now": self.now,
            "nextFrame": self.next_frame,
            "start": self.start,
            "workflowState": self.state,
            "results": self.results,
            "stepStatus": self.step_status,
            "businessReference": self.reference,
            **({"referenceParts": self.reference_parts} if self.reference_parts is not None else {}),
            **_filled(outcome=self.outcome, received={} if self.is_over else self.names),
            **_filled(ownSignals=self.emits, undoable=self.done),
            "mutexes": self.mutexes,
            "earlySignals": self.early,
            "continuationBuffer": self.queue,
            "people": self.people,
            "frames": self.frames,
            "waits": self.waits,
            **_filled(occurrences=self.occurrences, waited=self.waited, operated=self.operated),
            "subWorkflowFrames": self.children,
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Json]) -> "Snapshot":
        """Read the stored form of this schema version or an older one."""
        version = stored.get("engineSchemaVersion") if isinstance(stored, Mapping) else None
        reader = READERS.get(version) if isinstance(version, int) else None
        if reader is None:
            raise UnreadableSnapshot(f"snapshot schema {version!r} is not known to this release")
        if odd := next(_odd_places(stored), ""):
            raise UnreadableSnapshot(f"snapshot of schema {version} has another shape at {odd}")
        try:
            return reader(stored)
        except (KeyError, TypeError, AttributeError) as problem:
            raise UnreadableSnapshot(f"snapshot of schema {version} lacks {problem}") from problem

    def resume_pointer(self, token: int) -> dict[str, Json]:
        """Describe for people where the wait with this token is."""
        for wait in self.waits:
            if wait["token"] == token:
                return {key: wait[key] for key in _POINTER}
        return {}


def _filled(**values: Json) -> dict[str, Json]:
    """Keep what is not empty."""
    return {name: value for name, value in values.items() if value or value == ""}


_POINTER = ("entryPointKind", "taskName", "branchPath", "nextStepIndex", "iteration")


_SHAPE: Mapping[str, type] = {
    **dict.fromkeys(("status", "now"), str),
    "nextFrame": int,
    **dict.fromkeys(("workflowState", "results", "stepStatus", "mutexes", "people", "received", "occurrences"), dict),
    **dict.fromkeys(
        ("earlySignals", "continuationBuffer", "ownSignals", "undoable", "frames", "waits", "subWorkflowFrames"), list
    ),
}
"""What every stored schema so far holds under these keys, where it has them."""


def _odd_places(stored: Mapping[str, Json]) -> Iterator[str]:
    """Name the parts that have another shape than the machine writes."""
    yield from (key for key, kind in _SHAPE.items() if not isinstance(stored.get(key, kind()), kind))
    for part, number in (("frames", "n"), ("waits", "token")):
        numbers = (one.get(number) if isinstance(one, dict) else None for one in stored.get(part, ()))
        yield from (f"{part}.{place}" for place, one in enumerate(numbers) if not isinstance(one, int))


def _read_v1(stored: Mapping[str, Json]) -> Snapshot:
    return Snapshot(
        status=stored["status"],
        now=stored["now"],
        next_frame=stored["nextFrame"],
        start=stored["start"],
        state=stored["workflowState"],
        results=stored["results"],
        step_status=stored["stepStatus"],
        reference=stored["businessReference"],
        reference_parts=stored.get("referenceParts"),
        outcome=stored.get("outcome"),
        names=stored.get("received", {}),
        mutexes=stored["mutexes"],
        early=stored["earlySignals"],
        emits=stored.get("ownSignals", []),
        queue=stored["continuationBuffer"],
        done=stored.get("undoable", []),
        people=stored["people"] if "people" in stored else _people_in(stored["results"]),
        occurrences=stored.get("occurrences", {}),
        frames=stored["frames"],
        waits=stored["waits"],
        waited=stored.get("waited", False),
        operated=stored.get("operated", False),
    )


def _people_in(results: Mapping[str, Json]) -> dict[str, dict[str, str]]:
    """Find who took part in an instance that was stored before this was kept: what its results still say."""
    found: dict[str, dict[str, str]] = {}
    for step, result in results.items():
        answers = result.get("answers", [result]) if isinstance(result, dict) else []
        for answer in answers if isinstance(answers, list) else []:
            by, at = (answer.get("by"), answer.get("at")) if isinstance(answer, dict) else (None, None)
            if isinstance(by, str) and isinstance(at, str):
                found.setdefault(step, {})[by] = at
    return found


READERS: Mapping[int, Callable[[Mapping[str, Json]], Snapshot]] = {1: _read_v1}
"""How each stored schema version is read; a new version adds its reader and keeps these."""
