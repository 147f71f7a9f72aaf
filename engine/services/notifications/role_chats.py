"""Chats in which roles are told of their tasks, by an incoming webhook of Slack or Teams.

Its address is a secret: anyone who knows it can write there. It is kept encrypted, shown to nobody and in no message.
"""

from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings

from engine import access
from engine.audit.chain import Act, database_now, record
from engine.db.transactions import in_one_transaction
from engine.errors import Invalid, NotFound
from engine.kernel.forms import FieldError
from engine.models import Notification, RoleChat
from engine.models.notification import CHATS
from engine.services.notifications.notify import News, notify_roles
from engine.services.webhooks.subscriptions import url_errors
from engine.storage.encryption import encrypt
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_MANAGE_WEBHOOKS
from workflowplatform.accounts.models import Role, Tenant
from workflowplatform.ids import uuid7

LONGEST = 2000
TEST = "test:"
"""How the key of a test begins."""


@in_one_transaction
def set_role_chat(*, actor: Actor, role: str, chat: str, address: str, language: str = "") -> RoleChat | None:
    """Send a role's new tasks to this chat from now on; an empty address ends that. It needs the level for webhooks."""
    access.require_level(actor, TO_MANAGE_WEBHOOKS, "manage webhooks")
    found = access.visible_roles(actor).filter(name=role.replace("\0", "")).first()
    if found is None:
        raise NotFound
    tenant = Tenant.objects.get(pk=actor.tenant_id)
    _check(tenant, chat, address, language)
    record(tenant, Act("set_role_chat", new={"role": role, "chat": chat, "on": bool(address)}), actor=actor)
    key: dict[str, Any] = {"tenant_id": actor.tenant_id, "role_id": found.pk, "chat": chat}
    if not address:
        _forget(found, chat)
        return None
    fields = {"address": encrypt(address), "language": language, "failed_at": None, "failure": ""}
    _waiting(found.pk, chat).update(due_at=database_now())
    return RoleChat.objects.update_or_create(**key, defaults=fields)[0]


def _forget(role: Role, chat: str) -> None:
    RoleChat.objects.filter(role_id=role.pk, chat=chat).delete()
    _waiting(role.pk, chat).delete()


def _waiting(role_id: UUID, chat: str) -> Any:
    return Notification.objects.filter(role_id=role_id, channel=chat, status="pending")


def _check(tenant: Tenant, chat: str, address: str, language: str) -> None:
    """Refuse what is no chat, no language, or an address to which the guard would let nothing out."""
    if chat not in CHATS:
        _refuse("chat", "choice", "Choose slack or teams.")
    if language not in ("", *dict(settings.LANGUAGES)):
        _refuse("language", "choice", "Choose a language that the platform speaks.")
    if not address:
        return
    parts = urlsplit(address) if len(address) <= LONGEST and address.isprintable() else None
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        message = "Use the address of an incoming webhook, such as https://hooks.slack.com/services/…"
        _refuse("address", "invalid", message)
    for error in url_errors(tenant, address):
        _refuse("address", error.code, error.message)


def _refuse(field: str, code: str, message: str) -> None:
    raise Invalid(message, [FieldError(field, code, message)])


@in_one_transaction
def try_role_chat(*, actor: Actor, chat_id: UUID) -> None:
    """Write a test into a chat, by the way that all messages take; the chat's page says whether it arrived."""
    access.require_level(actor, TO_MANAGE_WEBHOOKS, "manage webhooks")
    chat = access.visible_role_chats(actor).filter(pk=chat_id).first()
    if chat is None:
        raise NotFound
    news = News("offered", f"{TEST}{uuid7()}", actor_name=actor.name)
    notify_roles([(news, chat.role_id)], database_now(), chat=chat.chat)


def chat_of(role_id: UUID, chat: str) -> RoleChat | None:
    """Return a role's chat of a kind."""
    return RoleChat.objects.filter(role_id=role_id, chat=chat).select_related("role", "tenant").first()


def note_chat(chat: RoleChat, failure: str) -> None:
    """Keep whether the last message arrived, for operators."""
    failed_at = database_now() if failure else None
    RoleChat.objects.filter(pk=chat.pk).update(failed_at=failed_at, failure=failure[:1000])
