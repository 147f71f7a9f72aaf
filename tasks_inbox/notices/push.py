"""Send messages to browsers, encrypted for each of them."""

import json
from typing import Any

from django.conf import settings

from engine.models import PushSubscription
from engine.services.notifications.audience import items_for
from engine.services.notifications.preferences import preferences_of
from engine.services.notifications.push import browsers_of, forget_browser
from engine.services.notifications.sending import Message, Sent
from engine.transports.outcomes import CallResult, Failed, Succeeded
from engine.transports.web_push import Target, send_push
from tasks_inbox.notices.digest import digest_for
from tasks_inbox.notices.reader import as_reader
from tasks_inbox.notices.words import message_words, page_path
from workflowplatform.accounts.actor import actor_of
from workflowplatform.accounts.models import User
from workflowplatform.http.public_links import public_address

LONGEST = 300
GONE = frozenset({"http_404", "http_410"})


def send_push_message(message: Message) -> Sent:
    """Send a message to every browser of a person; one that takes none any more is deleted."""
    assert message.person_id is not None
    person = User.objects.filter(pk=message.person_id, is_active=True).first()
    browsers = browsers_of(message.person_id)
    if person is None or not browsers:
        return Sent("dropped", "No browser takes messages.")
    content = compose(message, person)
    if content is None:
        return Sent("dropped", "It is no news any more.")
    return _outcome([push_to(browser, content, str(message.id)) for browser in browsers])


def compose(message: Message, person: User) -> dict[str, Any] | None:
    """Write a message in its reader's language; None where nothing is left to tell."""
    with as_reader(person):
        actor = actor_of(person)
        if message.style != "single":
            digest = digest_for(actor, person, message, preferences_of([person])[person.pk])
            return _content(digest.subject, digest.sentence, digest.path, "digest") if digest else None
        items = items_for(actor, message.rows)
        if not items:
            return None
        words = message_words(items[0])
        body = " ".join(part for part in (words.sentence, words.due.text if words.due else "", words.quote) if part)
        return _content(words.heading, body, page_path(items[0]), str(items[0].row.task_id or items[0].row.instance_id))


def _content(title: str, body: str, path: str, tag: str) -> dict[str, Any]:
    return {"title": title[:LONGEST], "body": body[:LONGEST], "url": path, "tag": tag}


def push_to(browser: PushSubscription, content: dict[str, Any], key: str) -> CallResult:
    """Send one message to one browser."""
    target = Target(browser.endpoint, browser.public_key, browser.auth)
    contact = public_address("") or f"mailto:{settings.DEFAULT_FROM_EMAIL}"
    result = send_push(target, json.dumps(content, ensure_ascii=False).encode(), key=key, contact=contact)
    if isinstance(result, Failed) and result.code in GONE:
        forget_browser(browser)
    return result


def _outcome(results: list[CallResult]) -> Sent:
    """Sum up: told if any browser took it, and tried again only where another try may help."""
    if any(isinstance(result, Succeeded) for result in results):
        return Sent("sent")
    failed = [result for result in results if isinstance(result, Failed) and result.code not in GONE]
    if not failed:
        return Sent("dropped", "No browser takes messages any more.")
    final = all(result.error_class not in ("transport", "timeout") for result in failed)
    return Sent("failed", failed[0].message, final=final)
