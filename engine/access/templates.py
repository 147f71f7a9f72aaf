"""Which templates and versions an actor sees, may change and may start."""

from typing import Literal

from django.db.models import QuerySet
from django.utils.translation import gettext

from engine.access.levels import LEVEL_NAMES, require_level
from engine.access.task_rules import either
from engine.errors import Conflict, NotFound, Refused, WorkflowError
from engine.kernel.language.stored_definitions import UNREADABLE
from engine.kernel.transitions import VersionStatus
from engine.models import Template, TemplateVersion
from engine.models.status_labels import status_word
from engine.models.template import VersionQuerySet, cannot_be_read
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_AUTHOR, TO_OPERATE, TO_SEE_TENANT
from workflowplatform.accounts.models import Role

Way = Literal["manual", "scheduled"]
"""How a person starts an instance: by hand, or by a schedule. Starts by events and parents belong to no person."""


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
    by_hand = [version for version in active.order_by("template__title") if refuse_trigger(version, "manual") is None]
    return [version for version in by_hand if refuse_start(actor, version, held) is None]


def refuse_start(actor: Actor, version: TemplateVersion, held_roles: set[str]) -> Refused | None:
    """Return the rule that forbids the actor to start this version, or None."""
    canonical = version.canonical or {}
    if UNREADABLE in canonical:
        return Refused(cannot_be_read(canonical[UNREADABLE]), code="unreadable")
    starters = canonical.get("starters") or {}
    floor = int(starters.get("min_level") or TO_OPERATE)
    roles = set(starters.get("roles") or ())
    if actor.level < floor:
        message = gettext("%(level)s can start this, but you can’t. Ask one of them.") % {"level": LEVEL_NAMES[floor]}
        return Refused(message, code="level", needed=floor)
    if roles and not roles & held_roles:
        message = gettext("Only %(people)s may start this.") % {"people": either(sorted(roles))}
        return Refused(message, code="not_candidate", roles=sorted(roles))
    return None


def refuse_trigger(version: TemplateVersion, way: Way) -> Conflict | None:
    """Return why a version cannot be started in this way, or None: its `trigger` decides; a manual one may be scheduled too.

    A version activated before this rule may be manual and start by an event as well: it keeps both.
    """
    canonical = version.canonical or {}
    trigger = canonical.get("trigger", "manual")
    if trigger in ("manual", way):
        return None
    if trigger == "event":
        words = {"event": (canonical.get("event") or {}).get("name", "")}
        message = gettext("This workflow starts only with the event %(event)s. Send that event.") % words
    else:
        message = gettext("This workflow starts by schedule, not by hand. Run its schedule, or schedule one start.")
    return Conflict(message, code="trigger", trigger=trigger)


def refuse_inactive(actor: Actor, name: str) -> WorkflowError:
    """Return the error for a start by a name that has no active version: NotFound for people who must not know of it."""
    versions = TemplateVersion.objects.filter(tenant_id=actor.tenant_id, template__name=name).order_by("-number")
    version = versions.exclude(status=VersionStatus.DRAFT).first() or versions.first()
    if version is None:
        return NotFound()
    held = set(Role.objects.filter(pk__in=actor.roles).values_list("name", flat=True))
    if _stays_unknown(actor, version, refuse_start(actor, version, held)):
        return NotFound()
    words = {"number": version.number, "status": status_word(version.status)}
    message = gettext("No version of this is active: version %(number)s is %(status)s. Its authors can activate one.")
    return Conflict(message % words, code="status", status=version.status)


def _stays_unknown(actor: Actor, version: TemplateVersion, refusal: Refused | None) -> bool:
    """Return whether the actor must not know of a version that is not active. Drafts are known from level 4 on."""
    return actor.level < TO_SEE_TENANT and (refusal is not None or version.status == VersionStatus.DRAFT)


def require_startable(actor: Actor, version: TemplateVersion, held_roles: set[str], way: Way = "manual") -> None:
    """Raise the rule that forbids this start: to this actor, or to everyone now."""
    refusal = refuse_start(actor, version, held_roles)
    if version.status != VersionStatus.ACTIVE and _stays_unknown(actor, version, refusal):
        raise NotFound
    if refusal is not None:
        raise refusal
    if version.status != VersionStatus.ACTIVE:
        words = {"number": version.number, "status": status_word(version.status)}
        message = gettext("Version %(number)s is %(status)s; only an active one can be started.") % words
        raise Conflict(message, code="status")
    if version.unavailable:
        message = gettext("This release cannot run version %(number)s:") % {"number": version.number}
        raise Conflict(f"{message} {version.unavailable}", code="unfit")
    wrong_way = refuse_trigger(version, way)
    if wrong_way is not None:
        raise wrong_way
