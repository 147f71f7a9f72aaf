"""Play a case by hand: start it, answer its waits, look at what it did."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from textwrap import dedent
from typing import Any

from engine.kernel.definition import Definition, compile_definition
from engine.kernel.effects import Slice, StepRun, Wait
from engine.kernel.interpreter.run_to_wait import advance
from engine.kernel.language.normalizer import normalize
from engine.kernel.machine.decorators import Decorator
from engine.kernel.signals import (
    CallFailed,
    CallSucceeded,
    Environment,
    Event,
    InstanceFacts,
    NamedSignal,
    RetryDue,
    Started,
    TaskCompleted,
    TimerDue,
)
from engine.kernel.snapshot import Snapshot
from engine.kernel.timing.periods import parse_period

MONDAY = datetime(2030, 1, 7, 9, tzinfo=UTC)
_DUE = {"timer": TimerDue, "retry": RetryDue}


def compiled(source: str) -> Definition:
    """Compile a template that must be clean; its head may be left out."""
    source = dedent(source)
    whole = source if source.lstrip().startswith("workflow:") else f"workflow: tried\n{source}"
    found = normalize(whole, allow_not_yet=True)
    assert found.canonical is not None, found.findings
    return compile_definition(json.loads(json.dumps(found.canonical)))


class Case:
    """One case, its clock and everything it has done. `stored` sends the snapshot through JSON after every slice."""

    decorators: Mapping[str, Decorator] = {}

    def __init__(
        self, source: str | Definition, start: Any = None, *, stored: bool = True, by: str = "ann", number: str = "i-1"
    ) -> None:
        self.definition = compiled(source) if isinstance(source, str) else source
        self.facts = InstanceFacts(number, self.definition.name, 1, by, MONDAY)
        self.now = MONDAY
        self.stored = stored
        self.snapshot: Snapshot | None = None
        self.waits: dict[int, Wait] = {}
        self.trace: list[StepRun] = []
        self.slices: list[Slice] = []
        self.last: Slice
        self.send(Started({} if start is None else start))

    def send(self, *events: Event, max_steps: int = 100_000) -> Slice:
        """Apply events as one slice."""
        environment = Environment(self.now, max_steps, decorator=self.decorators.get)
        self.last = advance(self.definition, self.snapshot, self.facts, events, environment)
        self.snapshot = self.last.snapshot
        if self.stored:
            self.snapshot = Snapshot.from_json(json.loads(json.dumps(self.snapshot.to_json())))
        for closed in self.last.closed:
            del self.waits[closed.token]
        self.waits.update({wait.token: wait for wait in self.last.opened})
        self.trace += self.last.trace
        self.slices.append(self.last)
        return self.last

    def wait_of(self, step: str, kind: str | None = None) -> Wait:
        """Find the oldest wait of a step, watches left out unless asked for by kind."""
        found = [
            wait
            for _, wait in sorted(self.waits.items())
            if step in (wait.step, f"{wait.step}{wait.iteration}") and (wait.kind == kind if kind else not wait.side)
        ]
        assert found, f"{step} does not wait; open: {self.open()}"
        return found[0]

    def complete(self, step: str, outcome: str = "done", by: str = "bob", **values: Any) -> Slice:
        """Answer a task."""
        return self.send(TaskCompleted(self.wait_of(step, "task").token, outcome, by, values))

    def answer(self, step: str, value: Any = None) -> Slice:
        """Let a call succeed."""
        return self.send(CallSucceeded(self.wait_of(step, "call").token, value))

    def refuse(self, step: str, error_class: str = "transport", code: str = "http_503") -> Slice:
        """Let a call fail."""
        return self.send(CallFailed(self.wait_of(step, "call").token, error_class, code, "it went wrong"))

    def signal(self, name: str, payload: Any = None, key: str | None = None) -> Slice:
        """Send a named signal to the case."""
        return self.send(NamedSignal(name, key, payload))

    def advance(self, duration: str) -> None:
        """Let time pass; timers ring one by one at their time."""
        until = parse_period(duration).after(self.now)
        while due := self.next_due(until):
            self.now = max(self.now, due.due_at or self.now)
            self.send(_DUE[due.kind.value](due.token))
        self.now = until

    def next_due(self, until: datetime) -> Wait | None:
        """Find the timer that rings next."""
        timers = [wait for wait in self.waits.values() if wait.kind.value in _DUE and wait.due_at is not None]
        due = [wait for wait in timers if wait.due_at is not None and wait.due_at <= until]
        return min(due, key=lambda wait: (wait.due_at or MONDAY, wait.token), default=None)

    def open(self) -> list[str]:
        """List the steps that wait, watches left out."""
        waits = [wait for _, wait in sorted(self.waits.items()) if not wait.side]
        return [f"{wait.step}{wait.iteration}" for wait in waits]

    def path(self) -> list[str]:
        """List the steps that were begun, skipped ones left out."""
        skipped = {run.run for run in self.trace if run.status == "skipped"}
        begun = [run for run in self.trace if run.began and run.attempt == 1 and run.run not in skipped]
        return [run.step for run in begun if self.definition.steps[run.step].own_id]

    def statuses(self) -> dict[str, str]:
        """Return the last status of each step."""
        return {run.step: run.status.value for run in self.trace}

    @property
    def status(self) -> str:
        """Return the case's status."""
        return self.last.status.value

    @property
    def state(self) -> Mapping[str, Any]:
        """Return the business state."""
        return self.last.snapshot.state

    @property
    def results(self) -> Mapping[str, Any]:
        """Return the results of the case."""
        return self.last.snapshot.results


def hours(count: float) -> timedelta:
    """Make a length of time."""
    return timedelta(hours=count)
