"""All control-flow patterns: exact waits after every act, in several orders, and neighbours that must fail."""

import pytest

from tests.patterns.book import Pattern, Played, mutated, read_book

PATTERNS = read_book()
NAMES = [f"{pattern.number}-{pattern.name}" for pattern in PATTERNS]


def test_all_forty_three_are_there() -> None:
    assert [pattern.number for pattern in PATTERNS] == list(range(1, 44))


@pytest.mark.parametrize("pattern", PATTERNS, ids=NAMES)
def test_pattern_plays_exactly(pattern: Pattern) -> None:
    for acts in pattern.plays:
        Played(pattern.template).play(acts)


@pytest.mark.parametrize("pattern", PATTERNS, ids=NAMES)
def test_neighbours_of_a_pattern_are_told_apart(pattern: Pattern) -> None:
    assert pattern.mutants
    for mutant in pattern.mutants:
        template = mutated(pattern, mutant)
        assert not all(_plays(template, acts) for acts in pattern.plays), mutant


def _plays(template: str, acts: list[dict[str, object]]) -> bool:
    try:
        Played(template).play(acts)
    except AssertionError:
        return False
    return True
