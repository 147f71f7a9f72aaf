"""Templates can be read: the form of djade, short lines, indented step by step, nothing left over at the ends of lines."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.template_format import PAGES, TEMPLATES, run_djade

WIDEST = 160
STEP = 2
DEEPEST = 3 * STEP
"""What an element, a condition and a continued line indent together."""


def faults_in(text: str) -> list[str]:
    """Return what is wrong with a template, with the numbers of its lines."""
    lines = list(enumerate(text.split("\n"), 1))
    found = [f"line {number} has {len(line)} columns" for number, line in lines if len(line) > WIDEST]
    found += [f"line {number} has a tab" for number, line in lines if "\t" in line]
    found += [f"line {number} ends with a blank" for number, line in lines if line != line.rstrip()]
    found += _badly_indented([(number, line) for number, line in lines if line.strip()])
    return found if text.endswith("\n") else [*found, "the last line has no end"]


def _badly_indented(lines: list[tuple[int, str]]) -> Iterator[str]:
    """Yield lines between two steps, and those much deeper than the two above; included parts begin as they like."""
    depths = [len(line) - len(line.lstrip(" ")) for _, line in lines]
    for place, (number, _) in enumerate(lines):
        if depths[place] % STEP:
            yield f"line {number} is indented by {depths[place]} blanks"
        elif place > 1 and depths[place] > max(depths[place - 2 : place]) + DEEPEST:
            yield f"line {number} is indented by {depths[place]} blanks, much more than the lines above it"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(TEMPLATES)))
def test_templates_are_formatted(page: Path) -> None:
    assert faults_in(page.read_text(encoding="utf-8")) == []


def test_a_fault_would_be_found() -> None:
    assert len(faults_in("<p>\n\t<b>\n" + "x" * 161 + "\n</p> ")) == 4
    assert faults_in("<p>\n  fine\n</p>\n") == []
    assert faults_in("<p>\n   odd\n</p>\n") == ["line 2 is indented by 3 blanks"]
    assert faults_in("<p>\n<b>\n        deep\n") == [
        "line 3 is indented by 8 blanks, much more than the lines above it"
    ]


def test_templates_have_the_form_of_djade() -> None:
    done = run_djade("--check")
    assert done.returncode == 0, f"run: python -m tests.template_format\n{done.stderr}"
