"""Play the tests that a template carries, and say which of them are red, as findings at their lines."""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from engine.definitions import definition_of
from engine.kernel.definition import Definition, compile_definition
from engine.kernel.findings import ERROR, Finding
from engine.kernel.simulator import Report, run_test
from engine.kernel.source import read_documents
from engine.models import TemplateVersion

Definitions = Mapping[str, Definition]


def play_tests(definition: Definition, others: Definitions) -> list[Report]:
    """Play every stored test; children and followers come from `others`."""
    return [_play(definition, test, number, others) for number, test in enumerate(stored_tests(definition), 1)]


def stored_tests(definition: Definition) -> list[Any]:
    """Return the tests that a definition carries."""
    return list(definition.canonical.get("tests") or ())


def _play(definition: Definition, test: Any, number: int, others: Definitions) -> Report:
    if not isinstance(test, dict):
        return Report(f"test {number}", ("a test is an object with start, answers and expect",))
    try:
        return run_test(definition, {"name": f"test {number}", **test}, others)
    except (AttributeError, TypeError, ValueError) as problem:
        return Report(str(test.get("name", f"test {number}")), (f"the test cannot be played: {problem}",))


def red_tests(source: str, canonical: Mapping[str, Any], others: Definitions) -> list[Finding]:
    """Give one finding for every stored test that is red, with the first thing that went otherwise."""
    reports = play_tests(compile_definition(dict(canonical)), others)
    if all(report.passed for report in reports):
        return []
    return [_red(one, place) for one, place in zip(reports, _places(source), strict=True) if not one.passed]


def _red(report: Report, place: tuple[int, int]) -> Finding:
    message = f"the test “{report.name}” is red: {report.failures[0]}"
    return Finding("test_failed", ERROR, message, *place, path="tests", hint="manage.py workflow test shows it whole")


def _places(source: str) -> list[tuple[int, int]]:
    """Find the line and column of every stored test in a source that has been read without error."""
    entries = read_documents(source)[0].entries or {}
    return [(test.line, test.column) for test in entries["tests"][1].items or ()]


def workflows_around(tenant_id: UUID, canonical: Mapping[str, Any]) -> dict[str, Definition]:
    """Compile the active workflows that a definition starts, and those that they start."""
    found: dict[str, Definition] = {}
    wanted = _named(canonical)
    while missing := wanted - set(found):
        active = _active(tenant_id, missing)
        found |= active
        wanted = {name for definition in active.values() for name in _named(definition.canonical)}
    return found


def _named(canonical: Mapping[str, Any]) -> set[str]:
    return set(canonical["requires"]["workflows"])


def _active(tenant_id: UUID, names: Iterable[str]) -> dict[str, Definition]:
    versions = TemplateVersion.objects.active().filter(tenant_id=tenant_id, template__name__in=names)
    return {name: definition_of(pk) for name, pk in versions.values_list("template__name", "pk")}
