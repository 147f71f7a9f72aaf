"""Mails about a person's own account: an invitation, a new password, a changed address. Plain text, one link each."""

import logging
from collections.abc import Callable, Sequence
from smtplib import SMTPException
from threading import Thread

from django.conf import settings
from django.contrib.auth.tokens import PasswordResetTokenGenerator, default_token_generator
from django.core.mail import EmailMessage, send_mail
from django.core.mail.backends.base import BaseEmailBackend
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import translation
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.utils.translation import gettext as _

from workflowplatform.accounts.models import User

log = logging.getLogger(__name__)

UNSENT = f"{__name__}.UnsentBackend"
at_once = False
"""Whether a mail is sent before the page that asks for it is answered; tests want that."""


class UnsentBackend(BaseEmailBackend):
    """Send nothing where there is no mail server. What a mail says, links above all, never stands in a log."""

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        """Say that mails were not sent, and nothing of them."""
        log.warning("mail not sent: there is no mail server, set EMAIL_HOST", extra={"mails": len(email_messages)})
        return len(email_messages)


def can_send() -> bool:
    """Return whether mails leave this server."""
    return settings.EMAIL_BACKEND != UNSENT


class InvitationTokens(PasswordResetTokenGenerator):
    """Tokens that open only the invitation page; like a reset's they die with use, with a sign-in and with time."""

    key_salt = "workflowplatform.accounts.invitation"


invitation_tokens = InvitationTokens()


def uid_of(person: User) -> str:
    """Write a person's id as links carry it."""
    return urlsafe_base64_encode(force_bytes(str(person.pk)))


def invitation_link(person: User, *, base_url: str) -> str:
    """Make the link by which an invited person chooses a password."""
    path = reverse("accounts:invitation", args=[uid_of(person), invitation_tokens.make_token(person)])
    return base_url.rstrip("/") + path


def reset_link(person: User, *, base_url: str) -> str:
    """Make the link by which a person chooses a new password."""
    path = reverse("accounts:password_reset_confirm", args=[uid_of(person), default_token_generator.make_token(person)])
    return base_url.rstrip("/") + path


def send_invitation(person: User, link: str) -> None:
    """Tell a person that an account waits for them."""
    subject = _("Your account at %(tenant)s") % {"tenant": person.tenant}
    _send(person.email, subject, "mails/invitation.txt", {"person": person, "link": link})


def send_reset(person: User, *, base_url: str) -> None:
    """Send the link by which a person chooses a new password."""
    link = reset_link(person, base_url=base_url)
    _send(person.email, _("A new password for Workflow"), "mails/reset.txt", {"person": person, "link": link})


def send_address_changed(person: User, *, old: str, by: str) -> None:
    """Tell the old address that mails go elsewhere from now on."""
    subject = _("Your mail address at %(tenant)s was changed") % {"tenant": person.tenant}
    _send(old, subject, "mails/address_changed.txt", {"person": person, "by": by.capitalize()})


def soon(send: Callable[[], None], *, person: User) -> None:
    """Send beside the request: how long a mail server takes must tell nobody whether there was a mail to send."""
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


def _send(to: str, subject: str, page: str, context: dict[str, object]) -> None:
    send_mail(subject, render_to_string(page, context), None, [to])
