"""Who sees a task and who may act on it: one rule, said as a filter here and in words in engine.access.task_rules."""

from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from engine.access.four_eyes import free_to_act, people_free
from engine.access.people import own_tenant, visible_people, visible_roles
from engine.access.task_listing import Walk
from engine.access.task_rules import principals, refuse_act
from engine.errors import NotFound
from engine.kernel.transitions import OPEN_TASK, TaskStatus
from engine.models import SavedFilter, Task, TaskAttachment, TaskCandidate, TaskComment, TaskDraft, TaskEvent
from engine.models.task import TaskQuerySet
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_SEE_TENANT
from workflowplatform.accounts.models import User


def _offered(actor: Actor) -> Exists:
    return Exists(TaskCandidate.objects.filter(task_id=OuterRef("pk"), principal__in=principals(actor)))


def _may_act(actor: Actor) -> Q:
    """Say the rule of claim and complete as a filter; `refuse_act` says the same of one task in words."""
    return Q(
        Q(min_level__lte=actor.level),
        _is_fit(actor),
        Q(assignee_id=actor.person_id) | Q(_offered(actor), assignee__isnull=True),
    )


def _is_fit(actor: Actor) -> Q:
    """Say who may act whatever the offer: not those excluded, and where the familiar are named only they; each once."""
    named = [actor.name]
    return Q(
        free_to_act(actor),
        Q(familiar=[]) | Q(familiar__contains=named),
        ~Q(answered_by__contains=named),
    )


def _is_meant(actor: Actor) -> Q:
    """Say which open tasks concern the actor: as `_may_act`, and also those that another of those asked has claimed."""
    claimed = Q(_offered(actor), status=TaskStatus.CLAIMED)
    return Q(Q(min_level__lte=actor.level), _is_fit(actor), claimed) | _may_act(actor)


def visible_tasks(actor: Actor) -> TaskQuerySet:
    """Return the tenant's tasks; below level 4 those meant for one, whoever was faster, and those one has done."""
    tasks = Task.objects.filter(tenant_id=actor.tenant_id).select_related("instance", "version__template", "assignee")
    if actor.level >= TO_SEE_TENANT:
        return tasks
    done = Q(completed_by_id=actor.person_id) | _has_answered(actor)
    return tasks.filter(_is_meant(actor) & Q(status__in=OPEN_TASK) | done)


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
    """Say where the actor was one of several who answered; few tasks are such, and their index is small."""
    return Q(~Q(answered_by=[]), answered_by__contains=[actor.name])


def task_of(actor: Actor, task_id: UUID) -> Task:
    """Return a task, or NotFound."""
    task = visible_tasks(actor).filter(pk=task_id).first()
    if task is None:
        raise NotFound
    return task


def tasks_mine(actor: Actor) -> TaskQuerySet:
    """Return the open tasks that are bound to the actor, but for those put off until later."""
    return _bound(actor).exclude(follow_up_at__gt=Now()).urgent_first()


def tasks_snoozed(actor: Actor) -> TaskQuerySet:
    """Return the open tasks that are bound to the actor and put off until later, the next first."""
    return _bound(actor).filter(follow_up_at__gt=Now()).order_by("follow_up_at", "id")


def _bound(actor: Actor) -> TaskQuerySet:
    return visible_tasks(actor).open().filter(assignee_id=actor.person_id)


def tasks_available(actor: Actor) -> TaskQuerySet:
    """Return the open tasks that the actor may claim."""
    return visible_tasks(actor).filter(_may_act(actor), status=TaskStatus.OPEN, assignee__isnull=True).urgent_first()


def walk_available(actor: Actor) -> Walk:
    """Return the tasks of `tasks_available` as a walk over their offers."""
    return Walk(own_tenant(actor), principals(actor), _takeable(actor))


def walk_overdue(actor: Actor) -> Walk:
    """Return what is late among the tasks that the actor may claim and those bound to them."""
    bound = Task.objects.open().filter(tenant_id=actor.tenant_id, assignee_id=actor.person_id)
    bound = bound.exclude(follow_up_at__gt=Now())
    return Walk(own_tenant(actor), principals(actor), _takeable(actor), bound, timezone.now())


def _takeable(actor: Actor) -> TaskQuerySet:
    """Say what may be claimed by somebody to whom it is offered: the rule of `_may_act` without the offer."""
    free = Task.objects.filter(_is_fit(actor), status=TaskStatus.OPEN, assignee__isnull=True)
    return free.filter(tenant_id=actor.tenant_id, min_level__lte=actor.level)


def tasks_overdue(actor: Actor) -> TaskQuerySet:
    """Return what is late among the tasks that are bound to the actor and those they may claim."""
    return (tasks_mine(actor) | tasks_available(actor)).filter(due_at__lt=timezone.now()).urgent_first()


def tasks_team(actor: Actor) -> TaskQuerySet:
    """Return all open tasks that the actor sees."""
    return visible_tasks(actor).open().urgent_first()


def tasks_done(actor: Actor) -> TaskQuerySet:
    """Return what the actor completed, newest first."""
    done = Q(completed_by_id=actor.person_id) | Q(_has_answered(actor), completed_at__isnull=False)
    return visible_tasks(actor).filter(done).order_by("-completed_at", "-id")


def visible_filters(actor: Actor, *, deleted: bool = False) -> QuerySet[SavedFilter]:
    """Return the filters that the actor keeps and those shared in the tenant, by name."""
    filters = SavedFilter.objects.filter(tenant_id=actor.tenant_id, deleted_at__isnull=not deleted)
    return filters.filter(Q(owner_id=actor.person_id) | Q(shared=True)).order_by("shared", "name", "id")


def filter_of(actor: Actor, filter_id: UUID, *, deleted: bool = False) -> SavedFilter:
    """Return a saved filter, or NotFound."""
    saved = visible_filters(actor, deleted=deleted).filter(pk=filter_id).first()
    if saved is None:
        raise NotFound
    return saved


def events_of(actor: Actor, task_id: UUID) -> QuerySet[TaskEvent]:
    """Return what happened to a task that the actor sees."""
    return TaskEvent.objects.filter(tenant_id=actor.tenant_id, task_id=task_of(actor, task_id).pk).order_by("id")


def comments_of(actor: Actor, task_id: UUID) -> QuerySet[TaskComment]:
    """Return what was said about a task that the actor sees, oldest first."""
    return TaskComment.objects.filter(tenant_id=actor.tenant_id, task_id=task_of(actor, task_id).pk).order_by("id")


def attachments_of(actor: Actor, task_id: UUID) -> QuerySet[TaskAttachment]:
    """Return the files of a task that the actor sees, oldest first."""
    return TaskAttachment.objects.filter(tenant_id=actor.tenant_id, task_id=task_of(actor, task_id).pk).order_by("id")


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


def people_to_give(actor: Actor, task: Task) -> QuerySet[User]:
    """Return the people to whom the actor can give a task: the rule of `refuse_given` as a filter."""
    return people_fit_for(task).filter(pk__in=visible_people(actor).values("pk"))


def people_fit_for(task: Task) -> QuerySet[User]:
    """Return the people who may do a task, whoever holds it now."""
    people = User.objects.filter(tenant_id=task.tenant_id, is_active=True, level__gte=task.min_level)
    people = people.exclude(username__in=task.answered_by).filter(people_free(task))
    if task.familiar:
        people = people.filter(username__in=task.familiar)
    if task.effective_roles or task.users:
        offered = TaskCandidate.objects.filter(task_id=task.pk).values("principal")
        people = people.filter(Q(pk__in=offered) | Q(memberships__role_id__in=offered))
    return people.order_by("username").distinct()


def task_to_act(actor: Actor, task_id: UUID) -> Task:
    """Return a task that the actor may claim or complete, else raise the rule that forbids it."""
    task = task_of(actor, task_id)
    refusal = refuse_act(actor, task)
    if refusal is not None:
        raise refusal
    return task
