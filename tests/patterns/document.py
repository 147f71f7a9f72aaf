"""Write docs/patterns.md from the patterns as they were played: `python -m tests.patterns.document`."""

import re
from pathlib import Path

from tests.patterns.book import Pattern, Played, read_book

PAGE = Path(__file__).parents[2] / "docs" / "patterns.md"
HEAD = """# Control-flow patterns

Generated from tests/patterns (`python -m tests.patterns.document`): each pattern is a template that was played, act by
act, with exactly these waits open after each act. In the trace a step is listed where it ended: ✗ cancelled, ∅ skipped,
! failed. Each pattern also has neighbours, templates that differ in one word, which the same plays tell apart.

**{count} of 43 pass.**

| # | pattern | plays | neighbours told apart |
|---|---|---|---|
{rows}
"""


def written() -> str:
    """Play everything and write the page."""
    patterns = read_book()
    parts = [_section(pattern) for pattern in patterns]
    rows = [
        f"| {one.number} | [{one.name}](#{_anchor(one)}) | {len(one.plays)} | {len(one.mutants)} |" for one in patterns
    ]
    return HEAD.format(count=len(patterns), rows="\n".join(rows)) + "\n".join(parts)


def _anchor(pattern: Pattern) -> str:
    """Make the anchor of a heading as GitHub and the site do."""
    return re.sub(r"[^\w\- ]", "", f"{pattern.number}. {pattern.name}".lower()).replace(" ", "-")


def _section(pattern: Pattern) -> str:
    lines = [f"## {pattern.number}. {pattern.name}", "", "```yaml"]
    lines += [pattern.template.rstrip(), "```", ""]
    for acts in pattern.plays:
        played = Played(pattern.template)
        played.play(acts)
        lines += [f"- {'; '.join(played.log)}", f"  Trace: `{played.trace()}`"]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    PAGE.write_text(written())
