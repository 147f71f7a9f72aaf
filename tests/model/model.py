"""What must be true, in plain Python: who may do what to which status, and what the audit then says.

Nothing here reads the database or imports the product. The machine asks the model first, acts through the services second, and
compares. The tables repeat the language's rules on purpose: a rule that changes must be changed twice.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum


class Answer(StrEnum):
    """How a service may answer."""

    DONE = "done"
    MISSING = "there is no such thing for you"
    REFUSED = "you may not"
    CONFLICT = "not in this status"


@dataclass(frozen=True)
class Person:
    """A person at the moment of an act."""

    name: str
    level: int
    roles: frozenset[str] = frozenset()
    foreign: bool = False
    """From another tenant: for them nothing of ours exists."""


AUTHORS, OPERATORS = 5, 4

LIVE = frozenset({"queued", "running", "suspended", "incident"})
OVER = frozenset({"completed", "failed", "cancelled", "expired"})
ADMITTED = LIVE - {"queued"}
OPEN_TASK = frozenset({"open", "claimed", "suspended"})

FOLLOWERS: dict[str, frozenset[str]] = {
    "queued": frozenset({"running", "incident"}) | OVER,
    "running": frozenset({"suspended", "incident"}) | OVER,
    "suspended": frozenset({"running", "incident", "cancelled"}),
    "incident": frozenset({"running", "suspended"}) | OVER,
    **dict.fromkeys(OVER, frozenset[str]()),
}
"""Which statuses may follow one another; what is over stays so."""

VERSION_FOLLOWERS: dict[str, frozenset[str]] = {
    "draft": frozenset({"active"}),
    "active": frozenset({"paused", "archived"}),
    "paused": frozenset({"active", "archived"}),
    "archived": frozenset(),
}

STEP_ACTS = {
    "running": "execute_step",
    "success": "complete_step",
    "failed": "fail_step",
    "retrying": "retry_step",
    "skipped": "skip_step",
    "timed_out": "expire_step",
    "cancelled": "cancel_step",
}
"""The act that each status of a step run leaves in the audit."""

INSTANCE_ENDS = {
    "completed": "complete_workflow",
    "failed": "fail_workflow",
    "cancelled": "cancel_workflow",
    "expired": "expire_workflow",
}

AUTHORED = frozenset(
    {"create_template", "activate_template", "pause_template", "resume_template", "archive_template", "change_level"}
)
OPERATED = frozenset(
    {"suspend_workflow", "resume_workflow", "retry_workflow", "send_signal", "schedule_workflow", "pause_schedule",
     "resume_schedule"}
)  # fmt: skip


def reachable(status: str) -> frozenset[str]:
    """Return every status in which something that had this one may be found later."""
    found, ahead = {status}, [status]
    while ahead:
        fresh = FOLLOWERS[ahead.pop()] - found
        found |= fresh
        ahead += fresh
    return frozenset(found)


def author(person: Person, *, status: str, wanted: Collection[str]) -> Answer:
    """Return how a service for authors answers about a version in this status."""
    if person.foreign or person.level < OPERATORS:
        return Answer.MISSING
    if person.level < AUTHORS:
        return Answer.REFUSED
    return Answer.DONE if status in wanted else Answer.CONFLICT


def create(person: Person) -> Answer:
    """Return whether a person may write templates."""
    return Answer.DONE if person.level >= AUTHORS else Answer.REFUSED


def start(
    person: Person, *, status: str | None, floor: int, room: int | None, refuses: bool, heard: bool = False
) -> Answer:
    """Return how a start ends; `status` is the template's, `room` what its limit leaves, `heard`: started by events."""
    if person.foreign or status is None or (status == "draft" and person.level < OPERATORS):
        return Answer.MISSING
    if person.level < floor:
        return Answer.REFUSED if person.level >= OPERATORS or status == "active" else Answer.MISSING
    if status != "active" or heard or (refuses and room == 0):
        return Answer.CONFLICT
    return Answer.DONE


def operate(person: Person, *, starter: str, status: str, wanted: Collection[str]) -> Answer:
    """Return how a service for operators answers about an instance."""
    if person.foreign or (person.level < OPERATORS and person.name != starter):
        return Answer.MISSING
    if person.level < OPERATORS:
        return Answer.REFUSED
    return Answer.DONE if status in wanted else Answer.CONFLICT


def schedule(person: Person, *, status: str | None, floor: int, heard: bool) -> Answer:
    """Return whether a person may schedule a template."""
    if person.level < OPERATORS:
        return Answer.REFUSED
    return start(person, status=status, floor=floor, room=None, refuses=False, heard=heard)


def change_schedule(person: Person, *, status: str, wanted: Collection[str]) -> Answer:
    """Return whether a person may pause or resume a schedule."""
    if person.level < OPERATORS:
        return Answer.REFUSED
    if person.foreign:
        return Answer.MISSING
    return Answer.DONE if status in wanted else Answer.CONFLICT


def send(person: Person) -> Answer:
    """Return whether a person may send events; another tenant's reach no instance here."""
    return Answer.DONE if person.level >= OPERATORS else Answer.REFUSED


@dataclass(frozen=True)
class Offer:
    """A task as those see it who might do it."""

    status: str
    floor: int
    roles: frozenset[str]
    excluded: frozenset[str]
    assignee: str | None
    answered_by: str | None
    suspended: bool = False
    """Whether its instance is suspended."""

    def suits(self, person: Person) -> bool:
        """Return whether it is offered to a person who is allowed to do it."""
        offered = not self.roles or bool(self.roles & person.roles)
        return person.level >= self.floor and person.name not in self.excluded and offered

    def is_seen_by(self, person: Person) -> bool:
        """Return whether a person can see it."""
        if person.foreign or person.level >= OPERATORS:
            return not person.foreign
        if self.status not in OPEN_TASK:
            return self.answered_by == person.name
        free = self.assignee is None or self.status == "claimed" or self.assignee == person.name
        return self.suits(person) and free


def take(person: Person, offer: Offer) -> Answer:
    """Return how claiming or completing a task ends."""
    if not offer.is_seen_by(person):
        return Answer.MISSING
    if offer.status not in ("open", "claimed"):
        return Answer.CONFLICT
    if person.level < offer.floor or person.name in offer.excluded:
        return Answer.REFUSED
    if offer.assignee is not None:
        return Answer.DONE if offer.assignee == person.name else Answer.CONFLICT
    return Answer.DONE if offer.suits(person) else Answer.REFUSED


def complete(person: Person, offer: Offer) -> Answer:
    """Return how completing a task ends: as a claim, unless the instance is suspended."""
    answer = take(person, offer)
    return Answer.CONFLICT if answer is Answer.DONE and offer.suspended else answer


def release(person: Person, offer: Offer) -> Answer:
    """Return how giving a task back ends."""
    if not offer.is_seen_by(person):
        return Answer.MISSING
    if offer.status != "claimed":
        return Answer.CONFLICT
    return Answer.DONE if offer.assignee == person.name or person.level >= OPERATORS else Answer.REFUSED


def change_level(person: Person, other: Person, level: int) -> Answer:
    """Return whether a person may raise or lower another's level."""
    if person.foreign:
        return Answer.MISSING
    if person.level < AUTHORS or other.level > person.level:
        return Answer.REFUSED
    if other.level == level:
        return Answer.DONE
    return Answer.REFUSED if other.name == person.name or level > person.level else Answer.DONE


@dataclass
class Book:
    """What the model remembers: versions by status, and every status seen."""

    versions: dict[str, list[str]] = field(default_factory=dict)
    """The status of each version of a template, oldest first."""
    seen: dict[str, str] = field(default_factory=dict)
    """The last status of every instance."""
    retries: dict[str, int] = field(default_factory=dict)
    """How often an operator had an instance's step tried again."""
    sent: dict[str, object] = field(default_factory=dict)
    """The answer to the one signal that each sender sent to an instance."""
    since: dict[str, datetime] = field(default_factory=dict)
    """When each schedule was made."""
    kills: int = 0
    copies: int = 0

    def in_force(self, name: str) -> str | None:
        """Return the status of the version that a start would run."""
        return next((status for status in self.versions.get(name, ()) if status in ("active", "paused")), None)

    def standing(self, name: str) -> str | None:
        """Return the status of a template for a person who wants to start it."""
        held = self.versions.get(name, ())
        return self.in_force(name) or ("archived" if "archived" in held else "draft" if held else None)

    def move(self, name: str, number: int, status: str) -> None:
        """Note that a version moved; the version that was active or paused before an activated draft is archived."""
        held = self.versions[name]
        if held[number - 1] == "draft":
            held[:] = ["archived" if other in ("active", "paused") else other for other in held]
        held[number - 1] = status

    def note(self, instance: str, status: str) -> None:
        """Remember an instance's status; refuse one that cannot follow the last."""
        before = self.seen.get(instance, status)
        assert status in reachable(before), f"{instance} went from {before} to {status}"
        self.seen[instance] = status


MINUTE = timedelta(minutes=1)


def slots(since: datetime, now: datetime) -> list[datetime]:
    """Return the slots of a clock that rings every full minute after it was made."""
    first = since.replace(second=0, microsecond=0) + MINUTE
    return [first + number * MINUTE for number in range((now - first) // MINUTE + 1)]
