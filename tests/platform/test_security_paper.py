"""docs/security.md promises what tests keep: no promise without a test, no security test without a promise."""

from __future__ import annotations

import re

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


def test_files_that_the_table_names_exist() -> None:
    _, _, behind = (PROJECT / "docs/security.md").read_text().partition("\n| promise |")
    for row in behind.partition("\n\n")[0].splitlines()[2:]:
        for place in row.rstrip(" |").rpartition("|")[2].split(","):
            assert (PROJECT / place.strip()).exists(), row
