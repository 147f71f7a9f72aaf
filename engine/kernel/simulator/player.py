"""Play a test from its start to its expectations."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from engine.kernel.program import Definition
from engine.kernel.signals import Json
from engine.kernel.simulator.acts import ACTS, TASK_ACTS, complete
from engine.kernel.simulator.environment import OverBudget, SimulationSetup
from engine.kernel.simulator.expectations import check_expectation, describe
from engine.kernel.simulator.instance import Instance
from engine.kernel.simulator.mismatches import act_words
from engine.kernel.simulator.naming import fits
from engine.kernel.simulator.people import Refused
from engine.kernel.simulator.unknown_words import Misspelt, misspelt
from engine.kernel.simulator.world import World
from engine.kernel.timing.periods import parse_moment, parse_period

MOST_JUMPS = 5_000
Others = Mapping[str, Definition] | None


@dataclass(frozen=True, slots=True)
class Report:
    """What came of one test: its failures, and how the instance ended."""

    name: str
    failures: tuple[str, ...]
    result: Mapping[str, Json] = field(default_factory=dict)
    over_budget: bool = False
    """Whether it was ended because it did more than it may."""
    misspelt: tuple[Misspelt, ...] = ()
    """The words that mean nothing: where there are any, it was not played."""

    @property
    def passed(self) -> bool:
        """Return whether all went as expected."""
        return not self.failures


class Play:
    """One test while it is played."""

    def __init__(
        self,
        definitions: Mapping[str, Definition],
        name: str,
        test: Mapping[str, Json],
        setup: SimulationSetup | None = None,
    ) -> None:
        self.name = name
        self.test = test
        self.world = World(definitions, test, setup)
        self.failures: list[str] = []
        self.main: Instance | None = None
        self.refused: Refused | None = None
        self.misspelt: list[Misspelt] = []
        self.heard = 0
        """How many instances took the last signal."""

    def run(self) -> None:
        """Start the instance, do what the test does, look at what is expected."""
        self.misspelt = misspelt(self.world.definitions, self.name, self.test)
        if self.misspelt:
            self.failures += [str(one) for one in self.misspelt]
            return
        try:
            self.main = self.world.start(self.name, self.test.get("start"), self.test.get("as", "starter"), "")
        except Refused as refusal:
            self.refused = refusal
        if self.main is not None and "do" in self.test:
            self._do_all(self.main)
        elif self.main is not None:
            self._play_alone()
        self.check(self.main, self.test.get("expect") or {})

    def unused(self) -> list[tuple[str, str]]:
        """List what the test gives and nothing asked for, by `answers` or `calls` and its name."""
        given = [(family, str(name)) for family in ("answers", "calls") for name in self.test.get(family) or ()]
        return [(family, name) for family, name in given if f"{family}:{name}" not in self.world.used]

    def fail_unused(self) -> None:
        """Fail a test that answers what does not come: it was meant for something else."""
        for family, name in self.unused() if self.main is not None else ():
            why = "no such task was there to be answered" if family == "answers" else "no such call was made"
            if family == "answers" and "do" in self.test:
                why = "with `do`, tasks are answered by its acts"
            self.failures.append(f"{family}.{name} was never used: {why}")

    def _do_all(self, main: Instance) -> None:
        self._send_signals()
        for number, act in enumerate(self.test["do"]):
            for _ in range(int(act.get("again", 0)) + 1):
                self._do(main, number, act)

    def _do(self, main: Instance, number: int, act: Mapping[str, Json]) -> None:
        word = next((key for key in act if key in ACTS), None)
        instance = self.find(str(act["in"])) if "in" in act else main
        assert word is not None, "a test with an unknown verb is not played"
        if word in TASK_ACTS and instance is not None:
            instance, act = self._meant(instance, word, act)
        if instance is None:
            named = act.get("in", act[word])
            self.failures.append(f"{act_words(number, act, word)} is about {named}, which has not begun")
            return
        try:
            self.perform(word, instance, act)
        except Refused as refusal:
            if act.get("refused") not in (True, refusal.code, refusal.rule):
                self.failures.append(f"{act_words(number, act, word)} was refused as {refusal.code}: {refusal}")
            return
        if act.get("refused"):
            self.failures.append(f"{act_words(number, act, word)} was not refused")

    def perform(self, word: str, instance: Instance, act: Mapping[str, Json]) -> None:
        """Do one act, or raise why it is refused."""
        ACTS[word](self, instance, act)

    def find(self, name: str) -> Instance | None:
        """Find another instance by its step, its workflow or the name it was started with."""
        found = [one for one in self.world.instances if fits(name, one.places)] or self._nth(name)
        return next((one for one in reversed(found) if not one.is_over), found[-1] if found else None)

    def _nth(self, name: str) -> list[Instance]:
        """Find by its number one of several that are no children: `slug[1]` is the second that was started."""
        base, _, number = name.rstrip("]").rpartition("[")
        started = [one for one in self.world.instances if base and one.label == base]
        return started[int(number) : int(number) + 1] if number.isdigit() else []

    def inside(self, instance: Instance, name: str) -> list[Instance]:
        """List the instances below one that a name means."""
        outer = len(instance.places)
        below = [one for one in self.world.instances if one.places[:outer] == instance.places]
        return [one for one in below if fits(name, one.places[outer:])]

    def _meant(
        self, instance: Instance, word: str, act: Mapping[str, Json]
    ) -> tuple[Instance | None, Mapping[str, Json]]:
        """Find the task that an act means: `sub/ask` is the task `ask` of a child, an open one first."""
        where, _, task = str(act[word]).rpartition("/")
        if not where:
            return instance, act
        found = sorted(self.inside(instance, where), key=lambda one: not one.has_open(task))
        return next(iter(found), None), {**act, word: task}

    def settle(self) -> None:
        """Carry out everything that is pending."""
        self.world.settle()

    def let_time_pass(self, until: datetime) -> None:
        """Fire timers one by one at their time, up to a moment."""
        for _ in range(MOST_JUMPS):
            due = [entry for entry in self.world.timers() if entry[0] <= until]
            if not due:
                self.world.now = max(self.world.now, until)
                return
            moment, _, instance, wait = due[0]
            self.world.now = max(self.world.now, moment)
            self.world.ring(instance, wait)
        raise OverBudget(f"more than {MOST_JUMPS:,} timers ring")

    def _send_signals(self) -> None:
        for entry in self.test.get("signals") or ():
            if "at" not in entry:
                self._send_signal(entry)

    def _play_alone(self) -> None:
        """Answer tasks as they open; let the clock jump to the next timer only while no task is open."""
        self._send_signals()
        later = sorted(self._timed_signals(), key=lambda entry: entry[0])
        for _ in range(MOST_JUMPS):
            if self._answer_one():
                continue
            timers = [] if self._any_task_open() else self.world.timers()
            if later and (not timers or later[0][0] <= timers[0][0]):
                self._send_later(*later.pop(0))
            elif timers:
                moment, _, instance, wait = timers[0]
                self.world.now = max(self.world.now, moment)
                self.world.ring(instance, wait)
            else:
                return
        raise OverBudget(f"it still runs after {MOST_JUMPS:,} answers and timers")

    def _timed_signals(self) -> list[tuple[datetime, Mapping[str, Json]]]:
        return [(self._moment(str(one["at"])), one) for one in self.test.get("signals") or () if "at" in one]

    def _moment(self, text: str) -> datetime:
        return parse_period(text).after(self.world.now) if text.startswith("P") else parse_moment(text)

    def _send_later(self, moment: datetime, entry: Mapping[str, Json]) -> None:
        self.world.now = max(self.world.now, moment)
        self._send_signal(entry)

    def _send_signal(self, entry: Mapping[str, Json]) -> None:
        assert self.main is not None
        try:
            self.perform("signal", self.main, {**entry, "signal": entry["name"]})
        except Refused as refusal:
            self.failures.append(f"the signal {entry['name']} was refused as {refusal.code}: {refusal}")

    def _any_task_open(self) -> bool:
        return any(one.open_tasks() for one in self.world.instances if not one.is_over)

    def _answer_one(self) -> bool:
        """Answer the oldest open task for which the test has an answer."""
        for instance in self.world.instances:
            for task in instance.open_tasks():
                given = self.world._given(instance, "answers", task.wait)
                if given is not None:
                    self._answer(instance, task, given)
                    return True
        return False

    def _answer(self, instance: Instance, task: Any, given: Mapping[str, Json]) -> None:
        values = {key: value for key, value in given.items() if key != "by"}
        try:
            complete(self.world, instance, task, given.get("by"), values)
        except Refused as refusal:
            self.failures.append(f"the answer to {task.wait.step} was refused as {refusal.code}: {refusal}")
            task.status = type(task.status).SUSPENDED

    def check(self, instance: Instance | None, expected: Mapping[str, Json]) -> None:
        """Compare what is with what is expected."""
        self.failures += check_expectation(self, instance, expected)


def run_test(
    definition: Definition, test: Mapping[str, Json], others: Others = None, setup: SimulationSetup | None = None
) -> Report:
    """Play one test of a definition; children and followers come from `others`."""
    name = str(test.get("name") or "test")
    try:
        play = Play({**(others or {}), definition.name: definition}, definition.name, test, setup)
        play.run()
        play.fail_unused()
    except OverBudget as problem:
        return Report(name, (f"the test is too long: {problem}",), over_budget=True)
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError) as problem:
        return Report(name, (f"the test cannot be played: {type(problem).__name__} {problem}",))
    return Report(name, tuple(play.failures), _result(play), misspelt=tuple(play.misspelt))


def _result(play: Play) -> dict[str, Json]:
    if play.main is not None:
        return describe(play, play.main)
    refused = play.refused
    return {} if refused is None else {"refused": {"code": refused.code, "fields": list(refused.fields)}}


def run_tests(
    definition: Definition, others: Others = None, setup: SimulationSetup | None = None
) -> tuple[Report, ...]:
    """Play all tests that a definition holds."""
    return tuple(run_test(definition, test, others, setup) for test in definition.canonical.get("tests", ()))


simulate = run_test
"""Play an instance as a test would, to see what comes of it."""
