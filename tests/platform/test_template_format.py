"""Templates can be read: short lines, indented by blanks, nothing left over at the ends of lines."""

from pathlib import Path

import pytest

TEMPLATES = Path(__file__).resolve().parents[2] / "templates"
WIDEST = 160
COPIES = ("unfold/layouts/skeleton.html", "unfold/helpers/welcomemsg.html", "unfold/helpers/command.html")
"""Pages of the admin's theme with a few changes: tests/browser/test_admin_scripts.py compares all else with the originals."""
PAGES = [page for page in sorted(TEMPLATES.rglob("*.html")) if str(page.relative_to(TEMPLATES)) not in COPIES]


def faults_in(text: str) -> list[str]:
    """Return what is wrong with a template, with the numbers of its lines."""
    lines = list(enumerate(text.split("\n"), 1))
    found = [f"line {number} has {len(line)} columns" for number, line in lines if len(line) > WIDEST]
    found += [f"line {number} has a tab" for number, line in lines if "\t" in line]
    found += [f"line {number} ends with a blank" for number, line in lines if line != line.rstrip()]
    return found if text.endswith("\n") else [*found, "the last line has no end"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(TEMPLATES)))
def test_templates_are_formatted(page: Path) -> None:
    assert faults_in(page.read_text(encoding="utf-8")) == []


def test_a_fault_would_be_found() -> None:
    assert len(faults_in("<p>\n\t<b>\n" + "x" * 161 + "\n</p> ")) == 4
    assert faults_in("<p>\n  fine\n</p>\n") == []
