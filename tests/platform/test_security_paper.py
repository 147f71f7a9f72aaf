"""docs/security.md promises what tests keep: no promise without a test, no security test without a promise."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from workflowplatform.servers.paths import PROJECT

MARK = re.compile(r"""mark\.security\(\s*(["'])(.+?)\1""")


def promised() -> list[str]:
    """Read the first column of the table of promises."""
    _, _, behind = (PROJECT / "docs/security.md").read_text().partition("\n| promise |")
    rows = behind.partition("\n\n")[0].splitlines()[2:]
    return [row.split("|")[1].strip() for row in rows]


def kept() -> set[str]:
    own = {"test_runner.py", "test_security_paper.py"}
    files = [file for file in (PROJECT / "tests").rglob("test_*.py") if file.name not in own]
    return {found[2] for file in files for found in MARK.finditer(file.read_text())}


def test_every_promise_has_a_test_and_every_security_test_a_promise() -> None:
    assert len(promised()) > 4
    assert sorted(kept()) == sorted(promised())


def kept_in_short_runs(file: Path) -> Iterator[str]:
    """Name the promises for which a file has a test that is not slow."""
    code = ast.parse(file.read_text())
    module = "".join(
        ast.unparse(one) for one in code.body if isinstance(one, ast.Assign) and "pytestmark" in ast.unparse(one)
    )
    for test in (one for one in code.body if isinstance(one, ast.FunctionDef) and one.name.startswith("test_")):
        marks = [module, *map(ast.unparse, test.decorator_list)]
        if not any("mark.slow" in mark and "param(" not in mark for mark in marks):
            yield from (found[2] for mark in marks for found in MARK.finditer(mark))


def test_every_promise_has_a_test_in_short_runs() -> None:
    files = (PROJECT / "tests").rglob("test_*.py")
    assert set(promised()) - {promise for file in files for promise in kept_in_short_runs(file)} == set()


def test_files_that_the_table_names_exist() -> None:
    _, _, behind = (PROJECT / "docs/security.md").read_text().partition("\n| promise |")
    for row in behind.partition("\n\n")[0].splitlines()[2:]:
        for place in row.rstrip(" |").rpartition("|")[2].split(","):
            assert (PROJECT / place.strip()).exists(), row
