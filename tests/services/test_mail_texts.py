"""Names and titles in the platform's own mails place no link there and hide nothing."""

from __future__ import annotations

import ast
import re
import unicodedata
from typing import Any

import pytest
from django.core import mail
from django.utils.html import urlize

from engine.dispatch.drain import drain
from engine.models import Webhook
from engine.services.webhooks.notifications import notify_disabled
from engine.transports.email import send_email
from engine.transports.outcomes import Call
from tests.cast import Cast
from tests.workflows import activated, only_task, started
from workflowplatform.accounts import mails
from workflowplatform.accounts.models import Tenant, User
from workflowplatform.mail_texts import Link, as_words, send_page
from workflowplatform.servers.paths import PROJECT

OURS = "https://workflow.example.com"
HOSTILE = (
    "Click https://evil.example/a?b=1",
    "www.evil.example",
    "see evil.com",
    "HTTP://2130706433/",
    "bob@evil.example",
    "mailto:bob@evil",
    "<a href='https://evil.example'>here</a>",
    "[here](https://evil.example)",
    "https:\u200b//evil\u200b.example",
    "https://evil\uff0eexample",
    "x\r\nBcc: bob@evil.example\r\n\r\nhttps://evil.example",
    "a\u2028https://evil.example\u2029b",
    "\u202ehttps://evil.example\x1b[31m\x00",
)


def links_in(message: Any) -> set[str]:
    """Find links as a mail program might: by Django's own search for them, and by anything that looks like a scheme."""
    text = f"{message.subject}\n{message.body}"
    found = set(re.findall(r'href="([^"]*)"', urlize(text)))
    return found | set(re.findall(r"\w+:\s*//\S*|\bwww\.\S+|\bmailto:\S+", text, re.I))


def hidden_in(message: Any) -> list[str]:
    text = f"{message.subject}{message.body}".replace("\n", "")
    return [character for character in text if unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp")]


def the_mail() -> Any:
    (message,) = mail.outbox
    return message


@pytest.fixture
def links_leave(settings: Any) -> None:
    settings.WORKFLOW_PUBLIC_URL = OURS


def person_of(cast: Cast, name: str) -> User:
    """Give Uri a hostile name, and his tenant the same as its title."""
    Tenant.objects.filter(pk=cast.acme.pk).update(title=name.replace("\0", ""))
    User.objects.filter(pk=cast.uri.pk).update(full_name=name.replace("\0", ""))
    return User.objects.get(pk=cast.uri.pk)


@pytest.mark.security("names in mails place no link")
@pytest.mark.parametrize("name", HOSTILE)
def test_names_place_no_link_in_mails_about_accounts(cast: Cast, name: str) -> None:
    person = person_of(cast, name)
    mails.send_invitation(person, f"{OURS}/accounts/invitation/a/b/")
    mails.send_reset(person, base_url=OURS)
    mails.send_address_changed(person, old="old@acme.example", by=name)
    assert len(mail.outbox) == 3
    for message in mail.outbox:
        assert [link for link in links_in(message) if not link.startswith(f"{OURS}/accounts/")] == []
        assert hidden_in(message) == []
        assert "\n" not in message.subject
    assert links_in(mail.outbox[0]) == {f"{OURS}/accounts/invitation/a/b/"}


@pytest.mark.security("names in mails place no link")
@pytest.mark.parametrize("name", HOSTILE)
def test_a_webhook_places_no_link_in_the_mail_about_it(cast: Cast, links_leave: None, name: str) -> None:
    text = name.replace("\0", "")
    hook = Webhook.objects.create(
        tenant=cast.acme, owner_id=cast.gwen.pk, owner_name="gwen", title=text, url="https://evil.example/in", reason=text,
        events=["instance.started"], secret=b"", after_xid=0, after_id=0,
    )  # fmt: skip
    notify_disabled(hook)
    assert links_in(the_mail()) == {f"{OURS}/admin/engine/webhook/{hook.pk}/change/"}
    assert hidden_in(the_mail()) == []


TOLD = """
workflow: told
title: Told
input: {type: object, properties: {name: {type: string}}}
steps:
  - id: look
    task: {title: "Look at ${start.name}", description: "From ${start.name}", assignee: uri, notify: true}
"""


@pytest.mark.security("names in mails place no link")
@pytest.mark.parametrize("name", [name for name in HOSTILE if "\0" not in name])
def test_a_tasks_title_places_no_link_in_its_notice(committed_cast: Cast, links_leave: None, name: str) -> None:
    gwen = committed_cast.actor("gwen")
    activated(gwen, TOLD)
    task = only_task(started(gwen, "told", name=name))
    drain()
    assert links_in(the_mail()) == {f"{OURS}/inbox/tasks/{task.pk}/"}
    assert hidden_in(the_mail()) == []


def test_a_mail_step_keeps_the_authors_links_and_one_line_of_subject() -> None:
    request = {"to": "ana@acme.example", "subject": "Paid\x1b\u202e\r\nBcc: x", "text": "See https://shop.example/1"}
    send_email(Call(request, "k", 1.0))
    assert (the_mail().subject, the_mail().body) == ("Paid Bcc: x", "See https://shop.example/1")


@pytest.mark.parametrize(
    "name",
    ["Dr. J. R. Müller", "Acme Inc.", "10:30 o'clock, 1.5 t", "Zoë van den Berg (HR)", "می\u200cخواهم", "PO:17/2"],
)
def test_usual_names_are_left_as_they_are(name: str) -> None:
    assert as_words(name) == name


def test_pages_of_mails_see_texts_only() -> None:
    """An object would bring its texts past the check, so that a page could show them as they are."""
    with pytest.raises(TypeError):
        send_page(["a@acme.example"], "s", "mails/reset.txt", {"name": object(), "link": Link(OURS)})  # type: ignore[dict-item]


SENDERS = {"workflowplatform/mail_texts.py", "workflowplatform/accounts/mails.py", "engine/transports/email.py",
           "engine/services/audit/roots.py", "tasks_inbox/notices/mail.py"}  # fmt: skip
"""Where mail is sent: the one place for names; the backend without a server; what an author writes; digests only."""


def test_no_other_module_sends_mail() -> None:
    found = set()
    for folder in ("engine", "workflowplatform", "tasks_inbox"):
        for path in (PROJECT / folder).rglob("*.py"):
            names = [
                node.module or "" for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)
            ]
            if any(name.startswith("django.core.mail") for name in names):
                found.add(str(path.relative_to(PROJECT)))
    assert found == SENDERS
