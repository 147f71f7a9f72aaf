"""One instance of a simulation: its snapshot, its waits, its tasks and everything that became of it."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from engine.kernel.effects import Closing, MakeCall, OpenTask, Slice, StepRun, Wait, WaitKind
from engine.kernel.interpreter.run_to_wait import advance
from engine.kernel.program import Definition
from engine.kernel.signals import Event, InstanceFacts, Json
from engine.kernel.simulator.naming import Place, names_at
from engine.kernel.simulator.people import choose_assignee
from engine.kernel.snapshot import Snapshot
from engine.kernel.transitions import TERMINAL_INSTANCE, InstanceStatus, TaskStatus

if TYPE_CHECKING:
    from engine.kernel.simulator.world import World

_TASK_END = {
    Closing.ANSWERED: TaskStatus.COMPLETED,
    Closing.EXPIRED: TaskStatus.EXPIRED,
    Closing.SKIPPED: TaskStatus.SKIPPED,
    Closing.WITHDRAWN: TaskStatus.CANCELLED,
}


@dataclass(slots=True)
class Task:
    """A task and what people did with it."""

    instance: "Instance"
    wait: Wait
    assignee: str | None
    status: TaskStatus = TaskStatus.OPEN
    answered_by: list[str] = field(default_factory=list)
    asked: set[str] = field(init=False)
    """People to whom it is offered besides the author's candidates: earlier and later assignees."""
    for_everybody: bool = field(init=False)
    files: list[str] = field(default_factory=list)
    ended_at: datetime | None = None
    """When it was answered."""
    stood_due: datetime | None = None
    """When it was due as its clock was stopped."""
    waiting_for: str | None = None
    """The person who was asked about it and has not answered."""

    def __post_init__(self) -> None:
        task = self.task
        self.asked = {task.assignee} if task.assignee else set()
        self.for_everybody = not (task.roles or task.users or task.assignee)

    @property
    def task(self) -> OpenTask:
        """Return the task as the kernel opened it, or as escalations left it."""
        assert self.wait.task is not None
        return self.wait.task

    @property
    def claimed_by(self) -> str | None:
        """Return the person who has claimed it; one that was only assigned is not claimed."""
        return self.assignee if self.status is TaskStatus.CLAIMED else None

    @property
    def is_open(self) -> bool:
        """Return whether people can still act on it."""
        return self.status in (TaskStatus.OPEN, TaskStatus.CLAIMED)


class Instance:
    """An instance under the simulation's clock."""

    def __init__(
        self, world: "World", definition: Definition, facts: InstanceFacts, label: str, places: tuple[Place, ...] = ()
    ) -> None:
        self.world = world
        self.definition = definition
        self.facts = facts
        self.label = label
        self.places = places or (((label, ""),) if label else ())
        """Which steps, from outer to inner, led to this child; for others the name that a test knows them by."""
        self.parent: tuple[Instance, int] | None = None
        self.is_child = False
        self.depth = 0
        self.hops = 0
        self.snapshot: Snapshot | None = None
        self.status = InstanceStatus.QUEUED
        self.last: Slice | None = None
        self.waits: dict[int, Wait] = {}
        self.opened_at: dict[int, datetime] = {}
        self.input: Json = None
        self.held: list[Event] = []
        """What arrived while it was stopped."""
        self.tasks: dict[int, Task] = {}
        self.trace: list[StepRun] = []
        self.completed: list[str] = []
        self.calls: Counter[str] = Counter()
        self.requests: list[tuple[str, MakeCall]] = []
        self.emitted: list[dict[str, Json]] = []
        self.children: dict[int, Instance] = {}
        self.rounds: Counter[str] = Counter()
        self.output: Json = None
        self.outcome: str | None = None
        self.error: Json = None

    def send(self, event: Event) -> Slice:
        """Apply one event and take in what came of it."""
        found = advance(self.definition, self.snapshot, self.facts, [event], self.world.environment(self))
        self.world.budget.spend(found)
        self.snapshot = self.world.stored(found.snapshot)
        self._take_in(found)
        return found

    def _take_in(self, found: Slice) -> None:
        self.last, self.status = found, found.status
        self.outcome, self.output, self.error = found.outcome, found.output, found.error
        self.trace += found.trace
        for closed in found.closed:
            wait = self.waits.pop(closed.token)
            if wait.kind is WaitKind.TASK:
                self._close_task(closed.token, closed.how)
        for wait in found.opened:
            self.waits[wait.token] = wait
            self.opened_at[wait.token] = self.world.now
            if wait.task is not None:
                chosen = wait.task.assignee or choose_assignee(self.world, self, wait)
                self.tasks[wait.token] = Task(self, wait, chosen)

    def _close_task(self, token: int, how: Closing) -> None:
        task = self.tasks[token]
        task.status = _TASK_END[how]
        if how is Closing.ANSWERED:
            task.ended_at = self.world.now
            self.completed.append(task.wait.step)

    @property
    def is_over(self) -> bool:
        """Return whether the instance has ended."""
        return self.status in TERMINAL_INSTANCE

    @property
    def reference(self) -> str | None:
        """Return the reference by which it goes now."""
        return self.snapshot.reference if self.snapshot is not None else self.facts.reference

    def open_tasks(self) -> list[Task]:
        """List the tasks that people can act on, oldest first."""
        return [task for _, task in sorted(self.tasks.items()) if task.is_open]

    def has_open(self, name: str) -> bool:
        """Return whether people can act on a task of this name."""
        return any(name in names_of(task.wait) for task in self.open_tasks())

    def find_task(self, name: str) -> Task | None:
        """Find a task by its step's id, or by id and item (`vote[2]`): an open one first, else the newest."""
        found = [task for _, task in sorted(self.tasks.items()) if name in names_of(task.wait)]
        return next((task for task in found if task.is_open), found[-1] if found else None)


def names_of(wait: Wait) -> set[str]:
    """Return the names under which a test may mean a wait."""
    return names_at(wait.step, wait.iteration)
