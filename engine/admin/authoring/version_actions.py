"""The buttons of a version's page: each calls one service."""

from typing import Any

from django.http import HttpRequest

from engine import access
from engine.admin.permissions import actor_of
from engine.admin.row_actions import Button
from engine.kernel.transitions import VERSION_MOVES, VersionStatus
from engine.models import TemplateVersion
from engine.services.templates import creation
from engine.services.templates import versions as templates
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_AUTHOR


def activate(request: HttpRequest, version: TemplateVersion) -> str:
    templates.activate_version(actor=actor_of(request), name=version.template.name, number=version.number)
    return f"Version {version.number} is active."


def pause(request: HttpRequest, version: TemplateVersion) -> str:
    templates.pause_version(actor=actor_of(request), name=version.template.name, number=version.number)
    return f"Version {version.number} is paused: no new instances start; running ones continue."


def resume(request: HttpRequest, version: TemplateVersion) -> str:
    templates.resume_version(actor=actor_of(request), name=version.template.name, number=version.number)
    return f"Version {version.number} is active again."


def archive(request: HttpRequest, version: TemplateVersion) -> str:
    templates.archive_version(actor=actor_of(request), name=version.template.name, number=version.number)
    return f"Version {version.number} was archived; its instances stay on it."


def delete(request: HttpRequest, version: TemplateVersion) -> str:
    templates.delete_draft(actor=actor_of(request), name=version.template.name, number=version.number)
    return f"The draft of version {version.number} was deleted."


def begin(request: HttpRequest, version: TemplateVersion) -> str:
    fresh = templates.new_draft(actor=actor_of(request), name=version.template.name, number=version.number)
    lead_to(request, fresh)
    return f"Version {fresh.number} was created as a copy of version {version.number}."


def duplicate(request: HttpRequest, version: TemplateVersion) -> str:
    fresh = creation.duplicate_version(actor=actor_of(request), name=version.template.name, number=version.number)
    lead_to(request, fresh)
    return f"{fresh.template} was created as a copy of {version}. Give it its own name before you activate it."


def roll_back(request: HttpRequest, version: TemplateVersion) -> str:
    fresh = creation.roll_back(actor=actor_of(request), name=version.template.name, number=version.number)
    lead_to(request, fresh)
    return f"Version {fresh.number} is active. It is a copy of version {version.number}."


def lead_to(request: HttpRequest, version: TemplateVersion) -> None:
    """Show another version once the button is done."""
    request.begun = version  # type: ignore[attr-defined]


def can_move_to(status: VersionStatus) -> Any:
    """Offer a button if the status table allows the move."""
    return lambda actor, version: status in VERSION_MOVES[VersionStatus(version.status)]


def is_paused(actor: Actor, version: TemplateVersion) -> bool:
    return version.status == VersionStatus.PAUSED


def is_draft(actor: Actor, version: TemplateVersion) -> bool:
    return version.status == VersionStatus.DRAFT


def is_no_draft(actor: Actor, version: TemplateVersion) -> bool:
    return version.status != VersionStatus.DRAFT


def is_archived(actor: Actor, version: TemplateVersion) -> bool:
    """Offer it for versions that were active once."""
    return version.status == VersionStatus.ARCHIVED and version.activated_at is not None


def running_on(actor: Actor, version: TemplateVersion) -> str:
    """Count the instances that stay on a version, in words."""
    count = access.visible_instances(actor).filter(version=version).live().count()
    if not count:
        return "No instances run on it."
    return (
        f"{count} instances run on it and continue to their end."
        if count > 1
        else "1 instance runs on it and continues to its end."
    )


def after_archiving(actor: Actor, version: TemplateVersion) -> str:
    stops = "This template cannot be started until another version is active, and its schedules end."
    return f"Version {version.number} will no longer be active. {stops} {running_on(actor, version)}"


def after_pausing(actor: Actor, version: TemplateVersion) -> str:
    return f"No new instances start, and schedules wait until it is resumed. {running_on(actor, version)}"


def after_rolling_back(actor: Actor, version: TemplateVersion) -> str:
    now = access.visible_versions(actor).filter(template=version.template_id).active().first()
    then = f"A copy of version {version.number} becomes active at once, as a new version."
    return f"{then} Version {now.number} will be archived. {running_on(actor, now)}" if now else then


BUTTONS = (
    Button("begin", "New version from this one", begin, TO_AUTHOR, is_no_draft),
    Button("rollback", "Roll back to this version", roll_back, TO_AUTHOR, is_archived, preview=after_rolling_back),
    Button("pause", "Pause", pause, TO_AUTHOR, can_move_to(VersionStatus.PAUSED), preview=after_pausing),
    Button("resume", "Resume", resume, TO_AUTHOR, is_paused),
    Button(
        "archive",
        "Archive",
        archive,
        TO_AUTHOR,
        can_move_to(VersionStatus.ARCHIVED),
        danger=True,
        preview=after_archiving,
    ),
    Button(
        "discard",
        "Delete draft",
        delete,
        TO_AUTHOR,
        is_draft,
        danger=True,
        preview="Its text is lost for good. The active version does not change.",
    ),
    Button("activate", "Activate", activate, TO_AUTHOR, is_draft),
    Button("duplicate", "Duplicate", duplicate, TO_AUTHOR),
)
