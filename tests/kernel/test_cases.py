"""Every workflow of the gallery, with the tests stored in its template, through the simulator."""

from functools import cache
from pathlib import Path

import pytest

from engine.kernel.definition import compile_definition
from engine.kernel.language.normalizer import normalize
from engine.kernel.program import Definition
from engine.kernel.simulator import run_test

GALLERY = Path(__file__).parents[2] / "engine" / "gallery"
SOURCES = sorted(GALLERY.glob("*.yaml"))


@cache
def gallery() -> dict[str, Definition]:
    """Compile every workflow of the gallery."""
    found = [(path.name, normalize(path.read_text(), allow_not_yet=True)) for path in SOURCES]
    broken = [(name, one.findings) for name, one in found if one.canonical is None]
    assert not broken, broken
    return {str(one.name): compile_definition(one.canonical) for _, one in found if one.canonical is not None}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_stored_tests_of_a_template_are_green(path: Path) -> None:
    definition = gallery()[path.stem]
    for test in definition.canonical.get("tests", ()):
        report = run_test(definition, test, gallery())
        assert report.passed, (report.name, report.failures)


def test_the_thirteen_real_workflows_are_there() -> None:
    names = (
        "invoice-receipt vacation-request help-desk system-failure job-advertisement vacation-with-rule document-wait"
    )
    more = "quorum-of-five first-of-three approved-action approval-rules refund human-pipeline"
    assert set(f"{names} {more}".split()) <= set(gallery())
