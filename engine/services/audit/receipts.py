"""Hand out a receipt of a case: who decided what and when, with the end of its audit, signed.

A receipt is one JSON file: a statement word for word, our signature of it, and our public key. It can be verified years later
with the public key alone, without the database.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from engine import access
from engine.audit.chain import database_now, moment
from engine.audit.signatures import is_signature_of, public_key, public_key_if_made, sign
from engine.errors import UntrustedFile
from engine.kernel.transitions import TaskStatus
from engine.models import CaseFile, Instance, Task, TaskAttachment
from workflowplatform.accounts.actor import Actor

WHAT = "receipt of a case"
LARGEST = 64 * 1024 * 1024
"""More than a case of the largest size can make."""


class BadReceipt(UntrustedFile):
    """A file is not a receipt of a case, or was changed."""


def make_receipt(*, actor: Actor, instance_id: UUID) -> str:
    """Write the receipt of a case that the actor sees, as it is now."""
    instance = access.instance_of(actor, instance_id)
    statement = json.dumps(_said(actor, instance), sort_keys=True, ensure_ascii=False)
    signed = {"statement": statement, "signature": sign(statement.encode()), "public_key": public_key()}
    return json.dumps(signed, sort_keys=True, ensure_ascii=False, indent=1) + "\n"


def _said(actor: Actor, instance: Instance) -> dict[str, Any]:
    return {
        "what": WHAT,
        "form": 1,
        "made_at": moment(database_now()),
        "by": actor.name,
        "tenant": str(instance.tenant_id),
        "case": {
            "id": str(instance.pk),
            "reference": instance.reference,
            "title": instance.title or None,
            "template": instance.template.name,
            "version": instance.version.number,
            "status": instance.status,
            "outcome": instance.outcome,
            "started_by": instance.started_by_name,
            "started_at": moment(instance.started_at),
            "ended_at": moment(instance.ended_at) if instance.ended_at else None,
            "input": instance.input,
            "output": instance.output,
        },
        "decisions": list(_decisions(instance)),
        "comments": list(_comments(actor, instance)),
        "files": list(_files(actor, instance)),
        "audit": {"events": instance.audit_seq, "hash": instance.audit_hash},
    }


def decided_tasks(instance: Instance) -> list[Task]:
    """Return the answered tasks of a case, in the order in which they were answered."""
    return list(instance.tasks.filter(status=TaskStatus.COMPLETED).order_by("completed_at", "id"))


def _decisions(instance: Instance) -> Iterator[dict[str, Any]]:
    for task in decided_tasks(instance):
        yield {
            "step": task.step,
            "iteration": task.iteration,
            "task": task.title,
            "outcome": task.outcome,
            "by": task.completed_by_name,
            "for": task.completed_for_name,
            "answered_by": task.answered_by,
            "at": moment(task.completed_at) if task.completed_at else None,
            "comment": task.comment,
            "answer": task.answer,
        }


def _comments(actor: Actor, instance: Instance) -> Iterator[dict[str, Any]]:
    for said in access.comments_of_case(actor, instance.pk):
        yield {"by": said.author_name, "at": moment(said.at), "text": said.text}


def _files(actor: Actor, instance: Instance) -> Iterator[dict[str, Any]]:
    files: list[CaseFile | TaskAttachment] = [*access.case_files(actor, instance.pk)]
    files += access.files_of_case(actor, instance.pk)
    for file in files:
        yield {"name": file.name, "size": file.size, "sha256": file.sha256}


def receipt_name(instance: Instance) -> str:
    """Return the name of the file: by the reference people know the case by."""
    plain = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in instance.reference or "")
    return f"{plain.strip('-') or instance.pk}.receipt.json"


def verify_receipt(place: Path, *, keys: Sequence[str] = ()) -> dict[str, Any]:
    """Return what a receipt says, or raise BadReceipt; `keys` are the public keys to trust, ours unless said."""
    signed = _read(place)
    trusted = keys or [key for key in [public_key_if_made()] if key]
    if not trusted:
        raise BadReceipt("no_key", "This host has no signing key. Give the public key to trust with --key.")
    if signed["public_key"] not in trusted:
        message = f"{place} was signed with another key. If you trust it, give its public key with --key."
        raise BadReceipt("other_key", message)
    if not is_signature_of(signed["signature"], signed["statement"].encode(), signed["public_key"]):
        raise BadReceipt("signature", f"{place} was changed: its signature does not match.")
    said: dict[str, Any] = json.loads(signed["statement"])
    if said.get("what") != WHAT:
        raise BadReceipt("other_file", f"{place} is signed, but is not a receipt of a case.")
    return said


def _read(place: Path) -> dict[str, str]:
    try:
        with place.open("rb") as file:
            text = file.read(LARGEST + 1)
    except OSError as error:
        raise BadReceipt("unreadable", f"{place} cannot be read: {error.strerror}") from error
    try:
        given = json.loads(text.decode())
        if set(given) != {"statement", "signature", "public_key"}:
            raise ValueError("more or less than what is signed")
        return {name: str(value) for name, value in given.items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise BadReceipt("no_receipt", f"{place} is not a receipt of a case, or was cut off.") from error
