"""Find what is to be told: follow the audit, as webhooks do, and look at due dates. Nothing is added to what people wait for.

Each tenant has a cursor into the audit, below the oldest transaction that still runs; it moves in the transaction that writes the
messages. What an act meant is read from the task as it is now: a task that was taken meanwhile is nobody's news.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

import structlog
from django.db import connection

from engine.audit.chain import database_now
from engine.audit.cursor import Position, read_on, unread_sql
from engine.db.transactions import in_one_transaction
from engine.kernel.transitions import OPEN_TASK, TaskStatus
from engine.models import Audit, Instance, NotificationCursor, Task, TaskCandidate
from engine.models.task import TaskQuerySet
from engine.services.notifications.notify import News, notify_people, notify_roles
from workflowplatform.accounts.models import Absence, Membership, Role, User

log = structlog.get_logger(__name__)

ACTS_A_PASS = 500
DUE_SOON = timedelta(hours=4)
LOOK_AT_DUE_DATES = timedelta(minutes=1)
LOOKED_AT_AGAIN = timedelta(minutes=2)
"""A due date is seen only when its task's transaction is over, so the last minutes are looked at again; each is told once."""
OFFERS_A_PASS = 4
"""How many offers of one pass a person or a chat hears of one by one: more become one message anyway."""

ABOUT_TASKS = ("task_created", "task_assigned", "task_reassigned", "task_escalated", "task_released")
ENDS = ("complete_workflow", "cancel_workflow")
ANSWERED = "task_completed"
TOLD = (*ABOUT_TASKS, *ENDS, ANSWERED)

SOMETHING = f"""
SELECT n.id FROM wf_tenants n LEFT JOIN wf_notification_cursors c ON c.tenant_id = n.id
WHERE c.id IS NULL OR c.due_until IS NULL OR c.due_until < (SELECT clock_timestamp()) - make_interval(secs => %s)
   OR EXISTS (SELECT FROM wf_audit_acts a WHERE a.tenant_id = c.tenant_id
              AND {unread_sql("a", xid="c.after_xid", number="c.after_id")})
"""


def tenants_with_news() -> list[UUID]:
    """Return the tenants whose audit or due dates were not looked at lately."""
    with connection.cursor() as cursor:
        cursor.execute(SOMETHING, [LOOK_AT_DUE_DATES.total_seconds()])
        return [row[0] for row in cursor.fetchall()]


def collect_news(tenants: Iterable[UUID] | None = None) -> int:
    """Write down everything that is to be told by now; return how many messages that makes."""
    left, found = list(tenants_with_news() if tenants is None else tenants), 0
    while left:
        passed = [(tenant_id, _collect_safely(tenant_id)) for tenant_id in left]
        found += sum(count for _, (count, _) in passed)
        left = [tenant_id for tenant_id, (_, more) in passed if more]
    return found


def _collect_safely(tenant_id: UUID) -> tuple[int, bool]:
    """Collect for one tenant; what breaks there is logged and tried at the next look, and stops nobody else's news."""
    try:
        return _collect_for(tenant_id)
    except Exception:
        log.exception("a tenant's news could not be collected", tenant=str(tenant_id))
        return 0, False


@in_one_transaction
def _collect_for(tenant_id: UUID) -> tuple[int, bool]:
    """Advance one tenant's cursor by one stretch; return whether there is more. A second worker skips it."""
    NotificationCursor.objects.bulk_create([NotificationCursor(tenant_id=tenant_id)], ignore_conflicts=True)
    locked = NotificationCursor.objects.select_for_update(no_key=True, skip_locked=True)
    place = locked.filter(tenant_id=tenant_id).first()
    if place is None:
        return 0, False
    now = database_now()
    acts = Audit.objects.filter(tenant_id=tenant_id, action__in=TOLD)
    stretch = read_on(acts, Position(place.after_xid, place.after_id), most=ACTS_A_PASS)
    found = _notify_of_acts(tenant_id, stretch.rows, now)
    found += _notify_of_due(tenant_id, (place.due_until or now) - LOOKED_AT_AGAIN, now)
    place.after_xid, place.after_id, place.due_until = stretch.end.xid, stretch.end.id, now
    place.save(update_fields=["after_xid", "after_id", "due_until"])
    return found, stretch.more


def _notify_of_acts(tenant_id: UUID, acts: Sequence[Audit], now: datetime) -> int:
    tasks = _tasks_of(tenant_id, acts)
    assigned = list(_assigned(acts, tasks))
    offered = [tasks[act.pk] for act in acts if act.pk in tasks and tasks[act.pk].assignee_id is None]
    found = notify_people(assigned, now) + notify_people(_offered_to_people(tenant_id, offered, now), now)
    found += notify_people(_for_deputies(tenant_id, assigned, now), now)
    return (
        found
        + notify_roles(_offered_to_roles(tenant_id, offered), now)
        + notify_people(_decided(tenant_id, acts), now)
        + notify_people(_decisions(tenant_id, acts), now)
    )


def _tasks_of(tenant_id: UUID, acts: Sequence[Audit]) -> dict[int, Task]:
    """Find the open task of each act by its token."""
    told = {act.pk: (act.subject_id, token) for act in acts if (token := _token_of(act)) is not None}
    rows = Task.objects.filter(
        tenant_id=tenant_id,
        status__in=(TaskStatus.OPEN, TaskStatus.CLAIMED),
        instance_id__in={instance_id for instance_id, _ in told.values()},
    )
    light = rows.only("instance_id", "token", "status", "assignee_id", "min_level", "tenant_id")
    found = {(task.instance_id, task.token): task for task in light} if told else {}
    return {pk: found[place] for pk, place in told.items() if place in found}


def _token_of(act: Audit) -> int | None:
    """Return the token of the task that an act names, where it is about one."""
    return act.new.get("token") if act.action in ABOUT_TASKS and isinstance(act.new, dict) else None


def _assigned(acts: Sequence[Audit], tasks: Mapping[int, Task]) -> Iterator[tuple[News, UUID]]:
    """Yield news for people who have a task now that they did not take, and that they did not give to themselves."""
    for act in acts:
        task = tasks.get(act.pk)
        if task is None or task.assignee_id is None or task.status == TaskStatus.CLAIMED:
            continue
        if act.actor_id != task.assignee_id:
            key = f"assigned:{task.pk}:{act.pk}"
            actor = act.actor_name if act.action in ("task_assigned", "task_reassigned") else ""
            yield News("assigned", key, task.pk, task.instance_id, actor), task.assignee_id


def _for_deputies(tenant_id: UUID, news: Sequence[tuple[News, UUID]], now: datetime) -> Iterator[tuple[News, UUID]]:
    """Yield the same news for the deputies of people who are away."""
    deputies = _deputies(tenant_id, now) if news else {}
    for one, person_id in news:
        for deputy in _who_stands_in(person_id, deputies):
            yield replace(one, kind="handed_over", key=f"for:{one.key}"), deputy


def _deputies(tenant_id: UUID, now: datetime) -> dict[UUID, UUID]:
    """Return who stands in for whom now; which tasks that covers is decided when it is sent."""
    away = Absence.objects.filter(tenant_id=tenant_id, deputy__isnull=False, starts_at__lte=now, ends_at__gt=now)
    return dict(away.values_list("person_id", "deputy_id"))


def _who_stands_in(person_id: UUID, deputies: Mapping[UUID, UUID]) -> list[UUID]:
    """Return the deputy of a person, the deputy of that one, and so on."""
    found: list[UUID] = []
    deputy = deputies.get(person_id)
    while deputy is not None and deputy not in (person_id, *found):
        found.append(deputy)
        deputy = deputies.get(deputy)
    return found


def _offered_to_people(tenant_id: UUID, tasks: Sequence[Task], now: datetime) -> Iterator[tuple[News, UUID]]:
    """Yield news for everybody to whom new tasks are offered, and for the deputies of those named.

    Whether a person may do one is decided when it is sent.
    """
    offers = _offers(tasks)
    members = _people_behind(tenant_id, {principal for found in offers.values() for principal in found})
    deputies = _deputies(tenant_id, now) if tasks else {}
    heard: Counter[UUID] = Counter()
    for task in tasks:
        people = {pk for principal in offers[task.pk] for pk in members[principal].items_at(task.min_level)}
        people |= {pk for principal in offers[task.pk] for pk in _who_stands_in(principal, deputies)}
        for person_id in sorted(people):
            heard[person_id] += 1
            if heard[person_id] <= OFFERS_A_PASS:
                yield _offer(task), person_id


def _offers(tasks: Sequence[Task]) -> dict[UUID, set[UUID]]:
    """Return to which principals each task is offered."""
    offers: dict[UUID, set[UUID]] = {task.pk: set() for task in tasks}
    for task_id, principal in TaskCandidate.objects.filter(task_id__in=offers).values_list("task_id", "principal"):
        offers[task_id].add(principal)
    return offers


class _Levels(dict[UUID, int]):
    """People with their levels."""

    def items_at(self, level: int) -> list[UUID]:
        """Return the people who have at least this level."""
        return [person_id for person_id, own in self.items() if own >= level]


def _people_behind(tenant_id: UUID, principals: set[UUID]) -> dict[UUID, _Levels]:
    """Return the people whom each principal means: members of a role, a person, everybody."""
    found: dict[UUID, _Levels] = {principal: _Levels() for principal in principals}
    active = User.objects.filter(tenant_id=tenant_id, is_active=True)
    everybody = dict(active.filter(pk__in=principals).values_list("pk", "level"))
    for person_id, level in everybody.items():
        found[person_id][person_id] = level
    held = Membership.objects.filter(role_id__in=principals, user__is_active=True)
    for role_id, person_id, level in held.values_list("role_id", "user_id", "user__level"):
        found[role_id][person_id] = level
    if tenant_id in principals:
        found[tenant_id] = _Levels(active.values_list("pk", "level"))
    return found


def _offer(task: Task) -> News:
    return News("offered", f"offered:{task.pk}", task.pk, task.instance_id)


def _offered_to_roles(tenant_id: UUID, tasks: Sequence[Task]) -> list[tuple[News, UUID]]:
    """Yield news for the chats of the roles to which new tasks are offered."""
    offers = _offers(tasks)
    roles = set(Role.objects.filter(tenant_id=tenant_id).values_list("pk", flat=True)) if tasks else set()
    heard: Counter[UUID] = Counter()
    found = []
    for task in tasks:
        for role_id in offers[task.pk] & roles:
            heard[role_id] += 1
            if heard[role_id] <= OFFERS_A_PASS:
                found.append((_offer(task), role_id))
    return found


def _decided(tenant_id: UUID, acts: Sequence[Audit]) -> Iterator[tuple[News, UUID]]:
    """Yield news for the person who started a case: it is over, unless they ended it themselves."""
    ends = {act.subject_id: act for act in acts if act.action in ENDS}
    cases = Instance.objects.filter(tenant_id=tenant_id, pk__in=ends, parent_token__isnull=True)
    for pk, starter in cases.filter(started_by_id__isnull=False).values_list("pk", "started_by_id"):
        if starter is not None and ends[pk].actor_id != starter:
            yield News("decided", f"decided:{pk}", None, pk, ends[pk].actor_name, ends[pk].cause), starter


def _decisions(tenant_id: UUID, acts: Sequence[Audit]) -> Iterator[tuple[News, UUID]]:
    """Yield news for the person who started a case that continues: another approved it, or answered otherwise.

    A decision is an answer where the author marks a rejection. What ends the case is told by its end.
    """
    at = {(act.subject_id, act.at) for act in acts if act.action == ANSWERED}
    cases = Instance.objects.live().filter(
        pk__in={pk for pk, _at in at}, parent_token=None, started_by_id__isnull=False
    )
    tasks = Task.objects.filter(
        tenant_id=tenant_id,
        instance__in=cases,
        status=TaskStatus.COMPLETED,
        completed_at__in={when for _pk, when in at},
    )
    for task in tasks.select_related("instance") if at else ():
        starter, place = task.instance.started_by_id, (task.instance_id, task.completed_at)
        if place in at and starter != task.completed_by_id and task.is_decision and starter is not None:
            key = f"decided:{task.instance_id}:{task.pk}"
            yield News("decided", key, None, task.instance_id, task.completed_by_name), starter


def _notify_of_due(tenant_id: UUID, since: datetime, now: datetime) -> int:
    """Notify people of their tasks that became due soon, or late, since the last look."""
    own = Task.objects.filter(
        tenant_id=tenant_id, status__in=OPEN_TASK, assignee__isnull=False, due_at__isnull=False
    ).exclude(status=TaskStatus.SUSPENDED)
    soon = own.filter(due_at__gt=since + DUE_SOON, due_at__lte=now + DUE_SOON)
    late = own.filter(due_at__gt=since, due_at__lte=now)
    news = [*_due("due_soon", soon), *_due("late", late)]
    return notify_people(news, now) + notify_people(_for_deputies(tenant_id, news, now), now)


def _due(kind: str, tasks: TaskQuerySet) -> Iterator[tuple[News, UUID]]:
    for task in tasks.only("instance_id", "assignee_id", "due_at"):
        assert task.due_at is not None
        assert task.assignee_id is not None
        key = f"{kind}:{task.pk}:{task.due_at.isoformat()}"
        yield News(kind, key, task.pk, task.instance_id), task.assignee_id
