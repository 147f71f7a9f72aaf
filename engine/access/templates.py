"""Who sees templates and versions, who changes them, and who may start one."""

from django.db.models import QuerySet
from django.utils.translation import gettext

from engine.access.levels import require_level
from engine.errors import Conflict, NotFound, Refused
from engine.kernel.transitions import VersionStatus
from engine.models import Template, TemplateVersion
from engine.models.template import VersionQuerySet
from engine.status_words import status_word
from engine.task_reasons import either
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_AUTHOR, TO_OPERATE, TO_SEE_TENANT
from workflowplatform.accounts.models import Role


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
