"""What a simulation is given: calendars and decorators by name, rate limits, throttle slots, and its budget."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from engine.kernel.effects import Slice
from engine.kernel.machine.decorators import Decorator
from engine.kernel.machine.throttle_slots import places_of
from engine.kernel.signals import Json
from engine.kernel.timing.calendars import Calendar
from engine.kernel.transitions import InstanceStatus

if TYPE_CHECKING:
    from engine.kernel.simulator.instance import Instance


class OverBudget(Exception):
    """A simulation did more than it may."""


@dataclass(frozen=True, slots=True)
class SimulationSetup:
    """What one simulation is given."""

    calendar: Callable[[str], Calendar | None] | None = None
    decorator: Callable[[str], Decorator | None] | None = None
    most_steps: int = 1_000_000
    most_made: int = 32 * 1024 * 1024
    stop: Callable[[], bool] | None = None
    """Looked at while instances run; true ends the simulation as over its budget."""


@dataclass(slots=True)
class Budget:
    """What a simulation has used of its steps and time."""

    setup: SimulationSetup
    steps: int = 0
    made: int = 0

    @property
    def steps_left(self) -> int:
        """Return how many steps may still begin."""
        return self.setup.most_steps - self.steps

    @property
    def made_left(self) -> int:
        """Return how much may still be made."""
        return self.setup.most_made - self.made

    def spend(self, found: Slice) -> None:
        """Count a slice; refuse to continue when it had to stop early, or nothing is left."""
        self.steps += sum(run.began for run in found.trace)
        self.made += found.made
        if self.steps_left <= 0:
            raise OverBudget(f"it runs more than {self.setup.most_steps:,} steps")
        if self.made_left <= 0:
            raise OverBudget(f"its values measure more than {self.setup.most_made:,} characters")
        if found.more:
            raise OverBudget("it takes too much time")


def calendars_of(test: Mapping[str, Json]) -> dict[str, Calendar]:
    """Read the calendars that a test brings along; they come before the tenant's."""
    return {name: Calendar.from_json(content) for name, content in (test.get("calendars") or {}).items()}


@dataclass(slots=True)
class Turns:
    """A rate limit with the same even turns as the platform's, under the simulation's clock."""

    free_at: dict[str, datetime] = field(default_factory=dict)

    def admit(self, now: datetime, key: str, limit: int, seconds: float) -> Any:
        """Admit a step, or return when to ask again."""
        window = timedelta(seconds=seconds)
        taken_until = max(self.free_at.get(key, now), now) + window / limit
        if taken_until - now > window:
            return taken_until - window
        self.free_at[key] = taken_until
        return None


@dataclass(slots=True)
class Asked:
    """One step that asked for a place under a throttle."""

    instance: "Instance"
    run: int
    key: str
    limit: int
    is_in: bool = False


@dataclass(slots=True)
class Places:
    """The throttle slots in use and the steps that wait for one, first come first served, as on the platform."""

    line: list[Asked] = field(default_factory=list)

    def has(self, instance: "Instance", run: int) -> bool:
        """Return whether a run was let in."""
        return any(one.is_in for one in self.line if (one.instance, one.run) == (instance, run))

    def look(self, instance: "Instance") -> list["Instance"]:
        """Record the slots that an instance wants and frees; grant free slots, and return the instances that got one."""
        wanted = places_of(instance.snapshot)
        self.line = [one for one in self.line if one.instance is not instance or one.run in wanted]
        known = {one.run for one in self.line if one.instance is instance}
        self.line += [Asked(instance, run, place.key, place.limit) for run, place in wanted.items() if run not in known]
        return [one.instance for one in self._first_in_line()]

    def _first_in_line(self) -> list[Asked]:
        let_in, full = [], set()
        for one in [one for one in self.line if one.instance.status is not InstanceStatus.INCIDENT]:
            if one.is_in or one.key in full:
                continue
            if self._running(one.key) >= one.limit:
                full.add(one.key)
                continue
            one.is_in = True
            let_in.append(one)
        return let_in

    def _running(self, key: str) -> int:
        moving = (one for one in self.line if one.instance.status is not InstanceStatus.INCIDENT)
        return sum(one.is_in for one in moving if one.key == key)
