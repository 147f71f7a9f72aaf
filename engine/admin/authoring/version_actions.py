"""What a version's page can do beside saving: each a button that calls one service."""

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
    """Put a draft in force."""
    templates.activate_version(actor=actor_of(request), name=version.template.name, number=version.number)
    return f"Version {version.number} is active."


def pause(request: HttpRequest, version: TemplateVersion) -> str:
    """Let nothing new start."""
    templates.pause_version(actor=actor_of(request), name=version.template.name, number=version.number)
    return f"Version {version.number} is paused: nothing new starts, what runs goes on."


def resume(request: HttpRequest, version: TemplateVersion) -> str:
    """Let instances start again."""
    templates.resume_version(actor=actor_of(request), name=version.template.name, number=version.number)
    return f"Version {version.number} is active again."


def archive(request: HttpRequest, version: TemplateVersion) -> str:
    """Take a version out of force."""
    templates.archive_version(actor=actor_of(request), name=version.template.name, number=version.number)
    return f"Version {version.number} is archived; its instances stay on it."


def delete(request: HttpRequest, version: TemplateVersion) -> str:
    """Throw a draft away."""
    templates.delete_draft(actor=actor_of(request), name=version.template.name, number=version.number)
    return f"The draft of version {version.number} is deleted."


def begin(request: HttpRequest, version: TemplateVersion) -> str:
    """Begin the next version."""
    fresh = templates.new_draft(actor=actor_of(request), name=version.template.name, number=version.number)
    lead_to(request, fresh)
    return f"Version {fresh.number} begins as a copy of version {version.number}."


def duplicate(request: HttpRequest, version: TemplateVersion) -> str:
    """Begin another template from this version."""
    fresh = creation.duplicate_version(actor=actor_of(request), name=version.template.name, number=version.number)
    lead_to(request, fresh)
    return f"{fresh.template} begins as a copy of {version}. Give it a name of its own before you activate it."


def roll_back(request: HttpRequest, version: TemplateVersion) -> str:
    """Put what an earlier version said in force again, as a new version."""
    fresh = creation.roll_back(actor=actor_of(request), name=version.template.name, number=version.number)
    lead_to(request, fresh)
    return f"Version {fresh.number} is active: it says what version {version.number} said."


def lead_to(request: HttpRequest, version: TemplateVersion) -> None:
    """Show another version once the button is done."""
    request.begun = version  # type: ignore[attr-defined]


def can_move_to(status: VersionStatus) -> Any:
    """Offer a button where the status table has that move."""
    return lambda actor, version: status in VERSION_MOVES[VersionStatus(version.status)]


def is_paused(actor: Actor, version: TemplateVersion) -> bool:
    """Offer it for paused versions."""
    return version.status == VersionStatus.PAUSED


def is_draft(actor: Actor, version: TemplateVersion) -> bool:
    """Offer it for drafts."""
    return version.status == VersionStatus.DRAFT


def is_no_draft(actor: Actor, version: TemplateVersion) -> bool:
    """Offer it for versions that are frozen."""
    return version.status != VersionStatus.DRAFT


def is_archived(actor: Actor, version: TemplateVersion) -> bool:
    """Offer it for versions that were in force once."""
    return version.status == VersionStatus.ARCHIVED and version.activated_at is not None


def running_on(actor: Actor, version: TemplateVersion) -> str:
    """Say what becomes of the instances on a version when it leaves force."""
    count = access.visible_instances(actor).filter(version=version).live().count()
    if not count:
        return "Nothing runs on it."
    return (
        f"{count} instances run on it and go on to their end."
        if count > 1
        else "1 instance runs on it and goes on to its end."
    )


def after_archiving(actor: Actor, version: TemplateVersion) -> str:
    """Tell what archiving does before it is done."""
    stops = "nothing starts by this template until another version is active, and its schedules end."
    return f"Version {version.number} leaves force: {stops} {running_on(actor, version)}"


def after_pausing(actor: Actor, version: TemplateVersion) -> str:
    """Tell what pausing does before it is done."""
    return f"Nothing new starts, and schedules wait until it is resumed. {running_on(actor, version)}"


def after_rolling_back(actor: Actor, version: TemplateVersion) -> str:
    """Tell what rolling back does before it is done."""
    now = access.visible_versions(actor).filter(template=version.template_id).active().first()
    then = f"A new version that says what version {version.number} said is in force at once."
    return f"{then} Version {now.number} is archived. {running_on(actor, now)}" if now else then


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
        preview="Its text is gone for good; what is in force stays as it is.",
    ),
    Button("activate", "Activate", activate, TO_AUTHOR, is_draft),
    Button("duplicate", "Duplicate", duplicate, TO_AUTHOR),
)
