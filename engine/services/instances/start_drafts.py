"""Keep start forms that people have begun, with their files, until they send them.

A draft is its owner's alone. It is found by the number of the form it was typed into, so that two windows never overwrite each
other. A request that is sent takes its files along; one that is refused leaves draft and files as they are.
"""

import re
from collections.abc import Mapping, Sequence
from typing import IO, Any
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from engine import access
from engine.audit.chain import Act, database_now, record
from engine.db.advisory_locks import lock_name, take_locks
from engine.db.transactions import in_one_transaction
from engine.errors import Conflict, Invalid, NotFound, Refused
from engine.kernel.forms import FieldError, refuse_unsafe_json
from engine.kernel.tasks.answers import USUAL, asks_for_files, ending_of, files_named
from engine.kernel.tasks.rules import FILE_KINDS
from engine.models import CaseFile, IdempotencyKey, Instance, StartDraft, TemplateVersion
from engine.services.instances.lifecycle import attention_words
from engine.storage.attachments import clean_name, file_path, keep, read_up_to, refuse_file
from workflowplatform.accounts.actor import Actor
from workflowplatform.ids import uuid7

NUMBER = re.compile(r"\w{1,64}", re.ASCII)
MOST_DRAFTS = 10
"""How many drafts of one template a person keeps; the oldest make room."""
ROUTE = "inbox/start/{template}"
"""Under which route the inbox keeps the answer to a start form, so that it starts once."""


@in_one_transaction
def save_start_draft(*, actor: Actor, version: TemplateVersion, number: str, values: Mapping[str, Any]) -> StartDraft:
    """Keep what was typed so far, right or wrong."""
    draft = _draft(actor, version, number)
    errors = refuse_unsafe_json(dict(values))
    if errors:
        raise Invalid(_("This cannot be kept as it is."), errors)
    draft.values, draft.saved_at = dict(values), database_now()
    draft.save(update_fields=["values", "saved_at"])
    return draft


def _draft(actor: Actor, version: TemplateVersion, number: str) -> StartDraft:
    """Return the draft of a form, a new one if need be; refuse where the form was sent already."""
    if actor.crosses or actor.person_id is None:
        raise Refused(_("You work in another tenant; drafts are only kept for its own people."), code="refused")
    if not NUMBER.fullmatch(number):
        raise NotFound
    take_locks(lock_name("start_draft", actor.person_id, version.template_id))
    route = ROUTE.format(template=version.template.name)
    sent = IdempotencyKey.objects.filter(tenant_id=actor.tenant_id, actor_id=actor.person_id, route=route)
    if sent.filter(key__startswith=f"{number}:").exists():
        raise Conflict(_("This form was sent already."), code="closed")
    draft, is_new = StartDraft.objects.get_or_create(
        tenant_id=actor.tenant_id,
        owner_id=actor.person_id,
        number=number,
        defaults={"template_id": version.template_id, "saved_at": database_now()},
    )
    if draft.template_id != version.template_id:
        raise NotFound
    if is_new:
        _make_room(actor, version)
    return draft


def _make_room(actor: Actor, version: TemplateVersion) -> None:
    for old in access.start_drafts(actor).filter(template_id=version.template_id)[MOST_DRAFTS:]:
        _delete(old)


@in_one_transaction
def discard_start_draft(*, actor: Actor, version: TemplateVersion, number: str) -> None:
    """Throw away what was typed, files too."""
    draft = access.start_drafts(actor).filter(template_id=version.template_id, number=number).first()
    if draft is not None:
        _delete(draft)


def _delete(draft: StartDraft) -> None:
    places = [file_path(file.tenant_id, file.pk) for file in draft.files.all()]
    draft.delete()
    for place in places:
        transaction.on_commit(lambda place=place: place.unlink(missing_ok=True))  # type: ignore[misc]


@in_one_transaction
def add_start_file(*, actor: Actor, version: TemplateVersion, number: str, name: str, content: IO[bytes]) -> CaseFile:
    """Add a file to a start form that is being filled in; a wrong one is refused by name."""
    if not asks_for_files((version.canonical or {}).get("input")):
        raise Refused(_("The author of this workflow wants no files here."), code="refused")
    name = clean_name(name)
    read = read_up_to(content, USUAL.max_size)
    wrong = refuse_file(USUAL, name, read)
    if wrong is not None:
        raise Invalid(wrong.message, [wrong])
    draft = _draft(actor, version, number)
    there = list(draft.files.values_list("name", flat=True))
    if len(there) >= USUAL.max:
        message = _("There are %(most)s files already; take one away first.") % {"most": USUAL.max}
        raise Conflict(message, code="limit", limit=USUAL.max)
    return _keep_file(actor, draft, _free_name(name, there), read)


def _free_name(name: str, there: Sequence[str]) -> str:
    """Return a name that no other file of the draft has: values name files, so two of one name could not be told apart."""
    stem, dot, ending = name.rpartition(".")
    tries = (name, *(f"{stem} ({number}){dot}{ending}" for number in range(2, USUAL.max + 2)))
    return next(one for one in tries if one not in there)


def _keep_file(actor: Actor, draft: StartDraft, name: str, content: bytes) -> CaseFile:
    file_id = uuid7()
    return CaseFile.objects.create(
        id=file_id,
        tenant_id=draft.tenant_id,
        draft=draft,
        name=name,
        content_type=FILE_KINDS[ending_of(name)].media_type,
        size=len(content),
        sha256=keep(file_path(draft.tenant_id, file_id), content),
        added_by_id=actor.person_id,
        added_by_name=actor.name,
        added_at=database_now(),
    )


@in_one_transaction
def remove_start_file(*, actor: Actor, version: TemplateVersion, file_id: UUID) -> None:
    """Take a file away again before the form is sent."""
    file = access.files_of_own_drafts(actor, version).filter(pk=file_id).first()
    if file is None:
        raise NotFound
    place = file_path(file.tenant_id, file.pk)
    file.delete()
    transaction.on_commit(lambda: place.unlink(missing_ok=True))


def missing_start_files(*, actor: Actor, version: TemplateVersion, number: str, values: Any) -> list[FieldError]:
    """List the values that name a file which this form does not have."""
    named = dict(files_named((version.canonical or {}).get("input"), values))
    there = set(access.start_files(actor, version, number).values_list("name", flat=True)) if named else set()
    return [
        FieldError(path, "file", _("There is no file called %(name)s here; add it first.") % {"name": name})
        for path, name in named.items()
        if name not in there
    ]


def refuse_missing_files(*, actor: Actor, version: TemplateVersion, number: str, values: Any) -> None:
    """Refuse a start that names files which nobody added to its form."""
    missing = missing_start_files(actor=actor, version=version, number=number, values=values)
    if missing:
        raise Invalid(attention_words(len(missing)), missing)


def hand_over_draft(*, actor: Actor, version: TemplateVersion, number: str, instance: Instance) -> None:
    """Move the files that a start names to its instance, and delete the draft; within the start's own transaction."""
    draft = access.start_drafts(actor).filter(template_id=version.template_id, number=number).first()
    if draft is None:
        return
    named_files = {name for _path, name in files_named((version.canonical or {}).get("input"), instance.input)}
    files = list(draft.files.filter(name__in=named_files))
    draft.files.filter(name__in=named_files).update(draft=None, instance_id=instance.pk)
    _delete(draft)
    if files:
        named = [{"name": file.name, "size": file.size, "sha256": file.sha256} for file in files]
        record(instance, Act("add_files", new={"files": named}), actor=actor)


def open_case_file(file: CaseFile) -> IO[bytes]:
    """Open a file that the reader may see."""
    try:
        return file_path(file.tenant_id, file.pk).open("rb")
    except FileNotFoundError:
        raise NotFound from None
