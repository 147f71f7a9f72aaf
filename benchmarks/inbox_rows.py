"""Fill a database with tasks by COPY: tenants, people with roles, open and finished tasks, and to whom the open ones are offered.

Every row is a copy of one that a real start wrote, with its own ids, titles, times and people; triggers and constraints are left
aside while loading, indexes are not.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import zip_longest
from random import Random
from typing import Any
from uuid import UUID

import psycopg
from django.db import connection

from engine.kernel.effects import PRIORITIES
from engine.models import Task
from engine.models.base import NEVER
from engine.services.instances.lifecycle import start_instance
from engine.services.people.accounts import create_person
from engine.services.people.tenants_and_roles import create_tenant
from engine.services.templates.versions import activate_version, save_draft
from workflowplatform.accounts.actor import Actor, actor_of
from workflowplatform.accounts.models import Absence, Membership, Role, User
from workflowplatform.ids import uuid7

TENANTS, PEOPLE_A_TENANT = 50, 10
ROLES = ("finance", "support", "management", "engineering", "accounting")
ROLES_A_PERSON = 2
OPEN_SHARE, CLAIMED_SHARE, TASKS_A_CASE = 0.2, 0.2, 5
WEIGHTS = (0.15, 0.6, 0.2, 0.05)
"""How often low, normal, high and critical occur."""
CHUNK = 5_000
CHANCE = Random(7)  # noqa: S311  the same rows every time

SOURCE = """
workflow: review
title: Expense review
starters: {min_level: 2}
input: {type: object, properties: {what: {type: string}, amount: {type: number}}}
reference: {key: "${'EXP-' + start.what}"}
steps:
  - id: review
    task:
      title: "Review ${start.what}"
      instructions: Look at the receipts and compare them with the rules.
      roles: [finance]
      outcomes: {approve: {title: Approve}, reject: {title: Reject, reject: true}}
      not_same_as: [start]
      payload: {amount: "${start.amount}", what: "${start.what}"}
      columns: {amount: "${money(start.amount, 'EUR')}"}
      form: {type: object, properties: {note: {type: string, title: Note}, granted: {type: number, title: Granted}}}
"""


@dataclass(frozen=True, slots=True)
class Crowd:
    """One tenant: its people as actors, its roles by name, and the rows that its tasks are copies of."""

    tenant_id: UUID
    people: list[Actor]
    roles: dict[str, UUID]
    model: Task = field(repr=False)


def gather(tenants: int = TENANTS) -> list[Crowd]:
    """Create tenants with people and roles through the services, and start one case in each."""
    return [_crowd(number) for number in range(tenants)]


def _crowd(number: int) -> Crowd:
    tenant = create_tenant(actor=None, name=f"house-{number}", title=f"House {number}")
    author = actor_of(create_person(actor=None, tenant=tenant, name=f"author-{number}", level=5))
    roles = {name: Role.objects.get_or_create(tenant=tenant, name=name)[0].pk for name in ROLES}
    version = save_draft(actor=author, source=SOURCE)
    activate_version(actor=author, name=version.template.name, number=version.number)
    people = [User(tenant=tenant, username=f"clerk-{number}-{one}", level=4) for one in range(PEOPLE_A_TENANT)]
    User.objects.bulk_create(people)
    held = [
        Membership(tenant=tenant, user=person, role_id=roles[name])
        for person in people
        for name in CHANCE.sample(ROLES, ROLES_A_PERSON)
    ]
    Membership.objects.bulk_create(held)
    started = start_instance(actor=author, template="review", input={"what": "trip", "amount": 120})
    return Crowd(tenant.pk, [actor_of(person) for person in people], roles, started.tasks[0])


def send_away(crowds: Sequence[Crowd], share: float) -> None:
    """Let a share of the people be away today; a colleague of each stands in for them."""
    now = datetime.now(UTC)
    everybody = [(crowd, number) for crowd in crowds for number in range(len(crowd.people))]
    Absence.objects.bulk_create(
        Absence(
            tenant_id=crowd.tenant_id,
            person_id=crowd.people[number].person_id,
            deputy_id=crowd.people[number - 1].person_id,
            starts_at=now - timedelta(days=1),
            ends_at=now + timedelta(days=9),
            entered_by=crowd.people[number].name,
        )
        for crowd, number in CHANCE.sample(everybody, round(len(everybody) * share))
    )


def load(crowds: Sequence[Crowd], count: int) -> None:
    """Write so many tasks, their cases and their offers, tenants in turn as they would come, and let the planner know."""
    plans = [_plan(crowd, count // len(crowds)) for crowd in crowds]
    with owner() as own:
        own.execute("SET session_replication_role = replica")
        _copy(own, "wf_instances", _in_turn([_cases(own, plan) for plan in plans]))
        _copy(own, "wf_tasks", _in_turn([_tasks(own, plan) for plan in plans]))
        columns = "(tenant_id, task_id, principal, rank, due_at)"
        _copy(own, "wf_task_candidates", _in_turn([_offers(plan) for plan in plans]), columns)
        own.execute("SET session_replication_role = DEFAULT")
        own.execute("VACUUM ANALYZE")


def _in_turn(ways: Sequence[Iterator[str]]) -> Iterator[str]:
    return (row for rows in zip_longest(*ways, fillvalue="") for row in rows)


@dataclass(frozen=True, slots=True)
class Planned:
    """One task to be written."""

    id: UUID
    case: UUID
    status: str
    roles: tuple[str, ...]
    person: Actor
    priority: int
    due_at: str | None
    at: str


@dataclass(frozen=True, slots=True)
class Plan:
    """All tasks of one tenant."""

    crowd: Crowd
    tasks: list[Planned]


def _plan(crowd: Crowd, count: int) -> Plan:
    cases = [uuid7() for _ in range(max(1, count // TASKS_A_CASE))]
    return Plan(crowd, [_planned(crowd, CHANCE.choice(cases)) for _ in range(count)])


def _planned(crowd: Crowd, case: UUID) -> Planned:
    status = "completed"
    if CHANCE.random() < OPEN_SHARE:
        status = "claimed" if CHANCE.random() < CLAIMED_SHARE else "open"
    now = datetime.now(UTC)
    due_at = None if CHANCE.random() < 0.2 else now + timedelta(minutes=CHANCE.randint(-60 * 24, 60 * 24 * 14))
    return Planned(
        uuid7(),
        case,
        status,
        tuple(CHANCE.sample(ROLES, CHANCE.choice((1, 1, 2)))),
        CHANCE.choice(crowd.people),
        CHANCE.choices(range(len(PRIORITIES)), WEIGHTS)[0],
        due_at.isoformat() if due_at else None,
        (now - timedelta(minutes=CHANCE.randint(0, 60 * 24 * 90))).isoformat(),
    )


def _cases(own: psycopg.Connection[Any], plan: Plan) -> Iterator[str]:
    model = plan.crowd.model.instance_id
    (row,) = _written(own, "wf_instances", "id", model)
    return (row.replace(str(model), str(case)) for case in dict.fromkeys(task.case for task in plan.tasks))


def _tasks(own: psycopg.Connection[Any], plan: Plan) -> Iterator[str]:
    (row,) = _written(own, "wf_tasks", "id", plan.crowd.model.pk)
    cells, places = row.rstrip("\n").split("\t"), _places(own, "wf_tasks")
    return (_line(cells, places, task, number) for number, task in enumerate(plan.tasks))


def _line(cells: list[str], places: dict[str, int], task: Planned, number: int) -> str:
    for name, text in _cells(task, number).items():
        cells[places[name]] = "\\N" if text is None else text
    return "\t".join(cells) + "\n"


def _cells(task: Planned, number: int) -> dict[str, str | None]:
    done, held = task.status == "completed", task.status != "open"
    person = str(task.person.person_id)
    return {
        "id": str(task.id),
        "instance_id": str(task.case),
        "token": str(number),
        "status": task.status,
        "title": f"Review trip {number}",
        "business_reference": f"EXP-{number}",
        "effective_roles": "[" + ", ".join(f'"{name}"' for name in task.roles) + "]",
        "assignee_id": person if held else None,
        "priority": str(task.priority),
        "due_at": task.due_at,
        "created_at": task.at,
        "claimed_at": task.at if held else None,
        "completed_at": task.at if done else None,
        "completed_by_id": person if done else None,
        "completed_by_name": task.person.name if done else "",
        "outcome": "approve" if done else None,
        "answer": "{}" if done else None,
    }


def _offers(plan: Plan) -> Iterator[str]:
    """Offer every task that is not over to its roles."""
    crowd = plan.crowd
    for task in plan.tasks:
        if task.status != "completed":
            rank, due_at = len(PRIORITIES) - task.priority, task.due_at or NEVER.isoformat()
            for role in task.roles:
                yield f"{crowd.tenant_id}\t{task.id}\t{crowd.roles[role]}\t{rank}\t{due_at}\n"


def _written(own: psycopg.Connection[Any], table: str, column: str, value: UUID) -> list[str]:
    """Read rows as COPY writes them."""
    with (
        own.cursor() as cursor,
        cursor.copy(f"COPY (SELECT * FROM {table} WHERE {column} = '{value}') TO STDOUT") as out,
    ):
        return b"".join(bytes(piece) for piece in out).decode().splitlines(keepends=True)


def _places(own: psycopg.Connection[Any], table: str) -> dict[str, int]:
    found = own.execute(
        "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
        [table],
    )
    return {name: place for place, (name,) in enumerate(found)}


def _copy(own: psycopg.Connection[Any], table: str, rows: Iterator[str], columns: str = "") -> None:
    with own.cursor() as cursor, cursor.copy(f"COPY {table} {columns} FROM STDIN") as into:
        piece: list[str] = []
        for row in rows:
            piece.append(row)
            if len(piece) == CHUNK:
                into.write("".join(piece))
                piece.clear()
        into.write("".join(piece))


@contextmanager
def owner(database: str | None = None) -> Iterator[psycopg.Connection[Any]]:
    """Connect as the server's owner, who may leave triggers aside while loading."""
    known = connection.settings_dict
    with psycopg.connect(host=known["HOST"], user="postgres", dbname=database or known["NAME"], autocommit=True) as own:
        yield own
