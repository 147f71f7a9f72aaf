"""The only door to rows: who sees what, and who may do what, decided in one place.

A row that an actor may not see does not exist for them (NotFound, the same for another tenant's and for nobody's). One that
they see but may not act on is refused with the rule's name. Level is a floor, tenant a wall. The page that explains a task
calls the very rules that decide.
"""

from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop

from engine.errors import Conflict, NotFound, Refused
from engine.kernel.transitions import OPEN_TASK, TaskStatus, VersionStatus
from engine.models import (
    Audit,
    BulkAct,
    DeadLetter,
    Instance,
    SavedFilter,
    Schedule,
    StepRun,
    Task,
    TaskAttachment,
    TaskCandidate,
    TaskComment,
    TaskDraft,
    TaskEvent,
    Template,
    TemplateVersion,
    Webhook,
    WebhookDelivery,
)
from engine.models.instance import InstanceQuerySet
from engine.models.task import TaskQuerySet
from engine.models.template import VersionQuerySet
from engine.status_words import status_word
from engine.task_reasons import Reason as Reason
from engine.task_reasons import either, principals
from engine.task_reasons import explain_task as explain_task
from engine.task_reasons import refuse_act as refuse_act
from engine.task_reasons import refuse_given as refuse_given
from engine.task_reasons import refuse_over as refuse_over
from engine.task_walk import Walk
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_AUTHOR, TO_OPERATE, TO_SEE_TENANT, Level
from workflowplatform.accounts.models import Role, Tenant, Token, User


def require_level(actor: Actor, level: int, act: str) -> None:
    """Refuse an act below its level."""
    if actor.level < level:
        words = {"act": gettext(act), "needed": int(level), "level": actor.level}
        message = gettext("To %(act)s you need level %(needed)s; you have level %(level)s.") % words
        raise Refused(message, code="level", needed=int(level))


# Templates


def visible_templates(actor: Actor) -> QuerySet[Template]:
    """Return the tenant's templates; below level 4 only those one may start."""
    templates = Template.objects.filter(tenant_id=actor.tenant_id)
    if actor.level >= TO_SEE_TENANT:
        return templates
    return templates.filter(pk__in=[version.template_id for version in startable_versions(actor)])


def visible_versions(actor: Actor) -> VersionQuerySet:
    """Return the tenant's versions, for those who operate or author."""
    versions = TemplateVersion.objects.filter(tenant_id=actor.tenant_id).select_related("template")
    return versions if actor.level >= TO_SEE_TENANT else versions.none()


def template_of(actor: Actor, name: str) -> Template:
    """Return a template by name, or NotFound."""
    template = visible_templates(actor).filter(name=name).first()
    if template is None:
        raise NotFound
    return template


def version_of(actor: Actor, name: str, number: int) -> TemplateVersion:
    """Return a version by template name and number, or NotFound."""
    version = visible_versions(actor).filter(template__name=name, number=number).first()
    if version is None:
        raise NotFound
    return version


def version_to_author(actor: Actor, name: str, number: int) -> TemplateVersion:
    """Return a version that the actor may change or move; its template is locked, so that authors act in turn."""
    version = version_of(actor, name, number)
    require_level(actor, TO_AUTHOR, "author templates")
    Template.objects.select_for_update(no_key=True).get(pk=version.template_id)
    return version_of(actor, name, number)


def startable_versions(actor: Actor) -> list[TemplateVersion]:
    """Return the active versions that the actor may start by hand."""
    active = TemplateVersion.objects.startable().filter(tenant_id=actor.tenant_id).select_related("template")
    held = set(Role.objects.filter(pk__in=actor.roles).values_list("name", flat=True))
    return [version for version in active.order_by("template__title") if refuse_start(actor, version, held) is None]


def refuse_start(actor: Actor, version: TemplateVersion, held_roles: set[str]) -> Refused | None:
    """Say why the actor may not start this version, or None."""
    starters = (version.canonical or {}).get("starters") or {}
    floor = int(starters.get("min_level") or TO_OPERATE)
    roles = set(starters.get("roles") or ())
    if actor.level < floor:
        words = {"needed": floor, "level": actor.level}
        message = gettext("To start this you need level %(needed)s; you have level %(level)s.") % words
        return Refused(message, code="level", needed=floor)
    if roles and not roles & held_roles:
        message = gettext("Only %(people)s may start this.") % {"people": either(sorted(roles))}
        return Refused(message, code="not_candidate", roles=sorted(roles))
    return None


def version_to_start(actor: Actor, name: str, number: int | None = None) -> TemplateVersion:
    """Return the version that a start by this actor runs."""
    versions = TemplateVersion.objects.filter(tenant_id=actor.tenant_id, template__name=name)
    versions = versions.select_related("template", "tenant")
    wanted = versions.filter(number=number) if number else versions.in_force()
    version = wanted.first()
    if version is None:
        raise NotFound
    require_startable(actor, version, set(Role.objects.filter(pk__in=actor.roles).values_list("name", flat=True)))
    return version


def require_startable(actor: Actor, version: TemplateVersion, held_roles: set[str]) -> None:
    """Refuse a start that this actor may not make, or that nobody may make now."""
    refusal = refuse_start(actor, version, held_roles)
    if refusal is not None:
        raise refusal if actor.level >= TO_SEE_TENANT or version.status == VersionStatus.ACTIVE else NotFound()
    if version.status != VersionStatus.ACTIVE:
        words = {"number": version.number, "status": status_word(version.status)}
        message = gettext("Version %(number)s is %(status)s; only an active one can be started.") % words
        raise Conflict(message, code="status")
    if version.unavailable:
        message = gettext("This release cannot run version %(number)s:") % {"number": version.number}
        raise Conflict(f"{message} {version.unavailable}", code="unfit")


# Instances


def visible_instances(actor: Actor) -> InstanceQuerySet:
    """Return the tenant's instances; below level 4 those one started or has a task in."""
    instances = Instance.objects.filter(tenant_id=actor.tenant_id).select_related("template", "version")
    if actor.level >= TO_SEE_TENANT:
        return instances
    return instances.filter(started_by_id=actor.person_id)


def instance_of(actor: Actor, instance_id: UUID) -> Instance:
    """Return an instance, or NotFound."""
    instance = visible_instances(actor).filter(pk=instance_id).first()
    if instance is None:
        raise NotFound
    return instance


def instance_to_operate(actor: Actor, instance_id: UUID) -> Instance:
    """Return an instance that the actor may cancel, suspend or repair."""
    instance = instance_of(actor, instance_id)
    require_level(actor, TO_OPERATE, gettext_noop("operate an instance"))
    return instance


def history_of(actor: Actor, instance_id: UUID) -> QuerySet[Audit]:
    """Return the audit of an instance that the actor sees, oldest first."""
    instance = instance_of(actor, instance_id)
    return Audit.objects.filter(tenant_id=actor.tenant_id, subject_id=instance.pk).order_by("seq")


def step_runs_of(actor: Actor, instance_id: UUID) -> QuerySet[StepRun]:
    """Return the step runs of an instance that the actor sees, in the order begun."""
    instance = instance_of(actor, instance_id)
    return StepRun.objects.filter(tenant_id=actor.tenant_id, instance_id=instance.pk).order_by("run", "attempt")


def visible_dead_letters(actor: Actor) -> QuerySet[DeadLetter]:
    """Return the tenant's dead letters, for those who operate."""
    letters = DeadLetter.objects.filter(tenant_id=actor.tenant_id).select_related("instance__template")
    return letters if actor.level >= TO_OPERATE else letters.none()


def visible_schedules(actor: Actor) -> QuerySet[Schedule]:
    """Return the tenant's schedules, for those who operate."""
    schedules = Schedule.objects.filter(tenant_id=actor.tenant_id).select_related("template")
    return schedules if actor.level >= TO_OPERATE else schedules.none()


def visible_bulk_acts(actor: Actor) -> QuerySet[BulkAct]:
    """Return the acts over many rows of the tenant, for those who operate."""
    acts = BulkAct.objects.filter(tenant_id=actor.tenant_id)
    return acts if actor.level >= TO_OPERATE else acts.none()


def bulk_act_of(actor: Actor, act_id: UUID) -> BulkAct:
    """Return an act over many rows, or NotFound."""
    act = visible_bulk_acts(actor).filter(pk=act_id).first()
    if act is None:
        raise NotFound
    return act


def visible_webhooks(actor: Actor) -> QuerySet[Webhook]:
    """Return the tenant's webhooks, for those who operate."""
    webhooks = Webhook.objects.filter(tenant_id=actor.tenant_id)
    return webhooks if actor.level >= TO_OPERATE else webhooks.none()


def webhook_of(actor: Actor, webhook_id: UUID) -> Webhook:
    """Return a webhook, or NotFound."""
    webhook = visible_webhooks(actor).filter(pk=webhook_id).first()
    if webhook is None:
        raise NotFound
    return webhook


def visible_deliveries(actor: Actor) -> QuerySet[WebhookDelivery]:
    """Return what the tenant's webhooks were told, for those who operate."""
    deliveries = WebhookDelivery.objects.filter(tenant_id=actor.tenant_id).select_related("webhook")
    return deliveries if actor.level >= TO_OPERATE else deliveries.none()


# Tasks


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
        ~Q(excluded__contains=named),
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


def person_named(actor: Actor, name: str) -> User:
    """Return an active person of the tenant by name, or NotFound."""
    person = visible_people(actor).filter(username=name.replace("\0", ""), is_active=True).first()
    if person is None:
        raise NotFound
    return person


def people_to_give(actor: Actor, task: Task) -> QuerySet[User]:
    """Return the people to whom the actor can give a task: the rule of `refuse_given` as a filter."""
    return people_fit_for(task).filter(pk__in=visible_people(actor).values("pk"))


def people_fit_for(task: Task) -> QuerySet[User]:
    """Return the people who may do a task, whoever holds it now."""
    people = User.objects.filter(tenant_id=task.tenant_id, is_active=True, level__gte=task.min_level)
    people = people.exclude(username__in=[*task.excluded, *task.answered_by])
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


# People


def own_tenant(actor: Actor) -> QuerySet[Tenant]:
    """Return the tenant in which the actor works."""
    return Tenant.objects.filter(pk=actor.tenant_id)


def visible_people(actor: Actor) -> QuerySet[User]:
    """Return the tenant's people, for those who operate; below level 4 only oneself."""
    people = User.objects.filter(tenant_id=actor.tenant_id)
    return people if actor.level >= TO_SEE_TENANT else people.filter(username=actor.name)


def visible_roles(actor: Actor) -> QuerySet[Role]:
    """Return the tenant's roles."""
    return Role.objects.filter(tenant_id=actor.tenant_id)


def visible_tokens(actor: Actor) -> QuerySet[Token]:
    """Return one's own tokens; from level 5 on the tenant's."""
    tokens: QuerySet[Token] = Token.objects.filter(tenant_id=actor.tenant_id).select_related("user")
    return tokens if actor.level >= Level.GOD else tokens.filter(user_id=actor.person_id)
