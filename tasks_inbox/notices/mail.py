"""Send messages by mail: one page of HTML, the same words as plain text, one conversation per case."""

import re
from contextlib import suppress
from dataclasses import dataclass
from email.mime.image import MIMEImage
from email.utils import formataddr, parseaddr
from functools import cache
from pathlib import Path
from smtplib import SMTPDataError, SMTPException, SMTPRecipientsRefused, SMTPResponseException
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.mail import EmailMultiAlternatives, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _

from engine import access
from engine.audit.chain import database_now
from engine.conf import conf
from engine.models import Instance
from engine.services.notifications.audience import Item, items_for
from engine.services.notifications.preferences import Preferences, forget_bounce, note_bounce, preferences_of
from engine.services.notifications.sending import Message, Sent
from engine.services.tasks.mail_links import allows_link, link_token
from engine.services.tasks.question_links import question_token
from tasks_inbox.notices.digest import Digest, digest_for
from tasks_inbox.notices.facts import facts_for_message
from tasks_inbox.notices.reader import as_reader
from tasks_inbox.notices.words import message_words, page_path, subject_of
from workflowplatform.accounts.actor import Actor, actor_of
from workflowplatform.accounts.models import User
from workflowplatform.http.public_links import public_address
from workflowplatform.mail_texts import Link, as_words, one_line

LINKED = frozenset({"assigned", "offered", "due_soon", "late", "handed_over"})
"""The kinds whose button may answer the task without a sign-in."""
LOGO = "logo@workflow"
PRODUCT = "Workflow"
PERMANENT = 500
"""From this code on a mail server says that trying again is of no use."""
POLICY = re.compile(r"53\d|\d{3}[ -]5\.7\.")
"""Answers about who sends, such as a missing sign-in: nothing is wrong with the address (RFC 3463, 3.8)."""


@dataclass(frozen=True, slots=True)
class MailContent:
    """A mail, ready to be sent."""

    subject: str
    text: str
    html: str
    sender: str = ""
    case_id: UUID | None = None


def send_mail_message(message: Message) -> Sent:
    """Write one message for its reader as they are now, and hand it to the mail server."""
    assert message.person_id is not None
    person = User.objects.filter(pk=message.person_id, is_active=True).select_related("tenant").first()
    if person is None or not person.email:
        return Sent("dropped", "The person is not active or has no address.")
    if not conf.public_url:
        return Sent("failed", "WORKFLOW_PUBLIC_URL is not set: a mail would have no address to click.")
    wishes = preferences_of([person])[person.pk]
    if wishes.bounced_address == person.email:
        return Sent("dropped", "Mail to this address came back before.")
    content = compose(message, person, wishes)
    return _hand_over(content, message, person) if content else Sent("dropped", "It is no news any more.")


def compose(message: Message, person: User, wishes: Preferences) -> MailContent | None:
    """Write a message in its reader's language and zone; None where nothing is left to tell."""
    with as_reader(person):
        actor = actor_of(person)
        if message.style == "single":
            items = items_for(actor, message.rows)
            return _about_one(items[0], person, actor) if items else None
        digest = digest_for(actor, person, message, wishes)
        return _digest(digest, person) if digest else None


def _about_one(item: Item, person: User, actor: Actor) -> MailContent:
    words, shown = message_words(item), facts_for_message(item)
    path = _linked_path(item, person, actor)
    context = {
        "words": words,
        "facts": [(as_words(fact.label), as_words(fact.text)) for fact in shown.facts],
        "left_out": shown.left_out,
        "answers": bool(path),
        "url": Link(public_address(path or page_path(item))),
        "subject": as_words(subject_of(item.instance)) if item.instance else as_words(words.heading),
        "reference": as_words(item.instance.reference or "") if item.instance else "",
        **_frame(person),
    }
    subject = subject_of(item.instance) if item.instance else words.heading
    sender = _("%(who)s via Workflow") % {"who": words.sender} if words.sender else ""
    return _content("notice", subject, context, sender=sender, case=item.instance)


def _linked_path(item: Item, person: User, actor: Actor) -> str:
    """Return the address that answers without a sign-in: the question one was asked, else the task; "" where there is none."""
    if item.kind == "asked":
        token = question_token(person=person, task_id=item.row.task_id) if item.row.task_id else ""
        return reverse("inbox:question_by_link", args=[token]) if token else ""
    token = _token(item, person, actor)
    return reverse("inbox:answer", args=[token]) if token else ""


def _token(item: Item, person: User, actor: Actor) -> str:
    """Return the token of a link that answers the task, where the person may do it now and its author allows that."""
    task = item.task
    if task is None or item.kind not in LINKED or not (allows_link(task) and access.refuse_act(actor, task) is None):
        return ""
    return link_token(person=person, task=task)


def _digest(digest: Digest, person: User) -> MailContent:
    url = Link(public_address(digest.path))
    context = {"digest": digest, "url": url, "subject": as_words(digest.subject), **_frame(person)}
    return _content("digest", digest.subject, context)


def _frame(person: User) -> dict[str, Any]:
    return {
        "product": PRODUCT,
        "tenant": as_words(str(person.tenant)),
        "settings_url": Link(public_address(reverse("inbox:notifications"))),
        "inbox_url": Link(public_address(reverse("inbox:mine"))),
        "logo": LOGO,
        "language": translation.get_language(),
    }


def _content(
    page: str, subject: str, context: dict[str, Any], *, sender: str = "", case: Instance | None = None
) -> MailContent:
    text, html = (render_to_string(f"mails/{page}.{kind}", context) for kind in ("txt", "html"))
    return MailContent(one_line(subject), _tidy(text), html, one_line(sender), case.pk if case else None)


def _tidy(text: str) -> str:
    """Return a text without the empty lines that a template leaves."""
    lines = [line.strip() for line in text.strip().splitlines()]
    kept = [line for at, line in enumerate(lines) if line or (at and lines[at - 1])]
    return "\n".join(kept) + "\n"


def _hand_over(content: MailContent, message: Message, person: User) -> Sent:
    """Hand a mail to the server; an address that it refuses for good is told to the person and to operators."""
    server = get_connection()
    try:
        server.open()
    except (SMTPException, OSError) as error:
        return Sent("failed", f"The mail server could not be reached: {_said_by(error)}")
    try:
        server.send_messages([mail_of(content, message.id, person.email)])
    except SMTPRecipientsRefused as refused:
        return _refused(*next(iter(refused.recipients.values()), (PERMANENT, b"")), person)
    except SMTPDataError as refused:
        return Sent("failed", f"The mail server refused it: {_said_by(refused)}", final=refused.smtp_code >= PERMANENT)
    except (SMTPException, OSError) as error:
        is_sure = isinstance(error, SMTPResponseException)
        return Sent("failed", f"The mail server did not take it: {_said_by(error)}", is_sure=is_sure)
    finally:
        _hang_up(server)
    forget_bounce(person)
    return Sent("sent")


def _hang_up(server: BaseEmailBackend) -> None:
    """Close the connection; what was taken stays taken if the server is gone by then."""
    with suppress(SMTPException, OSError):
        server.close()


def _said_by(error: Exception) -> str:
    """Return what a server answered, or which way the connection broke; never what was sent."""
    if isinstance(error, SMTPResponseException):
        return f"{error.smtp_code} {_line(error.smtp_error)}"[:500]
    return f"{type(error).__name__}."


def _line(words: bytes | str) -> str:
    return one_line(words.decode(errors="replace") if isinstance(words, bytes) else words)


def _refused(code: int, words: bytes | str, person: User) -> Sent:
    """Describe an address that was refused. Only what says that it takes no mail counts as a bounce, not a rule of the server."""
    said = f"{code} {_line(words)}"[:500]
    if code < PERMANENT:
        return Sent("failed", f"The mail server said {said}")
    if POLICY.match(said):
        return Sent("failed", f"The mail server does not take mail for this address from here: {said}")
    note_bounce(person, person.email, said, database_now())
    return Sent("failed", f"It came back: {said}", final=True)


def mail_of(content: MailContent, message_id: UUID, to: str) -> EmailMultiAlternatives:
    """Make the mail: both texts, the logo, and the headers by which mail programs keep a case together."""
    own = parseaddr(settings.DEFAULT_FROM_EMAIL)[1]
    host = own.rpartition("@")[2] or "localhost"
    headers = {"Message-ID": f"<{message_id}@{host}>", "Auto-Submitted": "auto-generated"}
    if content.case_id:
        headers |= dict.fromkeys(("References", "In-Reply-To"), f"<case-{content.case_id}@{host}>")
    mail = _Related(content.subject, content.text, formataddr((content.sender or PRODUCT, own)), [to], headers=headers)
    mail.attach_alternative(content.html, "text/html")
    mail.attach(_logo())
    return mail


class _Related(EmailMultiAlternatives):
    """A mail whose image belongs to its page, rather than being a file that comes with it."""

    mixed_subtype = "related"


def _logo() -> MIMEImage:
    image = MIMEImage(_logo_bytes())
    image.add_header("Content-ID", f"<{LOGO}>")
    image.add_header("Content-Disposition", "inline", filename="workflow.png")
    return image


@cache
def _logo_bytes() -> bytes:
    return (Path(settings.BASE_DIR) / "static/img/mail_logo.png").read_bytes()
