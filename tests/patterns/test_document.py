"""The table of patterns in the documentation is what the tests really did."""

from pathlib import Path

from tests.patterns.document import written

PAGE = Path(__file__).parents[2] / "docs" / "patterns.md"


def test_page_is_what_the_patterns_did() -> None:
    assert PAGE.read_text() == written(), "run: python -m tests.patterns.document"
