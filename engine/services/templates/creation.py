"""Begin templates and versions from what is there: the gallery, another version, a file, an earlier state."""

import re
from itertools import count

from engine import access
from engine.db.transactions import in_one_transaction
from engine.errors import Invalid, NotFound
from engine.gallery import gallery
from engine.kernel.forms import FieldError
from engine.kernel.language.document_set import cut_documents
from engine.kernel.language.source import SourceRefused, read_documents
from engine.models import Template, TemplateVersion
from engine.services.templates.document_sets import save_set
from engine.services.templates.versions import activate_version, activate_versions, new_draft, save_draft
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_AUTHOR

LONGEST_IMPORT = 2_000_000
_VALUE = re.compile(r""""[^"]*"|'[^']*'|[^\s,}#]+""")


@in_one_transaction
def begin_from_gallery(*, actor: Actor, name: str) -> TemplateVersion:
    """Begin a template as the gallery has it, under a name that is free."""
    access.require_level(actor, TO_AUTHOR, "author templates")
    if name not in gallery():
        raise NotFound
    return save_draft(actor=actor, source=_under_free_name(actor, gallery()[name]))


@in_one_transaction
def duplicate_version(*, actor: Actor, name: str, number: int) -> TemplateVersion:
    """Begin another template as a copy of a version."""
    version = access.version_to_author(actor, name, number)
    return save_draft(actor=actor, source=_under_free_name(actor, version.source))


@in_one_transaction
def roll_back(*, actor: Actor, name: str, number: int) -> TemplateVersion:
    """Activate again what an earlier version said: as a new version, checked like any other."""
    fresh = new_draft(actor=actor, name=name, number=number)
    return activate_version(actor=actor, name=name, number=fresh.number)


@in_one_transaction
def import_documents(*, actor: Actor, text: str, activate: bool = False) -> list[TemplateVersion]:
    """Save each document of a file as a draft: of the template it names, or as a new one. All of them or none."""
    access.require_level(actor, TO_AUTHOR, "author templates")
    if not any(piece.source.strip() for piece in cut_documents(text)):
        raise _unfit("Choose a file or paste its text.")
    if len(text) > LONGEST_IMPORT:
        raise _unfit(f"A file holds at most {LONGEST_IMPORT:,} characters.")
    made = save_set(actor=actor, source=text)
    return (
        activate_versions(actor=actor, chosen=[(one.template.name, one.number) for one in made]) if activate else made
    )


def _unfit(message: str) -> Invalid:
    return Invalid(message, [FieldError("text", "invalid", message)])


def _under_free_name(actor: Actor, source: str) -> str:
    """Write a document's name anew where the tenant has one of that name already."""
    try:
        found = read_documents(source)[0].entries or {}
        node = found["workflow"][1]
    except (SourceRefused, LookupError) as problem:
        raise Invalid("Its name cannot be read. Fix the first lines before you duplicate it.") from problem
    free = _free_name(actor, str(node.scalar))
    lines = source.split("\n")
    line = lines[node.line - 1]
    lines[node.line - 1] = line[: node.column - 1] + _VALUE.sub(free, line[node.column - 1 :], count=1)
    return "\n".join(lines)


def _free_name(actor: Actor, name: str) -> str:
    taken = set(
        Template.objects.filter(tenant_id=actor.tenant_id, name__startswith=name).values_list("name", flat=True)
    )
    others = (f"{name}-{number}" for number in count(2))
    return name if name not in taken else next(other for other in others if other not in taken)
