"""Warn of tasks that nobody could do while people are away, at the line of their step."""

from collections.abc import Iterator
from uuid import UUID

from engine.kernel.definition import compile_definition
from engine.kernel.findings import ERROR, WARNING, Finding
from engine.kernel.language.normalizer import Normalized
from engine.kernel.language.source_positions import step_places
from engine.services.people.absences import warn_about_definition


def tasks_without_people(tenant_id: UUID, source: str, checked: Normalized) -> Iterator[Finding]:
    """Find them in a document without errors; those that an expression gives to people are not known ahead."""
    if checked.canonical is None or any(one.severity == ERROR for one in checked.findings):
        return
    title = str(checked.canonical.get("title") or "")
    notices = warn_about_definition(tenant_id, compile_definition(checked.canonical), checked.name or "", title)
    places = step_places(source) if notices else {}
    for notice in notices:
        step = str(notice.facts["step"])
        if step in places:
            yield Finding(notice.code, WARNING, notice.message, places[step].line, 1, f"steps/{step}")
