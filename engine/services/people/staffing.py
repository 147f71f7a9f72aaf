"""Find tasks that nobody could do while people are away: template × people × absences.

Only what an author wrote as fixed names is known ahead: roles and people that an expression computes are left out. A deputy who
is here takes the absent person's place where a task is for named people; roles count those who hold them and are here.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any
from uuid import UUID

from engine.kernel.program import Definition, Step
from engine.models import TemplateVersion
from engine.runtime.definition_cache import definition_of
from workflowplatform.accounts.models import Absence, Kind, User

AT_LEAST = re.compile(r"\b(?:done|total)\s*(?:-\s*failed\s*)?>=\s*(\d+)")
DEFAULT_LEVEL = 4
MOST_GAPS = 20
MOST_VERSIONS = 500


@dataclass(frozen=True, slots=True)
class Asked:
    """A task as its author wrote it: for whom, how many of them, and who must be someone else."""

    template: str
    template_title: str
    step: str
    title: str
    roles: tuple[str, ...]
    names: tuple[str, ...]
    min_level: int
    needs: int
    others: tuple[str, ...]
    """The steps whose people may not do it."""
    limit: int | None = None
    """How many of it one person may hold."""

    @property
    def key(self) -> tuple[str, str]:
        return self.template, self.step


@dataclass(frozen=True, slots=True)
class Gap:
    """A task that cannot be done in a time, and who would be there for it."""

    task: Asked
    starts_at: datetime
    ends_at: datetime
    people: tuple[str, ...]
    """Everybody who may do it, away or not."""
    here: tuple[str, ...]
    needs: int


class Staff:
    """The people of a tenant, their roles, and when they are away."""

    def __init__(self, people: Mapping[UUID, User], absences: Sequence[Absence]) -> None:
        self.people = people
        self.absences = absences

    @classmethod
    def of(cls, tenant_id: UUID, absences: Sequence[Absence]) -> "Staff":
        people = User.objects.filter(tenant_id=tenant_id, is_active=True, kind=Kind.PERSON)
        return cls({person.pk: person for person in people.prefetch_related("roles")}, absences)

    @cached_property
    def roles(self) -> Mapping[UUID, frozenset[str]]:
        return {key: frozenset(role.name for role in person.roles.all()) for key, person in self.people.items()}

    def pool(self, task: Asked) -> set[UUID]:
        """Return everybody who may do a task, away or not."""
        open_to_all = not (task.roles or task.names)
        return {
            key
            for key, person in self.people.items()
            if person.level >= task.min_level
            and (open_to_all or person.username in task.names or not self.roles[key].isdisjoint(task.roles))
        }

    def here(self, task: Asked, moment: datetime) -> set[UUID]:
        """Return who can do a task at a moment: those who are not away, and deputies of named people who are."""
        away = {one.person_id for one in self.absences if one.starts_at <= moment < one.ends_at}
        pool = self.pool(task)
        if task.names and not task.roles:
            pool |= {key for key in self._deputies(pool & away, task, moment) if self._level(key) >= task.min_level}
        return pool - away

    def _level(self, key: UUID) -> int:
        return self.people[key].level if key in self.people else 0

    def _deputies(self, absent: set[UUID], task: Asked, moment: datetime) -> set[UUID]:
        """Follow the chains of deputies from absent people."""
        seen, waiting = set(absent), list(absent)
        while waiting:
            person = waiting.pop()
            for one in self.absences:
                fits = not one.templates or task.template in one.templates
                away = one.person_id == person and one.starts_at <= moment < one.ends_at
                if away and fits and one.deputy_id and one.deputy_id not in seen:
                    seen.add(one.deputy_id)
                    waiting.append(one.deputy_id)
        return seen - absent


class Outlook:
    """What an absence, entered or only intended, means for the tasks of the active templates."""

    def __init__(self, absence: Absence) -> None:
        self.absence = absence
        self.staff = Staff.of(absence.tenant_id, [*_others(absence), absence])
        self.tasks = list(tasks_in_force(absence.tenant_id))
        self.known = {task.key: task for task in self.tasks}

    @cached_property
    def concerned(self) -> list[Asked]:
        """Return the tasks that the absent person may do."""
        return [task for task in self.tasks if self.absence.person_id in self.staff.pool(task)]

    @cached_property
    def gaps(self) -> list[Gap]:
        """Return the tasks that nobody could do at some time of the absence, and who is missing because of it."""
        return _gaps(self.staff, self.concerned, self.known, self.absence.starts_at, self.absence.ends_at)

    def is_closed_by(self, gap: Gap, deputy: UUID) -> bool:
        """Return whether enough people are here for a task when another person stands in."""
        others = [one for one in self.staff.absences if one is not self.absence]
        instead = copy(self.absence)
        instead.deputy_id = deputy
        staff = Staff(self.staff.people, [*others, instead])
        return _gap(staff, gap.task, self.known, self.absence.starts_at, self.absence.ends_at) is None

    def too_few(self, task: Asked, moment: datetime) -> bool:
        """Return whether too few people are here for a task at a moment."""
        return _too_few(self.staff, task, self.known, moment) is not None


def tasks_in_force(tenant_id: UUID) -> Iterator[Asked]:
    """Yield the tasks of a tenant's active templates whose people are written as fixed names."""
    versions = TemplateVersion.objects.in_force().filter(tenant_id=tenant_id).select_related("template")
    for version in versions[:MOST_VERSIONS]:
        yield from tasks_of(definition_of(version.pk), version.template.name, version.template.title)


def gaps_of_definition(tenant_id: UUID, definition: Definition, name: str, title: str, now: datetime) -> list[Gap]:
    """Return the tasks of a workflow that nobody could do at some time until the last absence ends."""
    absences = list(Absence.objects.filter(tenant_id=tenant_id, ends_at__gt=now))
    until = max((one.ends_at for one in absences), default=None)
    if until is None:
        return []
    tasks = list(tasks_of(definition, name, title))
    known = {task.key: task for task in tasks}
    return _gaps(Staff.of(tenant_id, absences), tasks, known, now, until)


def _others(absence: Absence) -> list[Absence]:
    """Return the other absences of its time: what is entered of it already is told by the absence itself."""
    rows = Absence.objects.filter(tenant_id=absence.tenant_id, starts_at__lt=absence.ends_at)
    return list(rows.filter(ends_at__gt=absence.starts_at).exclude(pk=absence.pk))


def _gaps(
    staff: Staff,
    concerned: Iterable[Asked],
    known: Mapping[tuple[str, str], Asked],
    starts_at: datetime,
    ends_at: datetime,
) -> list[Gap]:
    found = [gap for task in concerned if (gap := _gap(staff, task, known, starts_at, ends_at)) is not None]
    return found[:MOST_GAPS]


def _gap(
    staff: Staff, task: Asked, known: Mapping[tuple[str, str], Asked], starts_at: datetime, ends_at: datetime
) -> Gap | None:
    """Check every part of a time in which nothing changes; join the parts in which too few are here."""
    moments = [starts_at, *(at for one in staff.absences for at in (one.starts_at, one.ends_at))]
    moments = sorted({at for at in moments if starts_at <= at < ends_at})
    parts = [
        (at, after, _too_few(staff, task, known, at))
        for at, after in zip(moments, [*moments[1:], ends_at], strict=True)
    ]
    bad = [(at, after, here) for at, after, here in parts if here is not None]
    if not bad:
        return None
    here = min((one[2] for one in bad), key=len)
    names = sorted(staff.people[key].display_name for key in staff.pool(task))
    shown = sorted(staff.people[key].display_name for key in here)
    return Gap(task, bad[0][0], bad[-1][1], tuple(names), tuple(shown), task.needs)


def _too_few(staff: Staff, task: Asked, known: Mapping[tuple[str, str], Asked], moment: datetime) -> set[UUID] | None:
    """Return who is here where that is too few; None where it is enough. Someone who alone could do another step is used up."""
    here = staff.here(task, moment)
    alone = [staff.here(known[task.template, step], moment) for step in task.others if (task.template, step) in known]
    used = set().union(*(people for people in alone if len(people) == 1)) if alone else set()
    return here if len(here - used) < task.needs else None


def tasks_of(definition: Definition, name: str, title: str) -> Iterator[Asked]:
    """Return the tasks of a workflow whose people are written as fixed names."""
    for step in definition.steps.values():
        if step.kind == "task":
            task = _asked(definition, step, name, title or name)
            if task is not None:
                yield task


def _asked(definition: Definition, step: Step, name: str, template_title: str) -> Asked | None:
    raw = step.raw.get("task") or {}
    people = {key: _fixed(raw.get(key)) for key in ("roles", "users", "assignee")}
    if any(found is None for found in people.values()):
        return None
    names = tuple(people["assignee"] or people["users"] or ())
    roles = () if people["assignee"] else tuple(people["roles"] or ())
    title = raw.get("title") or step.raw.get("title")
    plain = isinstance(title, str) and "${" not in title
    return Asked(
        template=name,
        template_title=template_title,
        step=step.id,
        title=str(title) if plain else step.id.replace("_", " ").capitalize(),
        roles=roles,
        names=names,
        min_level=raw.get("min_level", DEFAULT_LEVEL),
        needs=_needed(raw.get("complete_when")),
        others=tuple(definition.four_eyes.get(step.id, ())),
        limit=raw.get("wip_limit"),
    )


def _fixed(value: Any) -> list[str] | None:
    """Return names that are written out; None where an expression computes them."""
    listed = value if isinstance(value, list) else [] if value is None else [value]
    fixed = all(isinstance(one, str) and "${" not in one for one in listed)
    return [str(one) for one in listed] if fixed else None


def _needed(condition: Any) -> int:
    """Read how many people a condition asks for, where it says so plainly."""
    numbers = [int(number) for number in AT_LEAST.findall(str(condition or ""))]
    return max(numbers, default=1)
