"""Which tasks an actor sees and may act on: the rules of engine.access.task_rules as filters."""

from collections.abc import Iterable, Sequence
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.db.models import Func, Q, QuerySet, UUIDField, Value
from django.db.models.functions import Now

from engine.access.deputies import covered, offered, shares_role
from engine.access.four_eyes import free_to_act, people_free
from engine.access.instances import instance_of
from engine.access.people import own_tenant, visible_people, visible_roles
from engine.access.task_listing import Walk
from engine.access.task_rules import mandate_of, refuse_act
from engine.access.teams import leads_task, offered_to_led, people_to_name
from engine.db.query_shapes import Among
from engine.errors import NotFound
from engine.kernel.transitions import OPEN_TASK, TaskStatus
from engine.models import Task, TaskAttachment, TaskCandidate, TaskComment, TaskDraft, TaskEvent
from engine.models.task import TaskQuerySet
from workflowplatform.accounts.actor import Actor, StandIn
from workflowplatform.accounts.levels import TO_OPERATE, TO_SEE_TENANT
from workflowplatform.accounts.models import Membership, User

MOST_ABLE = 5
"""How many people are named who could do a task."""


def _may_act(actor: Actor) -> Q:
    """Return the rule of claim and complete as a filter; `refuse_act` decides the same for one task."""
    own = Q(
        Q(min_level__lte=actor.level),
        _is_fit(actor),
        Q(assignee_id=actor.person_id) | Q(offered(actor), assignee__isnull=True),
    )
    for absent in actor.stands_in:
        own |= _may_act_for(actor, absent) & (Q(assignee_id=absent.person_id) | _asked(absent))
    return own


def _may_act_for(actor: Actor, absent: StandIn) -> Q:
    """Return the filter for what a deputy may do of what is the absent person's."""
    return Q(Q(min_level__lte=actor.level), _is_fit(actor, absent), covered(absent.scopes), shares_role(actor))


def _asked(absent: StandIn) -> Q:
    asked = TaskCandidate.objects.filter(principal=absent.person_id).values("task_id")
    return Q(assignee__isnull=True, pk__in=asked)


def _is_fit(actor: Actor, absent: StandIn | None = None) -> Q:
    """Return the filter for those who may act, whatever the offer: nobody excluded, only the familiar if any; each once."""
    people = [actor.name, absent.name] if absent else [actor.name]
    familiar, unanswered = Q(familiar=[]), Q()
    for name in people:
        familiar |= Q(familiar__contains=[name])
        unanswered &= ~Q(answered_by__contains=[name])
    return Q(free_to_act(actor, absent.eyes if absent else ()), familiar, unanswered)


def _is_meant(actor: Actor) -> Q:
    """Return the filter for open tasks that concern the actor: `_may_act`, and those that another candidate has claimed."""
    claimed = Q(offered(actor), status=TaskStatus.CLAIMED)
    return Q(Q(min_level__lte=actor.level), _is_fit(actor), claimed) | _may_act(actor)


def visible_tasks(actor: Actor) -> TaskQuerySet:
    """Return the tenant's tasks; below level 4 those meant for the actor, those done, and those of a role they lead."""
    tasks = Task.objects.filter(tenant_id=actor.tenant_id).select_related("instance", "version__template", "assignee")
    if actor.level >= TO_SEE_TENANT:
        return tasks
    done = Q(completed_by_id=actor.person_id) | _has_answered(actor)
    meant = _is_meant(actor) | Q(delegated_by_id=actor.person_id, delegated_by_id__isnull=False)
    if actor.leads:
        meant |= offered_to_led(actor)
    return tasks.filter(meant & Q(status__in=OPEN_TASK) | done)


def tasks_heard(actor: Actor) -> TaskQuerySet:
    """Return the tasks whose acts one may hear of: those one sees, and those that were one's own to do until they ended."""
    if actor.level >= TO_SEE_TENANT:
        return visible_tasks(actor)
    held = list(visible_roles(actor).filter(pk__in=actor.roles).values_list("name", flat=True))
    asked = Q(effective_roles__has_any_keys=held) | Q(users__contains=[actor.name]) | Q(effective_roles=[], users=[])
    ended = Q(_is_fit(actor), asked | Q(assignee_id=actor.person_id), min_level__lte=actor.level)
    seen = visible_tasks(actor).order_by().values("pk")
    tasks = Task.objects.filter(tenant_id=actor.tenant_id)
    return tasks.filter(Q(pk__in=seen) | Q(ended, ~Q(status__in=OPEN_TASK)))


def _has_answered(actor: Actor) -> Q:
    """Return the filter for tasks where the actor was one of several who answered; few are, and their index is small."""
    return Q(Among("pk", AnsweredBy(actor.tenant_id, actor.name)))


class AnsweredBy(Func):
    """The ids of such tasks, as an array that is read once: behind row-level security only this way uses the index."""

    template = "ARRAY(SELECT wf_answered_by(%(expressions)s))"

    def __init__(self, tenant_id: UUID, name: str) -> None:
        super().__init__(Value(tenant_id, UUIDField()), Value(name), output_field=ArrayField(UUIDField()))


def task_of(actor: Actor, task_id: UUID) -> Task:
    """Return a task, or NotFound."""
    task = visible_tasks(actor).filter(pk=task_id).first()
    if task is None:
        raise NotFound
    return task


def tasks_mine(actor: Actor) -> TaskQuerySet:
    """Return the open tasks that are bound to the actor, without snoozed ones and those whose answer is about to be sent."""
    return _bound(actor).exclude(follow_up_at__gt=Now()).filter(answer_due_at__isnull=True).urgent_first()


def tasks_snoozed(actor: Actor) -> TaskQuerySet:
    """Return the snoozed open tasks that are bound to the actor, the next first."""
    return _bound(actor).filter(follow_up_at__gt=Now()).order_by("follow_up_at", "id")


def _bound(actor: Actor) -> TaskQuerySet:
    """Return the open tasks that are bound to the actor, and to the absent for whom they stand in: barred ones too."""
    tasks = visible_tasks(actor).open()
    if not actor.stands_in:
        return tasks.filter(assignee_id=actor.person_id)
    rule = Q(assignee_id=actor.person_id)
    for absent in actor.stands_in:
        rule |= Q(covered(absent.scopes), shares_role(actor), assignee_id=absent.person_id)
    people = [actor.person_id, *(absent.person_id for absent in actor.stands_in)]
    return tasks.filter(rule, assignee_id__in=people)


def tasks_available(actor: Actor) -> TaskQuerySet:
    """Return the open tasks that the actor may claim."""
    return visible_tasks(actor).filter(_may_act(actor), status=TaskStatus.OPEN, assignee__isnull=True).urgent_first()


def walk_available(actor: Actor) -> Walk:
    """Return the tasks of `tasks_available` as a walk over their offers."""
    return Walk(own_tenant(actor), actor.principals, _takeable(actor), stood_in_for=_offers_to_absent(actor))


def walk_overdue(actor: Actor) -> Walk:
    """Return what is late among the tasks that the actor may claim and those bound to them."""
    late = Task.objects.open().filter(tenant_id=actor.tenant_id).exclude(follow_up_at__gt=Now())
    bound = [late.filter(assignee_id=actor.person_id)]
    for absent in actor.stands_in:
        bound.append(late.filter(covered(absent.scopes), shares_role(actor), assignee_id=absent.person_id))
    found = _offers_to_absent(actor)
    return Walk(own_tenant(actor), actor.principals, _takeable(actor), bound, Now(), found)


def _takeable(actor: Actor) -> TaskQuerySet:
    """Return the filter for what a person may claim once it is offered to them: the rule of `_may_act` without the offer."""
    return _free(actor).filter(_is_fit(actor), min_level__lte=actor.level)


def _free(actor: Actor) -> TaskQuerySet:
    return Task.objects.filter(tenant_id=actor.tenant_id, status=TaskStatus.OPEN, assignee__isnull=True)


def _offers_to_absent(actor: Actor) -> list[tuple[UUID, QuerySet[Task]]]:
    return [(absent.person_id, _free(actor).filter(_may_act_for(actor, absent))) for absent in actor.stands_in]


def tasks_overdue(actor: Actor) -> TaskQuerySet:
    """Return what is late among the tasks that are bound to the actor and those they may claim."""
    return (tasks_mine(actor) | tasks_available(actor)).filter(due_at__lt=Now()).urgent_first()


def tasks_team(actor: Actor) -> TaskQuerySet:
    """Return all open tasks that the actor sees."""
    return visible_tasks(actor).open().urgent_first()


def tasks_done(actor: Actor) -> TaskQuerySet:
    """Return what the actor completed, newest first."""
    done = Q(completed_by_id=actor.person_id) | Q(_has_answered(actor), completed_at__isnull=False)
    return visible_tasks(actor).filter(done).order_by("-completed_at", "-id")


def events_of(actor: Actor, task_id: UUID) -> QuerySet[TaskEvent]:
    """Return what happened to a task that the actor sees."""
    return TaskEvent.objects.filter(tenant_id=actor.tenant_id, task_id=task_of(actor, task_id).pk).order_by("id")


def comments_of(actor: Actor, task_id: UUID) -> QuerySet[TaskComment]:
    """Return what was said about a task that the actor sees and about its case as a whole, oldest first."""
    task = task_of(actor, task_id)
    about = Q(task_id=task.pk) | Q(instance_id=task.instance_id, task__isnull=True)
    return TaskComment.objects.filter(about, tenant_id=actor.tenant_id, instance_id=task.instance_id).order_by("id")


def comments_of_case(actor: Actor, instance_id: UUID) -> QuerySet[TaskComment]:
    """Return what was said about a case that the actor sees, and about those of its tasks that they see, oldest first."""
    comments = TaskComment.objects.filter(tenant_id=actor.tenant_id, instance_id=instance_of(actor, instance_id).pk)
    return comments.filter(_of_case_or_seen(actor, instance_id)).order_by("id")


def files_of_case(actor: Actor, instance_id: UUID) -> QuerySet[TaskAttachment]:
    """Return the files of a case that the actor sees, and of those of its tasks that they see, oldest first."""
    files = TaskAttachment.objects.filter(tenant_id=actor.tenant_id, instance_id=instance_of(actor, instance_id).pk)
    return files.filter(_of_case_or_seen(actor, instance_id)).order_by("id")


def _of_case_or_seen(actor: Actor, instance_id: UUID) -> Q:
    seen = visible_tasks(actor).filter(instance_id=instance_id).order_by().values("pk")
    return Q(task__isnull=True) | Q(task_id__in=seen)


def attachments_of(actor: Actor, task_id: UUID) -> QuerySet[TaskAttachment]:
    """Return the files of a task that the actor sees, oldest first."""
    return TaskAttachment.objects.filter(tenant_id=actor.tenant_id, task_id=task_of(actor, task_id).pk).order_by("id")


def needs_claim(actor: Actor, task: Task) -> bool:
    """Return whether a task that nobody has is claimed before it is answered: where another person began to answer it.

    Nobody else competes for it otherwise, and the answer claims it as it is sent. Drafts are of the tenant's own people.
    """
    if task.assignee_id is not None or task.takes_several:
        return False
    begun = task.keeps_drafts and TaskDraft.objects.filter(task_id=task.pk).exclude(saved_by_name=actor.name).exists()
    return actor.crosses or begun


def draft_of(actor: Actor, task: Task) -> TaskDraft | None:
    """Return the answer begun to a task, for those who may act on it; where several answer, only one's own."""
    if refuse_act(actor, task) is not None:
        return None
    owner = actor.person_id if task.takes_several else None
    return TaskDraft.objects.filter(tenant_id=actor.tenant_id, task_id=task.pk, owner_id=owner).first()


def kept_draft_of(actor: Actor, task: Task) -> TaskDraft | None:
    """Return the answer that the actor began to a task which is over and was never answered."""
    drafts = TaskDraft.objects.filter(tenant_id=actor.tenant_id, task_id=task.pk, saved_by_name=actor.name)
    return drafts.first() if task.is_over else None


def holds(actor: Actor, task: Task) -> bool:
    """Return whether a task is the actor's own, or bound to an absent person for whom they may act."""
    if task.assignee_id is None:
        return False
    return task.assignee_id == actor.person_id or mandate_of(actor, task) is not None


def colleagues(actor: Actor, task: Task) -> QuerySet[User]:
    """Return the people whom the actor can name for a task: those they see or lead, and for one's own task everyone here."""
    if holds(actor, task):
        return User.objects.filter(tenant_id=actor.tenant_id)
    return people_to_name(actor) if leads_task(actor, task) else visible_people(actor)


def moves(actor: Actor, task: Task) -> bool:
    """Return whether the actor may give a task to another person or back to the queue: a holder, a lead, or an operator."""
    return actor.level >= TO_OPERATE or holds(actor, task) or leads_task(actor, task)


def people_to_give(actor: Actor, task: Task) -> QuerySet[User]:
    """Return the people to whom the actor can give a task: the rule of `refuse_given` as a filter."""
    return people_fit_for(task).filter(pk__in=colleagues(actor, task).values("pk"))


def people_fit_for(task: Task) -> QuerySet[User]:
    """Return the people who may do a task, even if another has it now."""
    people = User.objects.filter(tenant_id=task.tenant_id, is_active=True, level__gte=task.min_level)
    people = people.exclude(username__in=task.answered_by).filter(people_free(task))
    if task.familiar:
        people = people.filter(username__in=task.familiar)
    if task.effective_roles or task.users:
        offered = TaskCandidate.objects.filter(task_id=task.pk).values("principal")
        people = people.filter(Q(pk__in=offered) | Q(memberships__role_id__in=offered))
    return people.order_by("username").distinct()


def tasks_barred(actor: Actor, task_ids: Iterable[UUID]) -> list[Task]:
    """Return those of some tasks that the actor may not do; one query."""
    tasks = Task.objects.filter(tenant_id=actor.tenant_id, pk__in=task_ids).select_related("instance")
    return list(tasks.exclude(pk__in=Task.objects.filter(_may_act(actor), pk__in=task_ids).values("pk")))


def people_able(tasks: Sequence[Task], *, without: UUID) -> dict[UUID, list[User]]:
    """Name for each of some tasks a few of the people who may do it, but not one; one query for all of them."""
    found: dict[UUID, list[User]] = {}
    ways = [_able(task, without) for task in tasks]
    for person in ways[0].union(*ways[1:], all=True) if ways else ():
        found.setdefault(person.task, []).append(person)  # type: ignore[attr-defined]  # annotated below
    return found


def _able(task: Task, without: UUID) -> QuerySet[User]:
    fit = people_fit_for(task).exclude(pk=without).order_by().values("pk")
    people = User.objects.filter(pk__in=fit).annotate(task=Value(task.pk, UUIDField()))
    return people.order_by("username")[:MOST_ABLE]


def people_who_see(task: Task) -> QuerySet[User]:
    """Return the active people who see a task or its case: the rules of `visible_tasks` and `visible_instances`, turned round."""
    people = User.objects.filter(tenant_id=task.tenant_id, is_active=True, kind="person")
    own = [pk for pk in (task.instance.started_by_id, task.completed_by_id, task.assignee_id) if pk is not None]
    seeing = Q(level__gte=TO_SEE_TENANT) | Q(pk__in=own) | Q(username__in=task.answered_by)
    if not task.is_over:
        seeing |= Q(pk__in=people_fit_for(task).order_by().values("pk"))
        roles = TaskCandidate.objects.filter(task_id=task.pk).values("principal")
        leads = Membership.objects.filter(leads=True, role_id__in=roles).values("user_id")
        seeing |= Q(pk__in=leads, level__gte=task.min_level)
    return people.filter(seeing)


def task_to_act(actor: Actor, task_id: UUID) -> Task:
    """Return a task that the actor may claim or complete, else raise the rule that forbids it."""
    task = task_of(actor, task_id)
    refusal = refuse_act(actor, task)
    if refusal is not None:
        raise refusal
    return task
