"""The load of a team: what each person has, what waits in each queue, and what came in and went out on each day.

Everything is counted from the tasks themselves by a fixed number of queries: the open ones by the index of open tasks, those of
the last days by their ids, which begin with the time, and by the people who answered them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import cached_property
from typing import Any
from uuid import UUID

from django.db.models import Count, Min, Q, QuerySet
from django.db.models.functions import TruncDate
from django.utils import timezone

from engine import access
from engine.audit.chain import database_now
from engine.models import Task, TaskCandidate
from engine.services.people.staffing import tasks_in_force
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import Absence, Kind, Role, User
from workflowplatform.ids import first_id_at

DAYS = 14
STEADY = 0.1
"""How much more or less may come in than goes out before a queue grows or shrinks."""
Daily = Counter[tuple[str, date]]


@dataclass(frozen=True, slots=True)
class PersonLoad:
    """What a person has: how many tasks, how many of them late, since when the oldest waits, and how many done this week."""

    person: User
    open: int = 0
    late: int = 0
    oldest: datetime | None = None
    done: int = 0
    away: Absence | None = None


@dataclass(frozen=True, slots=True)
class Day:
    """How many tasks came into a queue on a day, and how many of it were answered."""

    on: date
    came: int
    done: int


@dataclass(frozen=True, slots=True)
class QueueLoad:
    """What waits for the people of a role."""

    role: Role
    waiting: int
    late: int
    oldest: datetime | None
    days: tuple[Day, ...]

    @property
    def came(self) -> int:
        return sum(day.came for day in self.days)

    @property
    def done(self) -> int:
        return sum(day.done for day in self.days)

    @property
    def trend(self) -> str:
        """Return whether it grows, shrinks or does neither."""
        if abs(self.came - self.done) <= STEADY * max(self.came, self.done):
            return "steady"
        return "growing" if self.came > self.done else "shrinking"


@dataclass(frozen=True, slots=True)
class TeamLoad:
    """A team as its lead sees it: the roles to choose from, the chosen one, its people by load, and its queues."""

    roles: tuple[Role, ...]
    chosen: Role | None
    people: tuple[PersonLoad, ...]
    queues: tuple[QueueLoad, ...]
    now: datetime
    limit: int | None = None
    """How many tasks one person of the team may hold, where the author of each of its tasks says so."""

    @property
    def open(self) -> int:
        return sum(each.open for each in self.people)

    @property
    def late(self) -> int:
        return sum(each.late for each in self.people)

    @property
    def most(self) -> int:
        return max((each.open for each in self.people), default=0)


def team_load(*, actor: Actor, role: str = "") -> TeamLoad:
    """Count the load of a team that the actor leads, or of all of them; the same queries, however many people and tasks."""
    access.require_team(actor)
    roles = tuple(access.roles_led(actor))
    chosen = next((one for one in roles if one.name == role), None)
    return _Counting(actor, roles, chosen, database_now()).load()


@dataclass(frozen=True)
class _Counting:
    """What the counts of one page have in common."""

    actor: Actor
    roles: tuple[Role, ...]
    chosen: Role | None
    now: datetime

    def load(self) -> TeamLoad:
        held = self._held()
        people = {person.pk: person for person in self._people(held)}
        done = list(self._done(people))
        week = self._this_week(done)
        away = {row.person_id: row for row in access.absences_now(self.actor, people)}
        loads = [
            replace(held.get(pk, PersonLoad(person)), person=person, done=week[pk], away=away.get(pk))
            for pk, person in people.items()
        ]
        loads.sort(key=lambda each: (-each.open, each.person.display_name.casefold()))
        return TeamLoad(self.roles, self.chosen, tuple(loads), tuple(self._queues(done)), self.now, self._limit())

    @cached_property
    def team(self) -> tuple[Role, ...]:
        """The roles that count: the chosen one, else all."""
        return (self.chosen,) if self.chosen else self.roles

    @cached_property
    def since(self) -> datetime:
        """The first midnight of the days shown, where the reader is."""
        first = timezone.localtime(self.now).date() - timedelta(days=DAYS - 1)
        return timezone.make_aware(datetime.combine(first, datetime.min.time()))

    @cached_property
    def is_everything(self) -> bool:
        """Whether all tasks of the tenant count, also those that no role is asked for."""
        return self.chosen is None and access.sees_tenant(self.actor)

    def _limit(self) -> int | None:
        names = {role.name for role in self.team}
        asked = [task.limit for task in tasks_in_force(self.actor.tenant_id) if not names.isdisjoint(task.roles)]
        limits = [limit for limit in asked if limit is not None]
        return sum(limits) if limits and len(limits) == len(asked) else None

    def _held(self) -> dict[UUID, PersonLoad]:
        """Count the open tasks of each person who has some."""
        tasks = access.team_tasks(self.actor, self.chosen).filter(assignee__isnull=False).order_by()
        rows = tasks.values("assignee_id").annotate(
            n=Count("pk"), late=Count("pk", filter=Q(due_at__lt=self.now)), oldest=Min("created_at")
        )
        nobody = User()
        return {row["assignee_id"]: PersonLoad(nobody, row["n"], row["late"], row["oldest"]) for row in rows}

    def _people(self, held: Iterable[UUID]) -> QuerySet[User]:
        """Read the people of the team, and others who have a task of it."""
        team = access.team_people(self.actor, [role.pk for role in self.team]).filter(kind=Kind.PERSON)
        people = User.objects.filter(Q(pk__in=team.values("pk")) | Q(pk__in=list(held)), tenant_id=self.actor.tenant_id)
        return people.only("username", "full_name")

    def _done(self, people: Mapping[UUID, User]) -> Iterable[Mapping[str, Any]]:
        """Count what these people answered on each day, by the roles that were asked."""
        tasks = Task.objects.filter(
            tenant_id=self.actor.tenant_id, completed_by_id__in=list(people), completed_at__gte=self.since
        )
        rows = self._of_team(tasks).annotate(on=TruncDate("completed_at"))
        return rows.values("completed_by_id", "on", "effective_roles").annotate(n=Count("pk"))

    def _of_team(self, tasks: QuerySet[Task]) -> QuerySet[Task]:
        """Keep tasks that were offered to the team, open or not."""
        tasks = tasks.order_by()
        if self.is_everything:
            return tasks
        if not access.sees_tenant(self.actor):
            tasks = tasks.filter(min_level__lte=self.actor.level)
        return tasks.filter(effective_roles__has_any_keys=[role.name for role in self.team])

    def _this_week(self, done: Iterable[Mapping[str, Any]]) -> Counter[UUID]:
        today = timezone.localtime(self.now).date()
        monday = today - timedelta(days=today.weekday())
        found: Counter[UUID] = Counter()
        for row in done:
            found[row["completed_by_id"]] += row["n"] if row["on"] >= monday else 0
        return found

    def _queues(self, done: Iterable[Mapping[str, Any]]) -> Iterable[QueueLoad]:
        """Yield the queues of the team, the longest first."""
        waiting, came, went = self._waiting(), _daily(self._came()), _daily(done)
        days = [self.since.date() + timedelta(days=number) for number in range(DAYS)]
        queues = [
            QueueLoad(
                role,
                *waiting.get(role.pk, (0, 0, None)),
                tuple(Day(on, came[role.name, on], went[role.name, on]) for on in days),
            )
            for role in self.team
        ]
        return sorted(queues, key=lambda queue: (-queue.waiting, -queue.came, queue.role.name))

    def _waiting(self) -> dict[UUID, tuple[int, int, datetime | None]]:
        """Count what is offered to each role and has nobody yet."""
        offers = TaskCandidate.objects.filter(principal__in=[role.pk for role in self.team])
        offers = offers.filter(task__status="open", task__assignee__isnull=True).order_by()
        if not access.sees_tenant(self.actor):
            offers = offers.filter(task__min_level__lte=self.actor.level)
        rows = offers.values("principal").annotate(
            n=Count("task_id"), late=Count("task_id", filter=Q(due_at__lt=self.now)), oldest=Min("task__created_at")
        )
        return {row["principal"]: (row["n"], row["late"], row["oldest"]) for row in rows}

    def _came(self) -> Iterable[Mapping[str, Any]]:
        """Count the tasks that opened on each day, by the roles that were asked."""
        tasks = Task.objects.filter(
            tenant_id=self.actor.tenant_id, pk__gte=first_id_at(self.since), created_at__gte=self.since
        )
        rows = self._of_team(tasks).annotate(on=TruncDate("created_at"))
        return rows.values("on", "effective_roles").annotate(n=Count("pk"))


def _daily(rows: Iterable[Mapping[str, Any]]) -> Daily:
    """Sum counts by role and day; a task for several roles counts for each."""
    found: Daily = Counter()
    for row in rows:
        for role in row["effective_roles"]:
            found[role, row["on"]] += row["n"]
    return found
