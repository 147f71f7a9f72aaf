"""Author templates: save drafts, check them, and move versions through their life."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Max

from engine import access
from engine.audit.chain import Act, database_now, record
from engine.db.advisory_locks import lock_name, take_locks
from engine.db.transactions import in_one_transaction
from engine.errors import Conflict, Invalid, Unprocessable
from engine.extensions.decorators import registered_decorators
from engine.extensions.functions import functions_with_secrets, registered_functions
from engine.extensions.step_kinds import registered_step_kinds
from engine.kernel.definition import compile_definition
from engine.kernel.findings import ERROR, WARNING, Finding
from engine.kernel.forms import FieldError
from engine.kernel.language.normalizer import Normalized, TenantFacts, normalize
from engine.kernel.language.source_positions import step_places
from engine.kernel.language.validation.sub_workflows import check_around
from engine.kernel.language.validation.validator import ordered
from engine.kernel.transitions import VERSION_MOVES, VersionStatus
from engine.models import Audit, BusinessCalendar, Secret, Template, TemplateVersion
from engine.runtime.concurrency_limits import admit_waiting
from engine.services.schedules.lifecycle import cancel_schedules_of, declare_schedule, hold_schedules_of
from engine.services.templates.availability import tasks_without_people
from engine.services.templates.stored_tests import listeners_around, red_tests, required_workflows, workflows_around
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_AUTHOR
from workflowplatform.accounts.models import Membership, Role, User


def tenant_facts(actor: Actor) -> TenantFacts:
    """Return what the actor's tenant has, for the checks that need to know."""
    versions = TemplateVersion.objects.active().filter(tenant_id=actor.tenant_id)
    active = frozenset(versions.values_list("template__name", "sha256"))
    secrets = list(Secret.objects.filter(tenant_id=actor.tenant_id).values_list("name", "origins"))
    return TenantFacts(
        roles=frozenset(Role.objects.filter(tenant_id=actor.tenant_id).values_list("name", flat=True)),
        people=frozenset(
            User.objects.filter(tenant_id=actor.tenant_id, is_active=True).values_list("username", flat=True)
        ),
        workflows=frozenset(name for name, _sha256 in active),
        owner=str(actor.tenant_id),
        hashes=active,
        definition=partial(_to_embed, actor.tenant_id),
        kind_names=frozenset(registered_step_kinds()),
        step_kinds=registered_step_kinds(),
        functions=frozenset(registered_functions()),
        calendars=frozenset(BusinessCalendar.objects.filter(tenant_id=actor.tenant_id).values_list("name", flat=True)),
        decorators=frozenset(registered_decorators()),
        drafts=frozenset(
            TemplateVersion.objects.filter(tenant_id=actor.tenant_id, status=VersionStatus.DRAFT).values_list(
                "template__name", flat=True
            )
        ),
        members=frozenset(
            Membership.objects.filter(tenant_id=actor.tenant_id, user__is_active=True).values_list(
                "role__name", "user__username"
            )
        ),
        with_secrets=functions_with_secrets(),
        secrets=frozenset(name for name, _origins in secrets),
        unbound=frozenset(name for name, origins in secrets if not origins),
    )


def _to_embed(tenant_id: UUID, name: str, version: Any) -> tuple[int, dict[str, Any]] | None:
    """Return the version of a workflow that a template embeds: the active one, or the one numbered if it was ever activated."""
    versions = TemplateVersion.objects.filter(tenant_id=tenant_id, template__name=name, activated_at__isnull=False)
    chosen = versions.filter(number=version) if isinstance(version, int) else versions.active()
    found = chosen.values_list("number", "canonical").first()
    return None if found is None or found[1] is None else (found[0], found[1])


def facts_together_with(actor: Actor, names: frozenset[str]) -> TenantFacts:
    """Return what the tenant has once the workflows of these names are active together."""
    facts = tenant_facts(actor)
    return replace(facts, workflows=facts.workflows | names)


def check_source(*, actor: Actor, source: str, together_with: frozenset[str] = frozenset()) -> Normalized:
    """Return the canonical form and the findings of a document, without saving it, together with the others of its set."""
    access.require_level(actor, TO_AUTHOR, "author templates")
    return _checked(actor, source, facts_together_with(actor, together_with))


def _checked(
    actor: Actor, source: str, facts: TenantFacts, given: Mapping[str, dict[str, Any]] = MappingProxyType({})
) -> Normalized:
    """Check a document with what the tenant has: its roles and the like, and the workflows around this one.

    Of those, the ones that are activated together with it are `given`.
    """
    found = _normalized(source, facts)
    if found.canonical is None:
        return found
    around = {name: one.canonical for name, one in listeners_around(actor.tenant_id, found.canonical).items()}
    asides = list(check_around(found.canonical, {**around, **given}))
    places = step_places(source) if asides else {}
    more = [
        Finding(one.code, WARNING, one.message, places[one.step].line, 1, one.path, one.hint)
        for one in asides
        if one.step in places
    ]
    assert actor.tenant_id is not None
    more += tasks_without_people(actor.tenant_id, source, found)
    return replace(found, findings=ordered((*found.findings, *more)))


def check_source_alone(source: str) -> Normalized:
    """Check a document by itself, whatever the tenant has: what can be drawn may still name roles that nobody has."""
    return _normalized(source, None)


@lru_cache(maxsize=8)
def _normalized(source: str, facts: TenantFacts | None) -> Normalized:
    """Keep the last few: what is saved is mostly activated or checked again at once, and reading takes its time."""
    return normalize(source, facts, kinds=registered_step_kinds())


@in_one_transaction
def save_draft(
    *,
    actor: Actor,
    source: str,
    name: str | None = None,
    number: int | None = None,
    revision: int | None = None,
    together_with: frozenset[str] = frozenset(),
) -> TemplateVersion:
    """Save a document as a draft with its findings: a new version, or the draft named by name and number.

    `revision` is the one the author began from; if another person saved in between, nothing is overwritten. The last
    argument names the others of a set that is saved together.
    """
    if name is None or number is None:
        return _create_draft(actor, source, check_source(actor=actor, source=source, together_with=together_with))
    version = access.version_to_author(actor, name, number)
    return _change_draft(actor, version, source, check_source(actor=actor, source=source), revision)


def _create_draft(actor: Actor, source: str, checked: Normalized) -> TemplateVersion:
    if not checked.name:
        unfit = next((finding.message for finding in checked.findings if finding.code == "bad_name"), None)
        message = unfit or "The document has no name. Add a line such as `workflow: expense-approval`."
        raise Invalid(message, [FieldError("source", "workflow_missing", message)])
    template, created = Template.objects.get_or_create(tenant_id=actor.tenant_id, name=checked.name)
    Template.objects.select_for_update(no_key=True).get(pk=template.pk)
    last = template.versions.aggregate(last=Max("number"))["last"] or 0
    version = TemplateVersion.objects.create(
        tenant_id=actor.tenant_id,
        template=template,
        number=last + 1,
        created_by_name=actor.name,
        **_content(source, checked),
    )
    _describe(template, version, unless_in_force=True)
    record(template, Act("create_template", new={"version": version.number, "created": created}), actor=actor)
    return version


def _change_draft(
    actor: Actor, version: TemplateVersion, source: str, checked: Normalized, revision: int | None
) -> TemplateVersion:
    _require_draft(version)
    if revision is not None and revision != version.revision:
        raise Conflict(
            f"{last_saved_by(version).capitalize()} saved this draft at {version.updated_at:%H:%M}. "
            "Compare, then save again; nothing was overwritten.",
            code="revision",
            revision=version.revision,
        )
    if checked.name and checked.name != version.template.name:
        message = f"This is a draft of {version.template.name}; the document says {checked.name}. Names do not change."
        raise Invalid(message, [FieldError("source", "workflow_renamed", message)])
    for field, value in _content(source, checked).items():
        setattr(version, field, value)
    version.revision += 1
    version.save()
    _describe(version.template, version, unless_in_force=True)
    record(
        version.template, Act("change_template", new={"version": version.number, "sha256": version.sha256}), actor=actor
    )
    return version


def last_saved_by(version: TemplateVersion) -> str:
    """Name who saved a draft last, as the audit has it."""
    acts = Audit.objects.filter(tenant_id=version.tenant_id, subject_id=version.template_id)
    saved = acts.filter(action__in=("create_template", "change_template"), new__version=version.number)
    last = saved.order_by("-seq").values_list("actor_name", flat=True).first()
    return str(last or version.created_by_name or "Someone")


def _content(source: str, checked: Normalized) -> dict[str, Any]:
    return {
        "source": source,
        "canonical": checked.canonical,
        "sha256": checked.sha256 or "",
        "findings": [finding.as_json() for finding in checked.findings],
    }


def _describe(template: Template, version: TemplateVersion, *, unless_in_force: bool = False) -> None:
    """Copy title, description and tags to where lists show them; a draft does so only before the first activation."""
    if unless_in_force and template.versions.in_force().exists():
        return
    canonical = version.canonical or {}
    template.title = (canonical.get("title") or template.title or template.name)[:200]
    template.description = canonical.get("description") or ""
    template.tags = canonical.get("tags") or []
    template.concurrent_limit = (canonical.get("limits") or {}).get("concurrent")
    template.save(update_fields=["title", "description", "tags", "concurrent_limit"])


@in_one_transaction
def new_draft(*, actor: Actor, name: str, number: int) -> TemplateVersion:
    """Begin the next version from an existing one."""
    version = access.version_to_author(actor, name, number)
    return save_draft(actor=actor, source=version.source)


@in_one_transaction
def delete_draft(*, actor: Actor, name: str, number: int) -> None:
    """Throw a draft away; with its last version the template goes too."""
    version = access.version_to_author(actor, name, number)
    _require_draft(version)
    template = version.template
    record(template, Act("delete_draft", old={"version": version.number}), actor=actor)
    version.delete()
    if not template.versions.exists():
        template.delete()


def activate_version(*, actor: Actor, name: str, number: int) -> TemplateVersion:
    """Activate a clean draft; the version that was active is archived in the same transaction."""
    (version,) = activate_versions(actor=actor, chosen=[(name, number)])
    return version


@in_one_transaction
def activate_versions(*, actor: Actor, chosen: Sequence[tuple[str, int]]) -> list[TemplateVersion]:
    """Activate drafts together, as one set: each may start the others, and one that fails keeps all back."""
    _refuse_twins([name for name, _ in chosen])
    _take_turn(actor)
    versions = [access.version_to_author(actor, name, number) for name, number in sorted(chosen)]
    for version in versions:
        _require_draft_to_activate(version)
    _freeze(actor, versions)
    in_force = {version.template.name: _activate(actor, version) for version in versions}
    return [in_force[name] for name, _ in chosen]


def _refuse_twins(names: list[str]) -> None:
    if not names or len(set(names)) < len(names):
        message = "Name each template only once, with the version to activate."
        raise Invalid(message, [FieldError("versions", "invalid", message)])


def _activate(actor: Actor, version: TemplateVersion) -> TemplateVersion:
    _retire_others(actor, version)
    old = version.status
    version.status = VersionStatus.ACTIVE
    version.activated_at = database_now()
    version.activated_by_name = actor.name
    version.event_name = ((version.canonical or {}).get("event") or {}).get("name", "")
    _save_move(version)
    hold_schedules_of(version, held=False)
    if (version.canonical or {}).get("trigger") == "event":
        cancel_schedules_of(actor=actor, version=version)
    declare_schedule(actor=actor, version=version)
    _describe(version.template, version)
    admit_waiting(version.tenant_id, version.template_id)
    record(version.template, Act("activate_template", old=old, new={"version": version.number}), actor=actor)
    return version


def _freeze(actor: Actor, drafts: Sequence[TemplateVersion]) -> None:
    """Check once more, now, with what the tenant has today, and play the stored tests; keep findings, refuse errors."""
    facts = facts_together_with(actor, frozenset(draft.template.name for draft in drafts))
    read = {draft.template.name: _normalized(draft.source, facts) for draft in drafts}
    given = {name: one.canonical for name, one in read.items() if one.canonical is not None}
    checked = {draft.template.name: _checked(actor, draft.source, facts, given) for draft in drafts}
    red = _red_tests(actor, drafts, {name: one.canonical for name, one in checked.items()})
    found = {name: (*one.findings, *red.get(name, ())) for name, one in checked.items()}
    _refuse_errors(found)
    for draft in drafts:
        for field, value in _content(draft.source, checked[draft.template.name]).items():
            setattr(draft, field, value)


def _red_tests(
    actor: Actor, drafts: Sequence[TemplateVersion], canonicals: Mapping[str, dict[str, Any] | None]
) -> dict[str, list[Finding]]:
    """Run the tests of all drafts, each with the others at hand; none where one of them cannot be read."""
    clean = {name: canonical for name, canonical in canonicals.items() if canonical is not None}
    if len(clean) < len(canonicals):
        return {}
    given = {name: compile_definition(canonical) for name, canonical in clean.items()}
    found = {}
    for draft in drafts:
        canonical = clean[draft.template.name]
        others = workflows_around(actor.tenant_id, canonical, given)
        found[draft.template.name] = red_tests(draft.source, canonical, others, actor.tenant_id)
    return found


def _refuse_errors(found: Mapping[str, tuple[Finding, ...]]) -> None:
    """Refuse where any document has an error; of several, each finding says in its path whose it is."""
    errors = [finding for findings in found.values() for finding in findings if finding.severity == ERROR]
    if not errors:
        return
    count = "1 error" if len(errors) == 1 else f"{len(errors)} errors"
    if len(found) == 1:
        raise Unprocessable(f"Fix {count} before you activate.", next(iter(found.values())))
    named = [replace(one, path=f"{name}: {one.path}") for name, findings in found.items() for one in findings]
    raise Unprocessable(f"Fix {count} before you activate. Nothing of the set was activated.", named)


def _retire_others(actor: Actor, version: TemplateVersion) -> None:
    for other in version.template.versions.in_force().exclude(pk=version.pk):
        _archive(actor, other)


def _archive(actor: Actor, version: TemplateVersion) -> None:
    old = version.status
    version.status = VersionStatus.ARCHIVED
    version.archived_at = database_now()
    version.save()
    record(version.template, Act("archive_template", old=old, new={"version": version.number}), actor=actor)


def _save_move(version: TemplateVersion) -> None:
    try:
        with transaction.atomic():
            version.save()
    except IntegrityError as error:
        raise Conflict("Another version was activated at the same moment.", code="status") from error


@in_one_transaction
def pause_version(*, actor: Actor, name: str, number: int) -> TemplateVersion:
    """Pause a version: nothing new starts; running instances continue."""
    return _move(actor, name, number, VersionStatus.PAUSED, "pause_template")


@in_one_transaction
def resume_version(*, actor: Actor, name: str, number: int) -> TemplateVersion:
    """Resume a paused version: it starts instances again."""
    version = access.version_to_author(actor, name, number)
    if version.status != VersionStatus.PAUSED:
        raise _wrong_status(version, "resumed")
    return _move(actor, name, number, VersionStatus.ACTIVE, "resume_template")


@in_one_transaction
def archive_version(*, actor: Actor, name: str, number: int) -> TemplateVersion:
    """Archive a version for good; its instances stay on it. What active workflows start has to stay."""
    _take_turn(actor)
    version = access.version_to_author(actor, name, number)
    _require_move(version, VersionStatus.ARCHIVED)
    _refuse_used(version)
    _archive(actor, version)
    cancel_schedules_of(actor=actor, version=version)
    return version


def _take_turn(actor: Actor) -> None:
    """Make a tenant's activations and archivings take turns: each looks at what the others activated."""
    take_locks(lock_name(actor.tenant_id, "authoring"))


def _refuse_used(version: TemplateVersion) -> None:
    """Keep active what other active workflows start. Pausing is not refused: it is the brake, and can be undone."""
    name = version.template.name
    others = TemplateVersion.objects.in_force().filter(tenant_id=version.tenant_id).exclude(pk=version.pk)
    named = others.select_related("template").order_by("template__name").defer("source")
    users = [other.template.name for other in named if name in required_workflows(other.canonical or {})]
    if users:
        raise Conflict(
            f"{name} stays: {', '.join(users)} {'starts' if len(users) == 1 else 'start'} it. Archive or change "
            f"{'that' if len(users) == 1 else 'those'} first, or pause {name}.",
            code="in_use",
            used_by=users,
        )


def _move(actor: Actor, name: str, number: int, status: VersionStatus, action: str) -> TemplateVersion:
    version = access.version_to_author(actor, name, number)
    _require_move(version, status)
    old = version.status
    version.status = status
    version.save()
    hold_schedules_of(version, held=status == VersionStatus.PAUSED)
    record(version.template, Act(action, old=old, new={"version": version.number}), actor=actor)
    return version


PAST_WORDS = {
    VersionStatus.ACTIVE: "activated",
    VersionStatus.PAUSED: "paused",
    VersionStatus.ARCHIVED: "archived",
    VersionStatus.DRAFT: "changed",
}


def _require_move(version: TemplateVersion, status: VersionStatus) -> None:
    if status not in VERSION_MOVES[VersionStatus(version.status)]:
        raise _wrong_status(version, PAST_WORDS[status])


def _require_draft_to_activate(version: TemplateVersion) -> None:
    """Refuse all but drafts: a paused version is resumed, and keeps who activated it."""
    if version.status == VersionStatus.PAUSED:
        message = f"Version {version.number} is paused. Resume it instead."
        raise Conflict(message, code="status", status=version.status)
    _require_move(version, VersionStatus.ACTIVE)


def _require_draft(version: TemplateVersion) -> None:
    if version.status != VersionStatus.DRAFT:
        raise _wrong_status(version, "changed")


def _wrong_status(version: TemplateVersion, act: str) -> Conflict:
    return Conflict(
        f"Version {version.number} is {version.status}; it cannot be {act}.", code="status", status=version.status
    )
