"""Chats in which roles are told of their tasks, by an incoming webhook of Slack or Teams."""

from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from engine import access
from engine.audit.chain import Act, database_now, record
from engine.db.transactions import in_one_transaction
from engine.errors import Invalid, NotFound
from engine.kernel.forms import FieldError
from engine.models import RoleChat
from engine.models.notification import CHATS
from engine.storage.encryption import encrypt
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_MANAGE_WEBHOOKS
from workflowplatform.accounts.models import Tenant

LONGEST = 2000


@in_one_transaction
def set_role_chat(*, actor: Actor, role: str, chat: str, address: str) -> RoleChat | None:
    """Tell a role of its tasks in this chat from now on; an empty address ends that. It needs the level for webhooks."""
    access.require_level(actor, TO_MANAGE_WEBHOOKS, "manage webhooks")
    found = access.visible_roles(actor).filter(name=role).first()
    if found is None:
        raise NotFound
    _check(chat, address)
    key: dict[str, Any] = {"tenant_id": actor.tenant_id, "role_id": found.pk, "chat": chat}
    record(Tenant.objects.get(pk=actor.tenant_id), _act(role, chat, bool(address)), actor=actor)
    if not address:
        RoleChat.objects.filter(**key).delete()
        return None
    fields = {"address": encrypt(address), "failed_at": None, "failure": ""}
    return RoleChat.objects.update_or_create(**key, defaults=fields)[0]


def _act(role: str, chat: str, is_on: bool) -> Act:
    return Act("set_role_chat", new={"role": role, "chat": chat, "on": is_on})


def _check(chat: str, address: str) -> None:
    parts = urlsplit(address) if len(address) <= LONGEST else None
    if chat not in CHATS:
        message = "Choose slack or teams."
        raise Invalid(message, [FieldError("chat", "choice", message)])
    if address and (parts is None or parts.scheme not in ("http", "https") or not parts.hostname):
        message = "Use the address of an incoming webhook, such as https://hooks.slack.com/services/…"
        raise Invalid(message, [FieldError("address", "invalid", message)])


def chats_of(role_id: UUID) -> list[RoleChat]:
    """Return the chats of a role."""
    return list(RoleChat.objects.filter(role_id=role_id).select_related("role", "tenant"))


def note_chat(chat: RoleChat, failure: str) -> None:
    """Keep whether the last message arrived, for operators."""
    failed_at = database_now() if failure else None
    RoleChat.objects.filter(pk=chat.pk).update(failed_at=failed_at, failure=failure[:1000])
