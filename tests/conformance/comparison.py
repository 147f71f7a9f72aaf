"""Play a stored test in the simulator and through the services, act by act, and compare what each says.

The simulation does an act first; the services do the same as the same person at the same moment. After every act the
answers (done, or refused by which code), how many received a signal, and the state of every case must be the same.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from engine.kernel.errors import error_names
from engine.kernel.signals import Json
from engine.kernel.simulator import SimulationSetup
from engine.kernel.simulator.acts import receiver, skip_reason
from engine.kernel.simulator.expectations import open_waits
from engine.kernel.simulator.instance import Instance as Case
from engine.kernel.simulator.instance import Task as Played
from engine.kernel.simulator.people import Person, Refused
from engine.kernel.simulator.permissions import UNNAMED, choose_person
from engine.kernel.simulator.player import Play
from engine.models import Instance
from tests.conformance.documents import Stored
from tests.conformance.real_tenant import RealTenant, told_real

TASK_ACTS = ("complete", "claim", "release", "assign", "ask", "answer", "withdraw", "skip", "redo")
USUAL_OPERATOR = UNNAMED


class Comparison(Play):
    """One test, played on both sides."""

    def __init__(self, stored: Stored, setup: SimulationSetup | None = None) -> None:
        definitions = {**stored.around, stored.definition.name: stored.definition}
        super().__init__(definitions, stored.definition.name, stored.test, setup)
        self.real = RealTenant.found(self.world.now)
        self.pairs: dict[Case, UUID] = {}
        self.differences: list[str] = []
        self.acts = 0
        self._furnish()
        self._start_alone, self.world.start = self.world.start, self._start  # type: ignore[method-assign]
        self._ring_alone, self.world.ring = self.world.ring, self._ring  # type: ignore[method-assign]
        self._answer_alone, self.world._call_answer = self.world._call_answer, self._call_answer  # type: ignore[method-assign]

    def _furnish(self) -> None:
        self.real.install(self.world.definitions.values())
        for person in self.world.people.values():
            self.real.add_person(person)
        for name, content in (self.test.get("calendars") or {}).items():
            self.real.add_calendar(name, content)

    # Acts

    def _start(self, name: str, given: Json, by: str | None, label: str) -> Case:
        refusal = case = None
        try:
            case = self._start_alone(name, given, by, label)
        except Refused as refused:
            refusal = refused
        self._meet()
        born, code = self.real.start(self.world.person(by or "starter"), name, given)
        if case is not None and born is not None:
            self.pairs[case] = born
        self._compare(f"start {label or name}", refusal, code)
        if refusal is not None:
            raise refusal
        assert case is not None
        return case

    def perform(self, word: str, instance: Case, act: Mapping[str, Json]) -> None:
        """Do an act on both sides and compare the answers."""
        if word in ("expect", "start", "advance", "outage"):
            super().perform(word, instance, act)
            if word in ("advance", "outage"):
                self._let_work(f"{word} {act[word]}")
            return
        task = instance.find_task(str(act[word])) if word in TASK_ACTS else None
        act = {**act, "by": self._actor(word, task, act)}
        refusal = None
        try:
            super().perform(word, instance, act)
        except Refused as refused:
            refusal = refused
        self._repeat(word, instance, task, act, refusal)
        if refusal is not None:
            raise refusal

    def _actor(self, word: str, task: Played | None, act: Mapping[str, Json]) -> str:
        if act.get("by") or task is None or word in ("assign", "signal"):
            return str(act.get("by") or USUAL_OPERATOR)
        if word == "answer":
            return str(task.waiting_for or USUAL_OPERATOR)
        return choose_person(self.world, task) if word != "release" else str(task.assignee or USUAL_OPERATOR)

    def _repeat(
        self, word: str, case: Case, task: Played | None, act: Mapping[str, Json], refusal: Refused | None
    ) -> None:
        """Do the same through the services."""
        self._meet()
        by, heard = self.world.person(str(act["by"])), None
        if word == "signal":
            heard, code = self.real.signal(by, self.pairs[case], act)
        elif word == "operate":
            code = self.real.operate(by, self.pairs[case], act)
        elif task is None:
            code = "closed"  # there is no such task: nobody could act on it there either
        else:
            code = self._repeat_on_task(word, by, self.real.task(self.pairs[case], task.wait.token), act)
        self._compare(f"{word} {act[word]}", refusal, code)
        if heard is not None and refusal is None and heard != self.heard:
            self.differences.append(f"signal {act[word]}: {self.heard} heard it here, {heard} there")

    def _repeat_on_task(self, word: str, by: Person, task: Any, act: Mapping[str, Json]) -> str | None:
        if word == "complete":
            return self.real.complete(by, task, act.get("with") or {})
        if word == "ask":
            return self.real.ask(by, task, self._known(receiver(act)))
        if word in ("answer", "withdraw"):
            return self.real.answer_question(by, task) if word == "answer" else self.real.withdraw(by, task)
        if word == "assign":
            return self.real.assign(by, task, self._known(receiver(act)))
        if word == "skip":
            return self.real.skip(by, task, skip_reason(act))
        if word == "redo":
            return self.real.redo(by, task)
        return self.real.claim(by, task) if word == "claim" else self.real.release(by, task)

    def _known(self, name: str | None) -> str | None:
        """Let a person be there on the other side too."""
        if name is not None:
            self.real.add_person(self.world.person(name))
        return name

    def _answer(self, instance: Case, task: Played, given: Mapping[str, Json]) -> None:
        """Answer a task that the test answers as it opens: the same act, done without `do`."""
        by = given.get("by") or choose_person(self.world, task)
        values = {key: value for key, value in given.items() if key != "by"}
        refusal = self._answer_here(instance, task, {**values, "by": by})
        act = {"complete": f"{task.wait.step}{task.wait.iteration}", "with": values, "by": by}
        self._repeat("complete", instance, task, act, refusal)

    def _answer_here(self, instance: Case, task: Played, given: Mapping[str, Json]) -> Refused | None:
        said = len(self.failures)
        super()._answer(instance, task, given)
        if len(self.failures) == said:
            return None
        code = self.failures[-1].rpartition(" was refused as ")[2].partition(":")[0]
        return Refused(code, self.failures[-1])

    # Time and calls

    def _ring(self, instance: Case, wait: Any) -> None:
        self._ring_alone(instance, wait)
        left = [moment for moment, *_ in self.world.timers() if moment <= self.world.now]
        if not left:
            self._let_work(f"{wait.step} rang at {self.world.now:%d %H:%M}")

    def _let_work(self, act: str) -> None:
        self._meet()
        self.real.work()
        self._compare(act, None, None)

    def _call_answer(self, instance: Case, wait: Any) -> Mapping[str, Json]:
        answer = self._answer_alone(instance, wait)
        self.real.answers[instance.definition.name, wait.step, wait.iteration].append(answer)
        return answer

    def _meet(self) -> None:
        """Bring the tenant to where the simulation is: its time, the people it names, the answers to its calls."""
        self.real.put_clock(self.world.now)
        for task in (task for case in self.world.instances for task in case.tasks.values()):
            for role in task.task.roles:
                self.real.add_role(role)
            for name in (*task.task.users, *task.task.familiar, *filter(None, [task.assignee, task.task.assignee])):
                self.real.add_person(self.world.person(name))

    def key_of(self, case: Case) -> str:
        """Name a case on both sides: by its workflow and its place among those of it."""
        same = [one for one in self.world.instances if one.definition.name == case.definition.name]
        return f"{case.definition.name} {same.index(case)}"

    # Comparing

    def _compare(self, act: str, refusal: Refused | None, code: str | None) -> None:
        self.acts += 1
        here = refusal.code if refusal is not None else None
        if here != code:
            self.differences.append(f"{act}: {here or 'done'} here, {code or 'done'} there")
        self._pair()
        for case in self.world.instances:
            there = Instance.objects.filter(pk__in=[self.pairs[case]] if case in self.pairs else []).first()
            if there is None:
                self.differences.append(f"{act}: {case.definition.name} is not there")
                continue
            real, told = self._alike(told_real(there), "there"), self._alike(told_here(case), "here")
            self.differences += [
                f"{act}: {self.key_of(case)}: {name} is {told[name]} here, {real[name]} there"
                for name in told
                if told[name] != real[name]
            ]
        self.differences += [f"{act}: the call {name} was made there only" for name in self.real.unexpected]
        self.real.unexpected.clear()

    def _alike(self, told: Json, side: str) -> Json:
        """Write ids alike, and the ends of them that authors build references of."""
        if isinstance(told, dict):
            return {key: self._alike(value, side) for key, value in told.items()}
        if isinstance(told, list):
            return [self._alike(value, side) for value in told]
        if not isinstance(told, str):
            return told
        for number, (case, born) in enumerate(self.pairs.items()):
            name = case.facts.id if side == "here" else str(born)
            told = told.replace(name, f"id {number}")
            told = re.sub(rf"-{re.escape(name[-4:])}\b", f"-end {number}", told, flags=re.IGNORECASE)
        return told

    def _pair(self) -> None:
        """Find the instance of every case that is new."""
        for name in {case.definition.name for case in self.world.instances if case not in self.pairs}:
            fresh = self.real.unknown(name, self.pairs.values())
            cases = [case for case in self.world.instances if case.definition.name == name and case not in self.pairs]
            if len(fresh) != len(cases):
                self.differences.append(f"{name}: {len(cases)} were born here, {len(fresh)} there")
            for case, born in zip(cases, fresh, strict=False):
                self.pairs[case] = born.pk


def told_here(case: Case) -> dict[str, Any]:
    """Return the state of a case of the simulation."""
    error = error_names(case.error) if case.error is not None else {}
    return {
        "status": case.status.value,
        "outcome": case.outcome,
        "state": case.snapshot.state if case.snapshot is not None else {},
        "output": case.output,
        "error": (error.get("class"), error.get("code")) if error else None,
        "reference": case.reference,
        "waits": dict(open_waits(case)),
        "tasks": sorted((_told_task(task) for task in case.open_tasks()), key=repr),
    }


def _told_task(task: Played) -> dict[str, Any]:
    found = task.task
    due: datetime | None = found.due_at
    return {
        "step": f"{task.wait.step}{task.wait.iteration}",
        "status": task.status.value,
        "assignee": task.assignee,
        "title": found.title,
        "values": dict(found.payload),
        "roles": list(found.roles),
        "users": list(found.users),
        "priority": found.priority,
        "due": due,
    }
