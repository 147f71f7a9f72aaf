"""Write docs/patterns.md from the patterns as they were played: `python -m tests.patterns.document`.

The control-flow patterns are played here. The resource patterns are played by tests/services/test_resource_patterns.py, which
fails where anything is other than the book says; so the page may say it as the book does.
"""

import re
from pathlib import Path

from tests.patterns.book import Pattern, Played, read_book
from tests.patterns.resources import PEOPLE, ResourcePattern, read_resources

PAGE = Path(__file__).parents[2] / "docs" / "patterns.md"
HEAD = """# Workflow patterns

Generated from tests/patterns (`python -m tests.patterns.document`). First come the two lists by which workflow systems are
compared, each pattern with a template and with what was played: [control flow](#control-flow), [resources](#resources). Some
[business patterns](#business-patterns) follow.

## Control flow
Each pattern is a template that was played, act by act, with exactly these waits open after each act. In the trace a step
is listed where it ended: ✗ cancelled, ∅ skipped, ! failed. Each pattern also has neighbours, templates that differ in one word,
which the same plays tell apart.

**{count} of 43 pass.**

| # | pattern | plays | neighbours told apart |
|---|---|---|---|
{rows}
"""
RESOURCES = """
## Resources
Who gets a task, and what people may do with it. Each pattern was played through the services, act by act: `act → what is there
then`. `check for ann or bob` is offered to the two, `assigned to` binds it, `claimed by` says that the person has begun.
`check#2` is the task of a second case. The people: {people}.

**{count} of 43 pass.**

| # | group | pattern | passes |
|---|---|---|---|
{rows}

{sections}
## Business patterns
Written with the same language, played in the same way.

{business}"""


def written() -> str:
    """Play everything and write the page."""
    patterns = read_book()
    parts = [_section(pattern) for pattern in patterns]
    rows = [
        f"| {one.number} | [{one.name}](#{_anchor(one)}) | {len(one.plays)} | {len(one.mutants)} |" for one in patterns
    ]
    head = HEAD.format(count=len(patterns), rows="\n".join(rows))
    return head + "\n".join(parts) + _resources(read_resources())


def _resources(patterns: list[ResourcePattern]) -> str:
    numbered = [one for one in patterns if one.number]
    rows = [
        f"| R{one.number} | {one.group} | [{one.name}](#{_anchor_of(one.title)}) | {'yes' if one.plays else 'no'} |"
        for one in numbered
    ]
    return RESOURCES.format(
        people="; ".join(map(_person, PEOPLE)),
        count=sum(bool(one.plays) for one in numbered),
        rows="\n".join(rows),
        sections="\n".join(map(_resource_section, numbered)),
        business="\n".join(_resource_section(one) for one in patterns if not one.number),
    )


def _person(name: str) -> str:
    person = PEOPLE[name]
    roles = f", {' and '.join(sorted(person.roles))}" if person.roles else ""
    lead = f", led by {person.manager}" if person.manager else ""
    return f"{name} (level {person.level}{roles}{lead})"


def _resource_section(pattern: ResourcePattern) -> str:
    head = [f"### {pattern.title}", pattern.means, ""]
    if not pattern.plays:
        return "\n".join([*head, f"Not supported. {pattern.reason}", ""])
    lines = ["```yaml", pattern.template.rstrip(), "```", ""]
    plays = [f"- {'; '.join(f'{line.act} → {line.then}' for line in play)}" for play in pattern.plays]
    return "\n".join([*head, *lines, *plays, ""])


def _anchor(pattern: Pattern) -> str:
    """Make the anchor of a heading as GitHub and the site do."""
    return _anchor_of(f"{pattern.number}. {pattern.name}")


def _anchor_of(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _section(pattern: Pattern) -> str:
    lines = [f"### {pattern.number}. {pattern.name}", "", "```yaml"]
    lines += [pattern.template.rstrip(), "```", ""]
    for acts in pattern.plays:
        played = Played(pattern.template)
        played.play(acts)
        lines += [f"- {'; '.join(played.log)}", f"  Trace: `{played.trace()}`"]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    PAGE.write_text(written())
