"""Play the tests that a template carries, and say which of them are red, as findings at their lines."""

import time
from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Any
from uuid import UUID

from django.db.models import Q

from engine.extensions.decorators import decorator_named
from engine.kernel.definition import Definition, compile_definition
from engine.kernel.findings import ERROR, Finding
from engine.kernel.language.source import read_documents
from engine.kernel.language.source_nodes import Node
from engine.kernel.language.validation.sub_workflows import emitted_events
from engine.kernel.simulator import Report, SimulationSetup, run_test
from engine.kernel.simulator.unknown_words import Misspelt
from engine.models import TemplateVersion
from engine.runtime.calendars import calendar_named
from engine.runtime.definition_cache import definition_of

Definitions = Mapping[str, Definition]


MOST_STEPS = 20_000
"""How many steps one stored test may run."""
MOST_SECONDS = 20.0
"""How many seconds of computing all tests of a template may take together: a person waits for the answer."""


def simulation_setup(tenant_id: UUID | None = None) -> SimulationSetup:
    """Return the setup of a simulation: the tenant's calendars, the registered functions, and a budget that begins now."""
    stop_at = time.thread_time() + MOST_SECONDS
    return SimulationSetup(
        calendar=None if tenant_id is None else partial(calendar_named, tenant_id),
        decorator=decorator_named,
        most_steps=MOST_STEPS,
        stop=lambda: time.thread_time() > stop_at,
    )


def play_tests(definition: Definition, others: Definitions, setup: SimulationSetup | None = None) -> list[Report]:
    """Play every stored test; children and followers come from `others`, calendars and the like are setup."""
    setup = setup or simulation_setup()
    return [_play(definition, test, number, others, setup) for number, test in enumerate(stored_tests(definition), 1)]


def stored_tests(definition: Definition) -> list[Any]:
    """Return the tests that a definition carries."""
    return list(definition.canonical.get("tests") or ())


def _play(definition: Definition, test: Any, number: int, others: Definitions, setup: SimulationSetup) -> Report:
    if not isinstance(test, dict):
        return Report(f"test {number}", ("a test is an object with start, answers and expect",))
    try:
        return run_test(definition, {"name": f"test {number}", **test}, others, setup)
    except (AttributeError, TypeError, ValueError) as problem:
        return Report(str(test.get("name", f"test {number}")), (f"the test cannot be played: {problem}",))


def red_tests(source: str, canonical: Mapping[str, Any], others: Definitions, tenant_id: UUID) -> list[Finding]:
    """Return one finding for every stored test that is red, with the first thing that went otherwise."""
    reports = play_tests(compile_definition(dict(canonical)), others, simulation_setup(tenant_id))
    if all(report.passed for report in reports):
        return []
    pairs = zip(reports, _test_nodes(source), strict=True)
    return [finding for report, node in pairs if not report.passed for finding in _red(report, node)]


def _red(report: Report, node: Node) -> list[Finding]:
    if report.misspelt:
        return [_misspelt(report, node, one) for one in report.misspelt]
    more = len(report.failures) - 1
    message = f"the test “{report.name}” is red: {report.failures[0]}" + (f" (and {more} more)" if more else "")
    code, hint = "test_failed", "fix the step, or what the test expects"
    if report.over_budget:
        code, hint = (
            "test_too_long",
            f"a test runs at most {MOST_STEPS:,} steps; give it smaller lists or a shorter time",
        )
    return [Finding(code, ERROR, message, node.line, node.column, path="tests", hint=hint)]


def _misspelt(report: Report, node: Node, word: Misspelt) -> Finding:
    """Point at a word that means nothing."""
    place = _find(node, word)
    message = f"the test “{report.name}” is misspelt: {word.message}"
    return Finding("test_misspelt", ERROR, message, place.line, place.column, path="tests", hint=word.hint)


def _find(node: Node, word: Misspelt) -> Node:
    """Find the position of a word, as a key or as a value; the nearest thing around it where it was written otherwise."""
    found = node
    for part in word.path:
        if found.entries is not None and part in found.entries:
            key, value = found.entries[str(part)]
            found = key if part == word.word and part == word.path[-1] else value
        elif found.items is not None and isinstance(part, int) and part < len(found.items):
            found = found.items[part]
    return found


def _test_nodes(source: str) -> list[Node]:
    return list((read_documents(source)[0].entries or {})["tests"][1].items or ())


def test_places(source: str) -> list[tuple[int, int]]:
    """Find the line and column of every stored test in a source that has been read without error."""
    return [(test.line, test.column) for test in _test_nodes(source)]


def workflows_around(
    tenant_id: UUID, canonical: Mapping[str, Any], given: Definitions = MappingProxyType({})
) -> dict[str, Definition]:
    """Compile the active workflows that a definition starts, and those that they start; of a set, its own are `given`."""
    found: dict[str, Definition] = {}
    wanted = required_workflows(canonical)
    while missing := wanted - set(found):
        own = {name: given[name] for name in missing if name in given}
        fresh = own | _active(tenant_id, Q(template__name__in=missing - set(own)))
        if not fresh:
            break
        found |= fresh
        wanted = {name for definition in fresh.values() for name in required_workflows(definition.canonical)}
    return found


def listeners_around(tenant_id: UUID, canonical: Mapping[str, Any]) -> dict[str, Definition]:
    """Compile the active workflows that a definition starts by name or by event, and those that they start."""
    found: dict[str, Definition] = {}
    last = [canonical]
    while last:
        named = {name for one in last for name in required_workflows(one)}
        emitted = {name for one in last for name in emitted_events(one)}
        missing = Q(template__name__in=named) | Q(event_name__in=emitted)
        new = _active(tenant_id, missing & ~Q(template__name__in=found)) if named or emitted else {}
        found |= new
        last = [one.canonical for one in new.values()]
    return found


def required_workflows(canonical: Mapping[str, Any]) -> set[str]:
    """Name the workflows that a definition starts."""
    return set((canonical.get("requires") or {}).get("workflows") or ())


def _active(tenant_id: UUID, wanted: Q) -> dict[str, Definition]:
    versions = TemplateVersion.objects.active().filter(wanted, tenant_id=tenant_id)
    return {name: definition_of(pk) for name, pk in versions.values_list("template__name", "pk")}
