"""Tell roles of new tasks in Slack or Teams: a line with a link, no facts, since everybody in the chat reads it."""

from collections.abc import Sequence
from typing import Any

from django.urls import reverse
from django.utils.translation import ngettext

from engine.models import RoleChat, Task
from engine.presentation.narrative.people_names import names_shown, said
from engine.services.notifications.role_chats import chats_of, note_chat
from engine.services.notifications.sending import Message, Sent
from engine.storage.encryption import UnreadableSecret, decrypt
from engine.transports.base import Failed, make_call
from workflowplatform.database.tenancy import acting_for
from workflowplatform.http.public_links import public_address
from workflowplatform.mail_texts import as_words

TIMEOUT_SECONDS = 15.0
MOST_LINES = 6


def send_chat_message(message: Message) -> Sent:
    """Write one message into every chat of a role; sent if any took it."""
    assert message.role_id is not None
    with acting_for(message.tenant_id):
        tasks = _open_tasks(message)
        chats = chats_of(message.role_id)
    if not tasks or not chats:
        return Sent("dropped", "There is nothing new, or no chat.")
    with names_shown(message.tenant_id):
        failures = [_post(chat, tasks, str(message.id)) for chat in chats]
    if all(failures):
        return Sent("failed", next(filter(None, failures)))
    return Sent("sent")


def _open_tasks(message: Message) -> list[Task]:
    """Return the tasks that nobody has taken meanwhile."""
    asked = [row.task_id for row in message.rows if row.task_id]
    own = Task.objects.open().filter(tenant_id=message.tenant_id, pk__in=asked, assignee__isnull=True)
    return list(own.order_by("-priority", "pk"))


def _post(chat: RoleChat, tasks: Sequence[Task], key: str) -> str:
    """Post to one chat through the address guard; return what went wrong."""
    try:
        address = decrypt(bytes(chat.address))
    except UnreadableSecret as error:
        failure = str(error)
    else:
        request = {"method": "POST", "url": address, "body": BODIES[chat.chat](heading(chat, tasks), lines(tasks))}
        allow = chat.tenant.http_allow
        result = make_call("http", request, key=key, timeout_seconds=TIMEOUT_SECONDS, http_allow=allow, redirects=False)
        failure = result.message if isinstance(result, Failed) else ""
    note_chat(chat, failure)
    return failure


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
