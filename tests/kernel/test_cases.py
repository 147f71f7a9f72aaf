"""Thirteen real workflows, each with the tests stored in its template, through the simulator."""

from pathlib import Path

import pytest

from engine.kernel.definition import compile_definition
from engine.kernel.normalizer import normalize_set
from engine.kernel.program import Definition
from engine.kernel.simulator import run_test

CASES = Path(__file__).parent / "cases"


def read_set(path: Path) -> list[Definition]:
    """Compile every workflow of a file."""
    found = normalize_set(path.read_text(), allow_not_yet=True)
    problems = [finding for one in found for finding in one.findings]
    assert not problems, problems
    return [compile_definition(one.canonical) for one in found if one.canonical is not None]


def stored_tests() -> list[tuple[str, int]]:
    """List every stored test by file and number."""
    return [
        (path.name, number)
        for path in sorted(CASES.glob("*.yaml"))
        for number in range(len(read_set(path)[0].canonical["tests"]))
    ]


@pytest.mark.parametrize(("name", "number"), stored_tests())
def test_stored_test_of_a_case_is_green(name: str, number: int) -> None:
    main, *others = read_set(CASES / name)
    test = main.canonical["tests"][number]
    report = run_test(main, test, {other.name: other for other in others})
    assert report.passed, (report.failures, report.result)


def test_all_thirteen_are_there() -> None:
    assert len(list(CASES.glob("*.yaml"))) == 13
