"""Announce new tasks to roles in Slack or Teams: a line with a link, no facts, since everybody in the chat reads it."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from engine.models import RoleChat, Task
from engine.presentation.narrative.people_names import names_shown, said
from engine.services.notifications.role_chats import TEST, chat_of, note_chat
from engine.services.notifications.sending import Message, Sent
from engine.storage.encryption import UnreadableSecret, decrypt
from engine.transports.base import Failed, make_call
from engine.transports.outcomes import CallResult
from workflowplatform.database.tenancy import acting_for
from workflowplatform.http.public_links import public_address
from workflowplatform.mail_texts import as_words

TIMEOUT_SECONDS = 15.0
MOST_LINES = 6


def send_chat_message(message: Message) -> Sent:
    """Write one message into a chat of a role, in the chat's language."""
    assert message.role_id is not None
    with acting_for(message.tenant_id):
        tasks = _open_tasks(message)
        chat = chat_of(message.role_id, message.channel)
    is_test = any(row.key.startswith(TEST) for row in message.rows)
    if chat is None or not (tasks or is_test):
        return Sent("dropped", "There is nothing new, or no chat.")
    with translation.override(chat.language or settings.LANGUAGE_CODE), names_shown(message.tenant_id):
        title = heading(chat, tasks) if tasks else _test_words(chat)
        return post(chat, BODIES[chat.chat](title, lines(tasks)), str(message.id))


def _test_words(chat: RoleChat) -> str:
    return _("It works. New tasks for %(role)s are announced here.") % {"role": as_words(str(chat.role))}


def _open_tasks(message: Message) -> list[Task]:
    """Return the tasks that nobody has taken meanwhile."""
    asked = [row.task_id for row in message.rows if row.task_id]
    own = Task.objects.open().filter(tenant_id=message.tenant_id, pk__in=asked, assignee__isnull=True)
    return list(own.order_by("-priority", "pk"))


def post(chat: RoleChat, body: dict[str, Any], key: str) -> Sent:
    """Post to a chat through the address guard, and keep for operators what went wrong."""
    try:
        address = decrypt(bytes(chat.address))
    except UnreadableSecret as error:
        sent = Sent("failed", str(error))
    else:
        request = {"method": "POST", "url": address, "body": body}
        allow = chat.tenant.http_allow
        result = make_call("http", request, key=key, timeout_seconds=TIMEOUT_SECONDS, http_allow=allow, redirects=False)
        sent = _sent(result)
    note_chat(chat, sent.why)
    return sent


def _sent(result: CallResult) -> Sent:
    """Sum up. Where no answer came, the message may have arrived."""
    if isinstance(result, Failed):
        return Sent("failed", result.message, is_sure=result.code != "no_answer")
    return Sent("sent")


def heading(chat: RoleChat, tasks: Sequence[Task]) -> str:
    """Describe how many tasks are new for whom."""
    facts = {"n": len(tasks), "role": as_words(str(chat.role))}
    return ngettext("%(n)d new task for %(role)s", "%(n)d new tasks for %(role)s", len(tasks)) % facts


def lines(tasks: Sequence[Task]) -> list[tuple[str, str]]:
    """Return the first tasks as texts and addresses."""
    return [
        (
            " · ".join(filter(None, (as_words(said(task.title)), as_words(task.business_reference or "")))),
            public_address(reverse("inbox:task", args=[task.pk])),
        )
        for task in tasks[:MOST_LINES]
    ]


def slack_body(title: str, found: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Write a message for Slack; its three control characters are escaped, as Slack asks."""
    shown = [f"• <{url}|{_escaped(text)}>" for text, url in found]
    return {"text": "\n".join([f"*{_escaped(title)}*", *shown])}


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def teams_body(title: str, found: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Write a card for Teams; a text that is not Markdown cannot place a link."""
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [{"type": "TextBlock", "weight": "bolder", "wrap": True, "text": _plain(title)}],
        "actions": [{"type": "Action.OpenUrl", "title": _plain(text), "url": url} for text, url in found],
    }
    content_type = "application/vnd.microsoft.card.adaptive"
    return {"type": "message", "attachments": [{"contentType": content_type, "content": card}]}


def _plain(text: str) -> str:
    return "".join(f"\\{letter}" if letter in "[]()*_`" else letter for letter in text)


BODIES = {"slack": slack_body, "teams": teams_body}
