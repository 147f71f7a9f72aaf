"""E-mails about a person's own account: an invitation, a new password, a changed address. Plain text, one link each."""

import logging
from collections.abc import Callable, Sequence
from smtplib import SMTPException
from threading import Thread

from django.conf import settings
from django.contrib.auth.tokens import PasswordResetTokenGenerator, default_token_generator
from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend
from django.urls import reverse
from django.utils import translation
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.utils.translation import gettext as _

from workflowplatform.accounts.models import User
from workflowplatform.mail_texts import Link, send_page

log = logging.getLogger(__name__)

UNSENT = f"{__name__}.UnsentBackend"
at_once = False
"""Whether an e-mail is sent before the page that asks for it is answered; tests want that."""


class UnsentBackend(BaseEmailBackend):
    """Send nothing where there is no mail server. The text of an e-mail, above all its links, is never logged."""

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        """Log that e-mails were not sent, without their text."""
        log.warning("mail not sent: there is no mail server, set EMAIL_HOST", extra={"mails": len(email_messages)})
        return len(email_messages)


def can_send() -> bool:
    """Return whether this server sends e-mails."""
    return settings.EMAIL_BACKEND != UNSENT


class InvitationTokens(PasswordResetTokenGenerator):
    """Tokens that open only the invitation page; like those of a reset they end with use, a sign-in or time."""

    key_salt = "workflowplatform.accounts.invitation"


invitation_tokens = InvitationTokens()


def uid_of(person: User) -> str:
    """Write a person's id as links carry it."""
    return urlsafe_base64_encode(force_bytes(str(person.pk)))


def invitation_link(person: User, *, base_url: str) -> str:
    """Return the link with which an invited person sets a password."""
    path = reverse("accounts:invitation", args=[uid_of(person), invitation_tokens.make_token(person)])
    return base_url.rstrip("/") + path


def reset_link(person: User, *, base_url: str) -> str:
    """Return the link with which a person sets a new password."""
    path = reverse("accounts:password_reset_confirm", args=[uid_of(person), default_token_generator.make_token(person)])
    return base_url.rstrip("/") + path


def send_invitation(person: User, link: str) -> None:
    """Send a person the link that opens their new account."""
    with _language_of(person):
        texts = {**_about(person), "link": Link(link)}
        send_page([person.email], _("Your account at %(tenant)s"), "mails/invitation.txt", texts)


def send_reset(person: User, *, base_url: str) -> None:
    """Send the link with which a person sets a new password."""
    with _language_of(person):
        texts = {"name": person.display_name, "link": Link(reset_link(person, base_url=base_url))}
        send_page([person.email], _("Your new password for Workflow"), "mails/reset.txt", texts)


def send_address_changed(person: User, *, old: str, by: str) -> None:
    """Notify the old address that e-mails go to another one now."""
    with _language_of(person):
        texts = {**_about(person), "by": by.capitalize()}
        send_page([old], _("Your e-mail address at %(tenant)s was changed"), "mails/address_changed.txt", texts)


def _about(person: User) -> dict[str, str]:
    return {"name": person.display_name, "username": person.username, "tenant": str(person.tenant)}


def _language_of(person: User) -> translation.override:
    """Write in the language that the person chose, else in the current one."""
    return translation.override(person.language or translation.get_language())


def soon(send: Callable[[], None], *, person: User) -> None:
    """Send in a thread of its own: the time a request takes must not reveal whether there was an e-mail to send."""
    language = translation.get_language()

    def sent() -> None:
        try:
            with translation.override(language):
                send()
        except (SMTPException, OSError):
            # The server's answer may hold the address, so only the id is logged.
            log.exception("mail about an account not sent", extra={"person": str(person.pk)})

    if at_once:
        sent()
    else:
        Thread(target=sent, name="account mail").start()
