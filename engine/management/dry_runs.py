"""Try workflows without a database: read files with what they start, play their tests, tell a simulated case in lines."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from engine.extensions.step_kinds import registered_step_kinds
from engine.kernel.definition import Definition, compile_definition
from engine.kernel.effects import StepRun
from engine.kernel.errors import error_names
from engine.kernel.findings import Finding
from engine.kernel.language.normalizer import Normalized, normalize
from engine.kernel.simulator import Report
from engine.kernel.simulator.expectations import describe
from engine.kernel.simulator.instance import Instance
from engine.kernel.simulator.player import Play
from engine.management.documents import Document, Unreadable, read_file
from engine.services.templates.stored_tests import play_tests, simulation_setup

Definitions = Mapping[str, Definition]


@dataclass(frozen=True, slots=True)
class Tried:
    """One workflow and what came of its tests; findings instead when it cannot be played."""

    file: str
    workflow: str | None
    reports: tuple[Report, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def passed(self) -> int:
        """Count the green tests."""
        return sum(report.passed for report in self.reports)

    @property
    def failed(self) -> int:
        """Count the red tests; a workflow that cannot be played is one."""
        return len(self.reports) - self.passed + bool(self.findings)

    def as_json(self) -> dict[str, Any]:
        """Return the form that programs read."""
        reports = [
            {"name": one.name, "passed": one.passed, "failures": list(one.failures), "result": dict(one.result)}
            for one in self.reports
        ]
        findings = [finding.as_json() for finding in self.findings]
        return {"file": self.file, "workflow": self.workflow, "tests": reports, "findings": findings}

    def lines(self) -> Iterator[str]:
        """Write it for a person."""
        yield f"{self.file}: {self.workflow or 'no workflow'}"
        for finding in self.findings:
            yield f"  {finding.line}:{finding.column} {finding.code} {finding.message}"
        for report in self.reports:
            yield f"  {'green' if report.passed else 'RED  '} {report.name}"
            yield from (f"        {failure}" for failure in report.failures)


# files


@dataclass(frozen=True, slots=True)
class Read:
    """One document of a file as far as it could be read."""

    file: str
    name: str | None
    definition: Definition | None
    findings: tuple[Finding, ...]


def read_workflows(files: Iterable[str]) -> list[Read]:
    """Compile every document of every file; what the platform does not carry yet can be tried all the same."""
    return [read for file in files for read in _read(file)]


def _read(file: str) -> list[Read]:
    try:
        return [_compiled(document) for document in read_file(file)]
    except Unreadable as problem:
        return [Read(file, None, None, (problem.finding,))]


def _compiled(document: Document) -> Read:
    found = _normalized(document, ())
    if found.canonical is None:
        findings = tuple(one for one in found.findings if one.severity == "error")
        return Read(document.file, found.name, None, findings)
    return Read(document.file, found.name, compile_definition(found.canonical), ())


def _normalized(document: Document, within: tuple[str, ...]) -> Normalized:
    """Read a document with what it embeds: from the same file, or from NAME.yaml next to it."""
    find = partial(_to_embed, document.file, within)
    kinds = registered_step_kinds()
    return normalize(document.source, allow_not_yet=True, workflows=find, kinds=kinds, above=document.above)


def _to_embed(file: str, within: tuple[str, ...], name: str, _version: Any) -> tuple[int, Mapping[str, Any]] | None:
    neighbour = Path(file).with_name(f"{name}.yaml")
    files = [one for one in (file, str(neighbour)) if one != "-" and Path(one).is_file()]
    documents = [document for one in files for document in read_file(one)] if name not in within else []
    for document in documents:
        if f"workflow: {name}" in document.source:
            found = _normalized(document, (*within, name))
            if found.name == name and found.canonical is not None:
                return 1, found.canonical
    return None


def try_files(files: Iterable[str]) -> list[Tried]:
    """Play the tests of all workflows in these files."""
    read = read_workflows(files)
    around = definitions_around(read)
    return [_tried(one, around) for one in read]


def _tried(read: Read, around: Definitions) -> Tried:
    if read.definition is None:
        return Tried(read.file, read.name, findings=read.findings)
    return Tried(read.file, read.name, tuple(play_tests(read.definition, around)))


def definitions_around(read: Iterable[Read]) -> dict[str, Definition]:
    """Find the workflows that a set starts: each other, and those in NAME.yaml next to them."""
    found: dict[str, Definition] = {}
    waiting = list(read)
    while waiting:
        one = waiting.pop()
        if one.definition is not None and one.definition.name not in found:
            found[one.definition.name] = one.definition
            waiting += [
                beside
                for name in one.definition.canonical["requires"]["workflows"]
                for beside in _beside(one.file, name)
            ]
    return found


def _beside(file: str, name: str) -> list[Read]:
    neighbour = Path(file).with_name(f"{name}.yaml")
    return _read(str(neighbour)) if neighbour.is_file() else []


# one simulated case


def play_case(definition: Definition, around: Definitions, test: Mapping[str, Any]) -> Play:
    """Play one case as the body of a test says."""
    play = Play({**around, definition.name: definition}, definition.name, test, simulation_setup())
    play.run()
    return play


def case_json(play: Play) -> dict[str, Any]:
    """Return a played case for programs: its status and its trace."""
    if play.main is None:
        refused = play.refused
        return (
            {"refused": {"code": refused.code, "message": str(refused), "fields": list(refused.fields)}}
            if refused
            else {}
        )
    trace = [_run_json(run) for run in play.main.trace]
    return {**describe(play, play.main), "failures": list(play.failures), "trace": trace}


def _run_json(run: StepRun) -> dict[str, Any]:
    facts = {"at": run.at.isoformat(), "step": run.step, "kind": run.kind, "path": run.path, "iteration": run.iteration}
    error = {"class": run.error.error_class, "code": run.error.code} if run.error else None
    return {**facts, "attempt": run.attempt, "status": run.status.value, "reason": run.reason, "error": error}


def case_lines(play: Play) -> Iterator[str]:
    """Describe a played case to a person: what happened when, and its status now."""
    if play.main is None:
        yield f"refused: {play.refused.code}, {play.refused}" if play.refused else "nothing was played"
    else:
        yield from (_run_line(run) for run in play.main.trace)
        yield from _standing(play, play.main)
    yield from (f"! {failure}" for failure in play.failures)


def _run_line(run: StepRun) -> str:
    name = f"{run.step}{run.iteration}" + (f" (attempt {run.attempt})" if run.attempt > 1 else "")
    why = f"{run.error.code}: {run.error.message}" if run.error else run.reason or ""
    return f"{run.at:%Y-%m-%d %H:%M:%S}  {name:<28} {run.kind:<10} {run.status.value:<10} {why}".rstrip()


def _standing(play: Play, instance: Instance) -> Iterator[str]:
    outcome = f", {instance.outcome}" if instance.outcome else ""
    yield f"{instance.status.value}{outcome} at {play.world.spell(play.world.now)}"
    if instance.error is not None:
        error = error_names(instance.error)
        yield f"  {error['class']}/{error['code']}: {error['message']}"
    for task in instance.open_tasks():
        opened = task.wait.task
        assert opened is not None
        whose = task.assignee or ", ".join((*opened.roles, *opened.users)) or "anybody"
        yield f"  waits for {whose}: {opened.title} ({task.wait.step})"
    for wait in instance.waits.values():
        if wait.task is None and not wait.side:
            yield f"  waits for a {wait.kind.value}: {wait.step}" + (
                f" until {play.world.spell(wait.due_at)}" if wait.due_at else ""
            )
