"""W1: start → three assignments and a branch → human task → claim → complete → two automatic steps → end."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import psycopg
from django.db import connection

from benchmarks.bench_tenant import BenchTenant, set_up_tenant
from benchmarks.measuring import Lap, Result, lap
from benchmarks.recording import Recording, connect, play, recorded, recording_of
from benchmarks.report import Report, at_least, at_most
from benchmarks.statements import counted
from engine.services.instances.lifecycle import start_instance
from engine.services.tasks.lifecycle import claim_task, complete_task
from workflowplatform.database.tenancy import acting_for

ACTS = ("start", "claim", "complete")


def run(short: bool) -> Report:
    """Measure the services against the same writes by hand, act by act."""
    bench = set_up_tenant()
    cases, rounds = (40, 4) if short else (200, 15)
    statements = _statements(bench)
    found = compete(bench, cases, rounds)
    rows = [_row(act, found) for act in ACTS]
    goals = [at_least(f"{act}: share of raw psycopg", 50, 100 * _share(found, act), "%") for act in ACTS]
    goals.append(at_most("statements of one W1", 8, sum(statements), ""))
    goals.append(at_most("writing transactions of one W1", 3, _writing_transactions(bench), ""))
    notes = (f"{rounds} rounds of {cases} cases; statements: " + ", ".join(map(_named, ACTS, statements)) + ".",)
    headers = ("act", "services/s", "raw/s", "share", "client ms", "raw client ms")
    return Report("W1", "W1, one person's acts through the services", headers, tuple(rows), tuple(goals), notes)


def _named(act: str, count: int) -> str:
    return f"{act} {count}"


def _share(found: dict[str, Result], act: str) -> float:
    return found[f"ours {act}"].against(found[f"raw {act}"])


def _row(act: str, found: dict[str, Result]) -> tuple[str, ...]:
    ours, raw = found[f"ours {act}"], found[f"raw {act}"]
    share = f"{100 * _share(found, act):.0f} %"
    return (act, f"{ours.rate:,.0f}", f"{raw.rate:,.0f}", share, f"{ours.cpu:.2f}", f"{raw.cpu:.2f}")


def one_case(bench: BenchTenant) -> UUID:
    """Play W1 once, whole, as the requests of people do: for their tenant. Return the case."""
    with acting_for(bench.tenant.pk):
        return _one_case(bench)


def _one_case(bench: BenchTenant) -> UUID:
    begun = start_instance(actor=bench.starter, template="w1", input={"amount": 1200})
    claim_task(actor=bench.clerk, task_id=begun.tasks[0].pk)
    complete_task(actor=bench.clerk, task_id=begun.tasks[0].pk, outcome="approve", values={"note": "ok"})
    return begun.instance.pk


def _statements(bench: BenchTenant) -> list[int]:
    one_case(bench)
    counts: list[int] = []
    for act in _steps(bench):
        with counted() as sent, acting_for(bench.tenant.pk):
            act()
        counts.append(len(sent))
    return counts


def _writing_transactions(bench: BenchTenant) -> int:
    """Count the transactions that left their number in the audit of one case."""
    case = one_case(bench)
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(DISTINCT xid) FROM wf_audit WHERE subject_id = %s", [case])
        return int(cursor.fetchone()[0])


def _steps(bench: BenchTenant) -> list[Callable[[], Any]]:
    tasks: list[UUID] = []
    return [
        lambda: tasks.append(start_instance(actor=bench.starter, template="w1", input={"amount": 9}).tasks[0].pk),
        lambda: claim_task(actor=bench.clerk, task_id=tasks[0]),
        lambda: complete_task(actor=bench.clerk, task_id=tasks[0], outcome="approve", values={"note": "ok"}),
    ]


def compete(bench: BenchTenant, cases: int, rounds: int) -> dict[str, Result]:
    """Run both sides, each act for all cases of a round before the next act."""
    with recorded() as kept:
        one_case(bench)
    recording = recording_of(kept)
    ours, raw = Ours(bench, cases), Raw(recording, connect().cursor(), cases)
    competitors: dict[str, Callable[[], Lap]] = {}
    for place, act in enumerate(ACTS):
        competitors[f"ours {act}"] = getattr(ours, act)
        competitors[f"raw {act}"] = lambda place=place: raw.act(place)
    # Acts follow one another, so every round runs forwards; the two sides change places by act, not by round.
    return _forwards(competitors, rounds)


def _forwards(competitors: dict[str, Callable[[], Lap]], rounds: int) -> dict[str, Result]:
    laps: dict[str, list[Lap]] = {name: [] for name in competitors}
    for number in range(rounds + 1):
        for name, work in competitors.items():
            taken = work()
            if number:
                laps[name].append(taken)
    return {name: Result(tuple(taken)) for name, taken in laps.items()}


class Ours:
    """The services' side: the tasks of a round, from act to act."""

    def __init__(self, bench: BenchTenant, cases: int) -> None:
        self.bench, self.cases = bench, cases
        self.tasks: list[UUID] = []

    def start(self) -> Lap:
        self.tasks = []

        def work() -> int:
            for _ in range(self.cases):
                begun = start_instance(actor=self.bench.starter, template="w1", input={"amount": 1200})
                self.tasks.append(begun.tasks[0].pk)
            return self.cases

        return self._lap(work)

    def _lap(self, work: Callable[[], int]) -> Lap:
        with acting_for(self.bench.tenant.pk):
            return lap(work)

    def claim(self) -> Lap:
        return self._each(lambda task: claim_task(actor=self.bench.clerk, task_id=task))

    def complete(self) -> Lap:
        answer: dict[str, Any] = {"outcome": "approve", "values": {"note": "ok"}}
        return self._each(lambda task: complete_task(actor=self.bench.clerk, task_id=task, **answer))

    def _each(self, act: Callable[[UUID], Any]) -> Lap:
        def work() -> int:
            for task in self.tasks:
                act(task)
            return self.cases

        return self._lap(work)


class Raw:
    """The same writes by hand."""

    def __init__(self, recording: Recording, cursor: psycopg.Cursor[Any], cases: int) -> None:
        self.recording, self.cursor, self.cases = recording, cursor, cases
        self.fresh: list[dict[str, str]] = []

    def act(self, place: int) -> Lap:
        if place == 0:
            self.fresh = [self.recording.fresh() for _ in range(self.cases)]
        commit = self.recording.commits[place]

        def work() -> int:
            for fresh in self.fresh:
                play(self.cursor, commit, fresh)
            return self.cases

        return lap(work)
