"""What an author's editor asks while the author types: findings, the flow to lay out, its picture, completions, test results.

Nothing here saves. The browser lays out (elkjs), the server draws: so a draft's picture is the same one that the stored version
gets, and what a browser sends becomes numbers in it, nothing else.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString

from engine import access
from engine.diagram.graph import Flow, flow_of
from engine.diagram.layout import LayoutFailed, geometry_from_outside, graph_of
from engine.diagram.outline import outline_lines
from engine.diagram.svg import draw
from engine.errors import Invalid
from engine.kernel.definition import compile_definition
from engine.kernel.findings import ERROR, WHOLE, Finding
from engine.kernel.forms import FieldError
from engine.kernel.language.json_schema import language_schema
from engine.kernel.language.source_positions import Place, step_places
from engine.kernel.simulator import Report
from engine.kernel.transitions import VersionStatus
from engine.services.templates.differences import Difference, version_differences
from engine.services.templates.stored_tests import (
    play_tests,
    simulation_setup,
    stored_tests,
    test_places,
    workflows_around,
)
from engine.services.templates.versions import check_source, check_source_alone, tenant_facts
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_AUTHOR
from workflowplatform.database.stored_json import as_text, objects_in


@dataclass(frozen=True, slots=True)
class Look:
    """What a text says: findings, where its steps are, and the flow to lay out where it can be read so far."""

    findings: tuple[Finding, ...]
    places: Mapping[str, Place]
    graph: Mapping[str, Any] | None
    outline: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class TestResult:
    """What came of one stored test, and its line."""

    report: Report
    line: int

    @property
    def way(self) -> str:
        """Write the steps that it took."""
        return " → ".join(str(step) for step in self.report.result.get("path") or ())

    @property
    def words(self) -> str:
        """Write the way of a test that passed; for one that failed, a sentence for everything that went otherwise."""
        if self.report.passed:
            return self.way
        return " ".join(f"{failure[:1].upper()}{failure[1:]}." for failure in self.report.failures)


@dataclass(frozen=True, slots=True)
class Readiness:
    """What an author should know before a draft is activated."""

    findings: tuple[Finding, ...]
    tests: tuple[TestResult, ...]
    against: int | None
    """The version that it would replace; None: there is none."""
    differences: tuple[Difference, ...]
    running: int
    """How many instances run on the version that it would replace; they stay there."""

    @property
    def errors(self) -> int:
        return sum(finding.severity == ERROR for finding in self.findings)

    @property
    def red(self) -> int:
        return sum(not one.report.passed for one in self.tests)


def look_at_source(*, actor: Actor, source: str) -> Look:
    """Check a text and read its flow; what only the tenant lacks (a role, a secret) does not keep it from being drawn."""
    checked = check_source(actor=actor, source=source)
    canonical = _drawable(actor, source)
    return Look(
        checked.findings,
        step_places(source),
        graph_of(flow_of(canonical)) if canonical else None,
        tuple(outline_lines(canonical)) if canonical else (),
    )


def draw_source(*, actor: Actor, source: str, laid_out: Any) -> SafeString:
    """Draw a text's flow from the layout that a browser made of it."""
    flow = _flow(actor, source)
    try:
        if flow is None:
            raise LayoutFailed("The text cannot be read.")
        return draw(geometry_from_outside(flow, laid_out), alone=False)
    except LayoutFailed as problem:
        message = "This layout does not belong to that text."
        raise Invalid(message, [FieldError("graph", "invalid", message)]) from problem


def _flow(actor: Actor, source: str) -> Flow | None:
    access.require_level(actor, TO_AUTHOR, "author templates")
    canonical = _drawable(actor, source)
    return flow_of(canonical) if canonical else None


def _drawable(actor: Actor, source: str) -> dict[str, Any] | None:
    checked = check_source(actor=actor, source=source)
    return checked.canonical or check_source_alone(source).canonical


def words_to_complete(*, actor: Actor) -> dict[str, Any]:
    """Return what an editor may offer where: the language's schema, and what the tenant has, by name."""
    access.require_level(actor, TO_AUTHOR, "author templates")
    facts = tenant_facts(actor)
    return {
        "schema": language_schema({name: kind.schema for name, kind in facts.step_kinds.items()}),
        "roles": sorted(facts.roles),
        "users": sorted(facts.people),
        "workflows": sorted(facts.workflows),
        "functions": sorted(facts.functions),
        "calendars": sorted(facts.calendars),
        "secrets": sorted(facts.secrets),
    }


def test_source(*, actor: Actor, source: str) -> list[TestResult]:
    """Play the tests that a text carries; none where it cannot be read."""
    canonical = _drawable(actor, source)
    return _results(actor, source, canonical) if canonical else []


def _results(actor: Actor, source: str, canonical: dict[str, Any]) -> list[TestResult]:
    if not canonical.get("tests"):
        return []
    definition = compile_definition(canonical)
    reports = play_tests(definition, workflows_around(actor.tenant_id, canonical), simulation_setup(actor.tenant_id))
    assert len(reports) == len(stored_tests(definition))
    lines = [line for line, _column in test_places(source)]
    return [TestResult(report, line) for report, line in zip(reports, lines, strict=True)]


def _finding(stored: dict[str, Any]) -> Finding:
    """Read a stored finding; a place that is none is the first line."""
    line, column = (place if isinstance(place := stored.get(key), int) else 1 for key in ("line", "column"))
    path, hint = as_text(stored.get("path", WHOLE)), as_text(stored.get("hint", ""))
    return Finding(stored["code"], stored["severity"], stored["message"], line, column, path, hint)


def readiness_of(*, actor: Actor, name: str, number: int) -> Readiness:
    """Return what keeps a version from being activated, and what would change by it."""
    version = access.version_of(actor, name, number)
    held = access.visible_versions(actor).filter(template=version.template_id).exclude(pk=version.pk).in_force().first()
    draft = version.status == VersionStatus.DRAFT
    findings = tuple(_finding(stored) for stored in objects_in(version.findings, "code", "severity", "message"))
    if draft and actor.level >= TO_AUTHOR:
        findings = check_source(actor=actor, source=version.source).findings
    against, changed = version_differences(actor=actor, name=name, number=number) if version.canonical else (None, [])
    return Readiness(
        findings,
        tuple(_results(actor, version.source, version.canonical)) if draft and version.canonical else (),
        None if against == number else against,
        tuple(changed),
        access.visible_instances(actor).filter(version=held).live().count() if held else 0,
    )
